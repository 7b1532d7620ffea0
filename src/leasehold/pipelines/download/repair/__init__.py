"""Reconcile, heal, verify, retry."""
