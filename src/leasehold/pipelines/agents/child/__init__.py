"""One child process from start to end: what it is sent, what it prints, how it is stopped, what is kept of it."""
