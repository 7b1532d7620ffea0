"""The index of contents, on SQLite and on PostgreSQL."""
