"""A monitor inside the database: triggers that write down what the tables alone do not show afterwards.

When did the lease stand that a write was made under; was something changed that must never change. The engine knows
nothing of it, and nothing of it is read by the engine.
"""

from __future__ import annotations

from typing import Any

TABLE = "lab_seen"

_SQLITE = """
CREATE TABLE lab_seen (
    number INTEGER PRIMARY KEY, what TEXT, task INTEGER, fence INTEGER, key TEXT, was TEXT, now TEXT, at INTEGER,
    expires_at INTEGER);
CREATE TRIGGER lab_lease BEFORE DELETE ON lease BEGIN
    INSERT INTO lab_seen (what, task, fence, expires_at)
    VALUES ('lease ended', OLD.task_id, OLD.fence, OLD.expires_at); END;
CREATE TRIGGER lab_effect AFTER UPDATE ON effect
WHEN NEW.recorded_at IS NOT NULL AND (OLD.recorded_at IS NOT NEW.recorded_at OR OLD.result IS NOT NEW.result) BEGIN
    INSERT INTO lab_seen (what, task, fence, key, was, now, at, expires_at)
    SELECT CASE WHEN EXISTS (SELECT 1 FROM outcome WHERE task_id = NEW.task_id) THEN 'answered' ELSE 'recorded' END,
        NEW.task_id, lease.fence, NEW.key, OLD.result, NEW.result, NEW.recorded_at, lease.expires_at
    FROM (SELECT 1) LEFT JOIN lease ON lease.task_id = NEW.task_id; END;
CREATE TRIGGER lab_spend AFTER INSERT ON spend BEGIN
    INSERT INTO lab_seen (what, task, fence, key, was, at, expires_at)
    SELECT 'debited', NEW.task_id, lease.fence, NEW.key, NEW.fence, NEW.at, lease.expires_at
    FROM (SELECT 1) LEFT JOIN lease ON lease.task_id = NEW.task_id; END;
CREATE TRIGGER lab_outcome_changed BEFORE UPDATE ON outcome BEGIN
    INSERT INTO lab_seen (what, task, was, now) VALUES ('outcome changed', OLD.task_id, OLD.status, NEW.status); END;
CREATE TRIGGER lab_outcome_gone BEFORE DELETE ON outcome BEGIN
    INSERT INTO lab_seen (what, task, was) VALUES ('outcome gone', OLD.task_id, OLD.status); END;
CREATE TRIGGER lab_task BEFORE UPDATE ON task BEGIN
    INSERT INTO lab_seen (what, task, was, now) VALUES ('facts changed', OLD.id, OLD.payload, NEW.payload); END;
CREATE TRIGGER lab_event BEFORE UPDATE ON event BEGIN
    INSERT INTO lab_seen (what, task, was, now) VALUES ('event changed', OLD.task_id, OLD.name, NEW.name); END;
CREATE TRIGGER lab_delivery AFTER UPDATE ON delivery WHEN NEW.status = 'sent' AND OLD.status <> 'sent' BEGIN
    INSERT INTO lab_seen (what, task, fence, now) VALUES ('marked', NEW.id, OLD.fence, NEW.notification_id); END;
CREATE TRIGGER lab_begun AFTER UPDATE ON delivery WHEN NEW.status = 'sending' AND OLD.status = 'pending' BEGIN
    INSERT INTO lab_seen (what, task, fence) VALUES ('begun', NEW.id, NEW.fence); END
"""

