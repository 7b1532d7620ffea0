-- 0007_cleared: Find the tasks that were lost with one worker, to clear them when another of them is convicted.
CREATE INDEX event_reclaimed ON leasehold.event (worker) WHERE name = 'reclaimed';
