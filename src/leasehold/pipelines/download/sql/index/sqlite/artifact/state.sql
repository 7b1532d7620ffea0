-- state: Read the state of an artifact whose file is present.
SELECT state FROM artifact WHERE key = :key AND reason IS NULL AND (:sha256 IS NULL OR sha256 = :sha256)
