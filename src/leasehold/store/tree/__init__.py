"""What is stored of jobs that belong together: their budgets, and the links between them."""
