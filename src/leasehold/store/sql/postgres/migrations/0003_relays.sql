-- 0003_relays: Which worker process has claimed a delivery.
ALTER TABLE leasehold.delivery ADD COLUMN worker integer;
CREATE INDEX delivery_worker ON leasehold.delivery (worker) WHERE worker IS NOT NULL;
