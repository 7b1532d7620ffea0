-- taken: Tell whether the step before has put anything aside (SQLite only).
SELECT 1 FROM temp.leasehold_taken LIMIT 1
