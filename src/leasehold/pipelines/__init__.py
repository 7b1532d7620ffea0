"""Pipelines built on Leasehold's public names, each useful by itself."""
