"""Read models for every screen (Python, CLI, dashboard); SQL stays in the store, and nothing is written."""
