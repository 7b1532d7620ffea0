"""Verification of a job's journal and tables: one module per check."""
