"""The commands of agents: one module a verb, imported when it is called."""
