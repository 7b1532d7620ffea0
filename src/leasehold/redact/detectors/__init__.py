"""One module a kind of place where a secret stands."""
