-- has: Tell in which state an artifact is here.
SELECT state FROM artifact WHERE key = :key AND reason IS NULL AND (:sha256 IS NULL OR sha256 = :sha256)
