-- 0005_peers: The tasks that stood in one task's place: a segment of a job that started anew is made anew. And how a statement asks to be repeated.
CREATE FUNCTION leasehold.peers(task bigint) RETURNS bigint[] LANGUAGE sql STABLE PARALLEL SAFE
AS $$ SELECT ARRAY(
    SELECT peer.id FROM leasehold.task AS own JOIN leasehold.task AS peer
      ON peer.parent_id = own.parent_id AND peer.stage = own.stage AND coalesce(peer.segment, -1) = own.segment AND peer.id <> own.id
    WHERE own.id = $1) || $1 $$;

CREATE FUNCTION leasehold.buried_as(task bigint) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
AS $$ SELECT error_class FROM leasehold.dead_letter WHERE task_id = ANY(leasehold.peers($1)) ORDER BY id DESC LIMIT 1 $$;

CREATE FUNCTION leasehold.once_more(needed boolean) RETURNS boolean LANGUAGE plpgsql
AS $$ BEGIN
    IF needed THEN
        RAISE EXCEPTION 'another message for this recipient was committed meanwhile' USING ERRCODE = 'serialization_failure';
    END IF;
    RETURN false;
END $$;
