-- make_slots: Add the slots a limit allows, the queue's own or that of its branches.
WITH RECURSIVE top (number) AS (
    SELECT coalesce(:capacity, (
        SELECT capacity FROM main.queue WHERE name IN (:queue, :family) AND capacity IS NOT NULL
        ORDER BY name = :queue DESC LIMIT 1))
),
count (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM count WHERE number < (SELECT number FROM top))
INSERT INTO main.slot (queue, number)
SELECT :queue, number FROM count WHERE number <= (SELECT number FROM top)
ON CONFLICT (queue, number) DO NOTHING
