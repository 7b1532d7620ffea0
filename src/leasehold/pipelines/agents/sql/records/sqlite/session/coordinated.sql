-- coordinated: Return the sessions that have a coordinator, by name.
SELECT parent_session_id, coordinator FROM urm_session WHERE coordinator IS NOT NULL ORDER BY parent_session_id
