"""Who judges a translation: each returns scores between 0 and 1, and findings with their place in the candidate."""
