"""A document translated paragraph by paragraph: each reviewed, reworked where it is weak, approved or rejected."""
