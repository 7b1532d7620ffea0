"""The journal as values: events, their hash chain, the fold over them, the exported record."""
