"""Read models for screens: jobs, time lines, effects, dead letters, deliveries."""
