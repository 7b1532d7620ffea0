-- has_content: Tell whether another artifact has brought this content.
SELECT 1 FROM download.artifact WHERE sha256 = %(sha256)s AND key <> %(but)s AND reason IS NULL AND state = 'INDEXED' LIMIT 1
