"""The model: values and pure decisions. No I/O, no clock, no randomness; those are arguments."""
