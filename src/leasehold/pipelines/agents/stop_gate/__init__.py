"""The stop gate: locked fixtures are executed again in fresh processes, and have to leave the bytes that they left."""
