"""Translate a document paragraph by paragraph: each translated, reviewed, reworked where weak, approved or rejected."""
