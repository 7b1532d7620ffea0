-- summary: Count files, contents and missing files.
SELECT (SELECT count(*) FROM artifact WHERE reason IS NULL),
    (SELECT CAST(coalesce(sum(size), 0) AS bigint) FROM artifact WHERE reason IS NULL), count(*),
    CAST(coalesce(sum(size), 0) AS bigint), (SELECT count(*) FROM artifact WHERE reason IS NOT NULL),
    (SELECT CAST(coalesce(sum(version), 0) AS bigint) FROM rerun), min(first_at), max(last_at)
FROM (
    SELECT max(size) AS size, min(fetched_at) AS first_at, max(fetched_at) AS last_at
    FROM artifact WHERE reason IS NULL GROUP BY sha256) AS content
