-- 0002_children: What each child is to do, and the totals that its session has spent, over the engine's budgets.
CREATE TABLE urm_child (
    child_id TEXT PRIMARY KEY REFERENCES urm_dispatch_token,
    parent_session_id TEXT NOT NULL REFERENCES urm_session,
    queue_seq INTEGER NOT NULL,
    name TEXT NOT NULL,
    spec TEXT NOT NULL,
    again_of TEXT,
    job_id INTEGER,
    UNIQUE (parent_session_id, queue_seq)) STRICT;

CREATE TRIGGER urm_child_keeps BEFORE UPDATE ON urm_child
WHEN NEW.child_id <> OLD.child_id OR NEW.parent_session_id <> OLD.parent_session_id OR NEW.queue_seq <> OLD.queue_seq
    OR NEW.name <> OLD.name OR NEW.spec <> OLD.spec OR NEW.again_of IS NOT OLD.again_of
    OR (OLD.job_id IS NOT NULL AND NEW.job_id IS NOT OLD.job_id)
BEGIN SELECT RAISE(ABORT, 'URM_DISPATCH_TOKEN_IMMUTABLE'); END;

CREATE TRIGGER urm_child_stays BEFORE DELETE ON urm_child
BEGIN SELECT RAISE(ABORT, 'URM_DISPATCH_TOKEN_IMMUTABLE'); END;

CREATE VIEW urm_parent_budget_total AS
SELECT task.key AS parent_session_id, budget.name AS budget_lane, budget.most AS limit_total, budget.spent AS spent_total
FROM budget JOIN task ON task.id = budget.job_id
WHERE task.kind = 'agents.session';
