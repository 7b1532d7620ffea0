-- ahead: Count the ready tasks that come before one in its queue, as far as %(most)s::integer.
SELECT count(*) AS tasks FROM (
    SELECT 1 FROM leasehold.ready
    WHERE queue = %(queue)s AND (priority > %(priority)s::integer
        OR (priority = %(priority)s::integer AND position < %(position)s::bigint))
        AND (position > 0) = (%(position)s::bigint > 0)
    LIMIT %(most)s::integer
) AS before
