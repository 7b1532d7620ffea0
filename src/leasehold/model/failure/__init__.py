"""What lies behind `classify`: the table of failures, how errors of others are read, and what is told of them."""
