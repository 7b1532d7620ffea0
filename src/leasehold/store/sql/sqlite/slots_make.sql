-- slots_make: Add the slots a limit allows.
WITH RECURSIVE count (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM count WHERE number < :capacity)
INSERT INTO main.slot (queue, number)
SELECT :queue, number FROM count WHERE number <= :capacity
ON CONFLICT (queue, number) DO NOTHING
