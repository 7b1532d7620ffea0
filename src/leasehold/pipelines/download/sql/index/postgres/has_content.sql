-- has_content: Tell whether another artifact has this content.
SELECT 1 FROM download.artifact WHERE sha256 = %(sha256)s AND key <> %(but)s AND reason IS NULL LIMIT 1
