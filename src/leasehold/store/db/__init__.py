"""Databases: dialects, connections, migrations, statements, wake-ups. The nouns of the store stand on these."""
