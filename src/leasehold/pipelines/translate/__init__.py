"""A document translated paragraph by paragraph: translated, reviewed, reworked where weak, approved or rejected."""
