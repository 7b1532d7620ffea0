-- count_states: How many jobs of a kind stand in each state of its machine.
SELECT state, count(*) AS jobs FROM leasehold.job_state WHERE kind = %(kind)s GROUP BY state ORDER BY state
