"""Does the record hold? One module a question."""
