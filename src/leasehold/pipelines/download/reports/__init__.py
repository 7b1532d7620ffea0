"""What a person reads: the report, its HTML page, texts, live progress."""
