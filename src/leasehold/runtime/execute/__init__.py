"""Where handlers run: on an event loop, on threads, in isolated processes."""
