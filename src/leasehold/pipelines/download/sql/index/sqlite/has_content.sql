-- has_content: Tell whether another artifact has brought this content.
SELECT 1 FROM artifact WHERE sha256 = :sha256 AND key <> :but AND reason IS NULL AND state = 'INDEXED' LIMIT 1
