"""Processes, threads and shutdown of a download."""
