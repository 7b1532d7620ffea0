"""The checks: one reviewer a module."""
