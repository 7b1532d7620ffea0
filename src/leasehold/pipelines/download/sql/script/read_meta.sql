-- read_meta: Read a fact of this file.
SELECT value FROM _meta WHERE key = :key
