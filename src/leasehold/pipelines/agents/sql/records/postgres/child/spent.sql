-- spent: Return what each child of a session has spent, by lane.
SELECT child.child_id, spend.name, CAST(sum(spend.amount) AS bigint) AS amount
FROM leasehold_agents.urm_child AS child JOIN leasehold.spend ON spend.job_id = child.job_id
WHERE child.parent_session_id = %(parent_session_id)s
GROUP BY child.child_id, spend.name
