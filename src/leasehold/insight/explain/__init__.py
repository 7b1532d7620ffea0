"""Why a job does not run, and what to do about it."""
