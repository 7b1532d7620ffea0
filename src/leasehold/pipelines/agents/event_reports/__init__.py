"""Reports on streams of events, from files or the database: are they sound, what do they add up to, what happened."""
