"""Reviews of changes: fetching, prompts and the contract of what a model answers. A library so far."""
