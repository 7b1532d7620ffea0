"""Jobs that belong together: budgets that they share, and the links between them."""
