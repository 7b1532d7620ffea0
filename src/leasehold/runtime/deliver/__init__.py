"""The relay and the sender: messages of the outbox on their way to providers."""
