-- count_active: Count a session's children that are leased or started.
SELECT count(*) AS active FROM leasehold_agents.urm_dispatch_token
WHERE parent_session_id = %(parent_session_id)s AND phase IN ('leased', 'started')
