-- has_content: Find out whether another artifact has this content.
SELECT 1 FROM download.artifact WHERE sha256 = %(sha256)s AND key <> %(other_than)s AND reason IS NULL AND state = 'INDEXED' LIMIT 1
