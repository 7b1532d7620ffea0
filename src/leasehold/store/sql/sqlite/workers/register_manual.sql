-- register_manual: Return the number of somebody who leases by hand; there is no process of theirs that could be asked for, so none that is there.
-- Differs from PostgreSQL: the second step finds what the first has added, since no CTE may write here.
INSERT INTO main.worker (host, boot, namespace, pid, birth, started_at, ended_at)
SELECT :owner, '', '', 0, 0, leasehold_now(), leasehold_now()
WHERE NOT EXISTS (SELECT 1 FROM main.worker WHERE host = :owner AND boot = '' AND namespace = '' AND pid = 0);

SELECT min(id) AS id FROM main.worker WHERE host = :owner AND boot = '' AND namespace = '' AND pid = 0;
