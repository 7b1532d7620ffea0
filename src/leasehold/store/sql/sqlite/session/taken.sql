-- taken: Return whether the step before has taken any row.
SELECT 1 FROM temp.leasehold_taken LIMIT 1
