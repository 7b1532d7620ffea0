"""The tables of the agents pipeline, in the engine's own database: migrations, connections, transactions."""
