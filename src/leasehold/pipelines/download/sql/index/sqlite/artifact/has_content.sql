-- has_content: Find out whether another artifact has this content.
SELECT 1 FROM artifact WHERE sha256 = :sha256 AND key <> :other_than AND reason IS NULL AND state = 'INDEXED' LIMIT 1
