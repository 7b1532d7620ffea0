"""Handlers in a child process: the parent, the child, and the guard that ends the tree."""
