-- 0008_trees: Budgets, what was spent of them, and jobs that a task has submitted.
CREATE TABLE leasehold.budget (
    job_id bigint NOT NULL,
    name text NOT NULL,
    most bigint NOT NULL,
    spent bigint NOT NULL DEFAULT 0 CHECK (spent BETWEEN 0 AND most),
    PRIMARY KEY (job_id, name)
) WITH (fillfactor = 50);

CREATE TABLE leasehold.spend (
    job_id bigint NOT NULL,
    key text NOT NULL,
    task_id bigint NOT NULL,
    fence integer NOT NULL,
    name text NOT NULL,
    amount bigint NOT NULL CHECK (amount >= 0),
    remaining bigint NOT NULL CHECK (remaining >= 0),
    at bigint NOT NULL,
    PRIMARY KEY (job_id, key)
);

CREATE TABLE leasehold.link (
    job_id bigint PRIMARY KEY,
    root_id bigint NOT NULL,
    parent_job_id bigint NOT NULL,
    parent_id bigint NOT NULL,
    key text NOT NULL,
    name text NOT NULL,
    depth integer NOT NULL,
    UNIQUE (parent_job_id, key)
);
CREATE INDEX link_root ON leasehold.link (root_id);
