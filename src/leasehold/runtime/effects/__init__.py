"""Effects and state changes of one attempt, as the ledger records them."""
