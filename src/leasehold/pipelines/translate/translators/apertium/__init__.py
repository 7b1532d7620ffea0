"""Apertium: translation by rules, from Debian packages, offline. Real output with real mistakes, in milliseconds."""
