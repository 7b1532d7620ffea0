"""Child processes under one parent: a plan names them, budgets bound them, evidence keeps what they printed."""
