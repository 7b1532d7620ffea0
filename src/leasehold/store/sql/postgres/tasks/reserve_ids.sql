-- reserve_ids: Take :count numbers for jobs that are about to be poured in, in order, and tell the time.
WITH clock AS MATERIALIZED (SELECT leasehold.leasehold_now() AS now)
SELECT nextval('leasehold.task_id_seq'), clock.now FROM clock, generate_series(1, %(count)s::integer)
