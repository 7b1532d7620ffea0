"""Failures: their classes, how exceptions are classified, and what is stored of them."""
