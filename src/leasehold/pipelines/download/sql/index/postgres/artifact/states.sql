-- states: Read the states of artifacts by key.
SELECT key, state FROM download.artifact WHERE key IN (SELECT json_array_elements_text(%(keys)s::json))
