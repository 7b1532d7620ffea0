-- has_content: Tell whether another artifact has this content.
SELECT 1 FROM artifact WHERE sha256 = :sha256 AND key <> :but AND reason IS NULL LIMIT 1
