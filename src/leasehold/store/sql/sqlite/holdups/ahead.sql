-- ahead: Count the ready tasks that come before one in its queue, as far as :most.
SELECT count(*) AS tasks FROM (
    SELECT 1 FROM main.ready
    WHERE queue = :queue AND (priority > :priority OR (priority = :priority AND position < :position))
        AND (position > 0) = (:position > 0)
    LIMIT :most
) AS before