_POSTGRES = """
CREATE TABLE leasehold.lab_seen (
    number bigint GENERATED ALWAYS AS IDENTITY, what text, task bigint, fence integer, key text, was text, now text,
    at bigint, expires_at bigint);
CREATE FUNCTION leasehold.lab_watch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    CASE TG_ARGV[0]
    WHEN 'lease ended' THEN
        INSERT INTO leasehold.lab_seen (what, task, fence, expires_at)
        VALUES (TG_ARGV[0], OLD.task_id, OLD.fence, OLD.expires_at);
        RETURN OLD;
    WHEN 'recorded' THEN
        IF NEW.recorded_at IS NOT NULL AND (OLD.recorded_at IS DISTINCT FROM NEW.recorded_at
            OR OLD.result IS DISTINCT FROM NEW.result) THEN
            INSERT INTO leasehold.lab_seen (what, task, fence, key, was, now, at, expires_at)
            SELECT CASE WHEN EXISTS (SELECT 1 FROM leasehold.outcome WHERE task_id = NEW.task_id)
                    THEN 'answered' ELSE TG_ARGV[0] END,
                NEW.task_id, lease.fence, NEW.key, OLD.result, NEW.result, NEW.recorded_at, lease.expires_at
            FROM (SELECT 1) AS one LEFT JOIN leasehold.lease ON lease.task_id = NEW.task_id;
        END IF;
        RETURN NEW;
    WHEN 'debited' THEN
        INSERT INTO leasehold.lab_seen (what, task, fence, key, was, at, expires_at)
        SELECT TG_ARGV[0], NEW.task_id, lease.fence, NEW.key, NEW.fence, NEW.at, lease.expires_at
        FROM (SELECT 1) AS one LEFT JOIN leasehold.lease ON lease.task_id = NEW.task_id;
        RETURN NEW;
    WHEN 'outcome changed' THEN
        INSERT INTO leasehold.lab_seen (what, task, was, now) VALUES (TG_ARGV[0], OLD.task_id, OLD.status, NEW.status);
        RETURN NEW;
    WHEN 'outcome gone' THEN
        INSERT INTO leasehold.lab_seen (what, task, was) VALUES (TG_ARGV[0], OLD.task_id, OLD.status);
        RETURN OLD;
    WHEN 'facts changed' THEN
        INSERT INTO leasehold.lab_seen (what, task, was, now) VALUES (TG_ARGV[0], OLD.id, OLD.payload, NEW.payload);
        RETURN NEW;
    WHEN 'event changed' THEN
        INSERT INTO leasehold.lab_seen (what, task, was, now) VALUES (TG_ARGV[0], OLD.task_id, OLD.name, NEW.name);
        RETURN NEW;
    WHEN 'marked' THEN
        IF NEW.status = 'sent' AND OLD.status <> 'sent' THEN
            INSERT INTO leasehold.lab_seen (what, task, fence, now)
            VALUES (TG_ARGV[0], NEW.id, OLD.fence, NEW.notification_id);
        ELSIF NEW.status = 'sending' AND OLD.status = 'pending' THEN
            INSERT INTO leasehold.lab_seen (what, task, fence) VALUES ('begun', NEW.id, NEW.fence);
        END IF;
        RETURN NEW;
    END CASE;
END $$;
CREATE TRIGGER lab_lease BEFORE DELETE ON leasehold.lease
    FOR EACH ROW EXECUTE FUNCTION leasehold.lab_watch('lease ended');
CREATE TRIGGER lab_effect AFTER UPDATE ON leasehold.effect
    FOR EACH ROW EXECUTE FUNCTION leasehold.lab_watch('recorded');
CREATE TRIGGER lab_spend AFTER INSERT ON leasehold.spend
    FOR EACH ROW EXECUTE FUNCTION leasehold.lab_watch('debited');
CREATE TRIGGER lab_outcome_changed BEFORE UPDATE ON leasehold.outcome
    FOR EACH ROW EXECUTE FUNCTION leasehold.lab_watch('outcome changed');
CREATE TRIGGER lab_outcome_gone BEFORE DELETE ON leasehold.outcome
    FOR EACH ROW EXECUTE FUNCTION leasehold.lab_watch('outcome gone');
CREATE TRIGGER lab_task BEFORE UPDATE ON leasehold.task
    FOR EACH ROW EXECUTE FUNCTION leasehold.lab_watch('facts changed');
CREATE TRIGGER lab_event BEFORE UPDATE ON leasehold.event
    FOR EACH ROW EXECUTE FUNCTION leasehold.lab_watch('event changed');
CREATE TRIGGER lab_delivery AFTER UPDATE ON leasehold.delivery
    FOR EACH ROW EXECUTE FUNCTION leasehold.lab_watch('marked')
"""


def install_audit_triggers(connection: Any, dialect: str) -> None:
    """Have a database with the engine's schema watched from now on."""
    connection.execute(_SQLITE if dialect == "sqlite" else _POSTGRES)
