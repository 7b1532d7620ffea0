"""Read models: every screen (Python, CLI, dashboard) asks the same questions here, and SQL stays in the store."""
