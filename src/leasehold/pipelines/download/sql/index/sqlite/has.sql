-- has: Tell whether an artifact is here.
SELECT 1 FROM artifact WHERE key = :key AND reason IS NULL AND (:sha256 IS NULL OR sha256 = :sha256)
