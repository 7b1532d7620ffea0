-- 0003_relays: Which worker process has claimed a delivery.
ALTER TABLE delivery ADD COLUMN worker INTEGER;
CREATE INDEX delivery_worker ON delivery (worker) WHERE worker IS NOT NULL;
