-- count_states: How many jobs of a kind stand in each state of its machine.
SELECT state, count(*) AS jobs FROM main.job_state WHERE kind = :kind GROUP BY state ORDER BY state
