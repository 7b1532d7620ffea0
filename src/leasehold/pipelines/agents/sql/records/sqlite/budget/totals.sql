-- totals: Return what a session may spend and has spent, by lane.
SELECT budget_lane, limit_total, spent_total FROM urm_parent_budget_total
WHERE parent_session_id = :parent_session_id ORDER BY budget_lane
