"""What the runtime reports: events, and the log lines made of them."""
