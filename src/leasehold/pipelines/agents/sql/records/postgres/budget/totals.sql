-- totals: Return what a session may spend and has spent, by lane.
SELECT budget_lane, limit_total, spent_total FROM leasehold_agents.urm_parent_budget_total
WHERE parent_session_id = %(parent_session_id)s ORDER BY budget_lane
