-- standing: Tell in which states artifacts are here.
SELECT key, state FROM download.artifact WHERE key IN (SELECT json_array_elements_text(%(keys)s::json))
