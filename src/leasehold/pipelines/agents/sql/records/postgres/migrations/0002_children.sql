-- 0002_children: What each child is to do, and the totals that its session has spent, over the engine's budgets.
CREATE TABLE leasehold_agents.urm_child (
    child_id text PRIMARY KEY REFERENCES leasehold_agents.urm_dispatch_token,
    parent_session_id text NOT NULL REFERENCES leasehold_agents.urm_session,
    queue_seq bigint NOT NULL,
    name text NOT NULL,
    spec text NOT NULL,
    again_of text,
    job_id bigint,
    UNIQUE (parent_session_id, queue_seq));

CREATE TRIGGER urm_child_keeps BEFORE UPDATE ON leasehold_agents.urm_child FOR EACH ROW
WHEN (NEW.child_id <> OLD.child_id OR NEW.parent_session_id <> OLD.parent_session_id OR NEW.queue_seq <> OLD.queue_seq
    OR NEW.name <> OLD.name OR NEW.spec <> OLD.spec OR NEW.again_of IS DISTINCT FROM OLD.again_of
    OR (OLD.job_id IS NOT NULL AND NEW.job_id IS DISTINCT FROM OLD.job_id))
EXECUTE FUNCTION leasehold_agents.urm_reject('URM_DISPATCH_TOKEN_IMMUTABLE');

CREATE TRIGGER urm_child_stays BEFORE DELETE ON leasehold_agents.urm_child FOR EACH ROW
EXECUTE FUNCTION leasehold_agents.urm_reject('URM_DISPATCH_TOKEN_IMMUTABLE');

CREATE VIEW leasehold_agents.urm_parent_budget_total AS
SELECT task.key AS parent_session_id, budget.name AS budget_lane, budget.most AS limit_total, budget.spent AS spent_total
FROM leasehold.budget JOIN leasehold.task ON task.id = budget.job_id
WHERE task.kind = 'agents.session';
