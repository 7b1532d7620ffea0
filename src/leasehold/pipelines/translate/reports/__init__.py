"""What a person reads: the HTML report, texts, live progress."""
