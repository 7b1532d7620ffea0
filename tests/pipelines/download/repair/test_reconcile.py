"""Reconciliation: folder, index and jobs agree again, and nothing that is at work is touched."""

import contextlib
import json
import subprocess
import sys
import threading
from dataclasses import replace

import apsw
import psycopg

from leasehold.pipelines.download import read_manifest, reconcile
from leasehold.pipelines.download.files.part import LockedPart
from leasehold.pipelines.download.index.backends import PostgresIndex, SqliteIndex
from leasehold.pipelines.download.index.index import Index, missing_rows
from leasehold.pipelines.download.repair.reconcile import Reconciled
from leasehold.pipelines.download.run_loop import read_status
from tests.pipelines.download.collection_folder import add_row, make_old, sha
from tests.pipelines.download.crash.test_kills import worker
from tests.pipelines.download.test_index import ROW
from tests.support.wait import until

CONTENT = b"all of it " * 20_000
NOW = {"object_age": 0.0}


def lay_part(collection, key, content=b"some", *, old=True):
    """Leave a part with its notes, as a worker does that was killed."""
    part = collection.tools.content_store.part(key)
    paths = [part, part.with_suffix(".json"), part.with_suffix(".new")]
    for path in paths:
        path.write_bytes(content)
        if old:
            make_old(path)
    return paths


def forget_rows(collection):
    """Lose the index, as somebody does who deletes it."""
    if collection.settings.url:
        with psycopg.connect(collection.settings.url, autocommit=True) as connection:
            connection.execute("DELETE FROM download.artifact")
    else:
        with contextlib.closing(apsw.Connection(str(collection.settings.root / ".leasehold" / "index.db"))) as index:
            index.execute("DELETE FROM artifact")


def test_a_collection_in_order_is_left_as_it_is(folder, server):
    folder.fetch(server.add("/a", CONTENT), server.add("/b", CONTENT))
    with folder.opened() as collection:
        assert reconcile(collection, part_age=0, op_age=0, **NOW) == Reconciled()
        assert reconcile(collection).is_quiet


def test_old_parts_of_jobs_that_ended_and_of_none_are_removed_with_their_notes(folder, server):
    url = server.add("/a", CONTENT)
    folder.fetch(url)
    with folder.opened() as collection:
        ended = lay_part(collection, read_manifest([url])[0].key)
        nobody = lay_part(collection, "f" * 64)
        young = lay_part(collection, "e" * 64, old=False)
        foreign = folder.staging / "notes.txt"
        foreign.write_text("mine")
        make_old(foreign)
        done = reconcile(collection)
    assert sorted(done.removed) == sorted(path.name for path in (*ended, *nobody))
    assert sorted(folder.staging.iterdir()) == sorted([*young, foreign])


def test_a_part_of_a_job_that_has_not_ended_is_kept_until_somebody_comes_back(folder, server):
    url = server.add("/a", CONTENT)
    with folder.opened() as collection:
        (job,) = collection.plan(read_manifest([url]))
        paths = lay_part(collection, job.key)
        assert reconcile(collection, part_age=0).is_quiet
        assert sorted(folder.staging.iterdir()) == sorted(paths)
        job.cancel()
        assert len(reconcile(collection).removed) == len(paths)


def test_a_part_that_somebody_has_locked_meanwhile_is_not_removed(folder, server):
    """Its job had ended when the journal was read; then it was revived, and a worker builds on the part."""
    with folder.opened() as collection:
        paths = lay_part(collection, "f" * 64)
        with contextlib.closing(LockedPart(paths[0])):
            assert reconcile(collection).is_quiet
            assert all(path.exists() for path in paths)
        assert len(reconcile(collection).removed) == len(paths)


def test_a_part_under_a_live_lease_is_not_touched_however_old_it_looks(folder, server):
    url = server.add("/a", CONTENT, stall_after=[20_000])
    with folder.opened() as collection, folder.opened() as other:
        (job,) = collection.plan(read_manifest([url]))
        running = threading.Thread(target=collection.app.drain, kwargs={"timeout": 120})
        running.start()
        until(lambda: server.stalled)
        part = until(lambda: [path for path in folder.staging.glob("*.part") if path.stat().st_size])[0]
        make_old(part)
        make_old(part.with_suffix(".json"))
        assert reconcile(other, part_age=0, op_age=0, **NOW) == Reconciled()
        assert part.exists()
        server.released.set()
        running.join()
        assert (job.state, len(server.gets("/a"))) == ("INDEXED", 1)


def test_files_without_rows_are_adopted_from_what_their_jobs_have_returned(folder, server):
    folder.fetch(server.add("/x/a.pdf", CONTENT), server.add("/x/b.pdf", CONTENT))
    before = folder.rows()
    with folder.opened() as collection:
        forget_rows(collection)
        assert reconcile(collection).adopted == (), "a file is not judged in its first minute"
        done = reconcile(collection, **NOW)
        assert done == Reconciled(adopted=(str(folder.object(CONTENT).relative_to(folder.root)),))
        assert reconcile(collection, **NOW).is_quiet
    found = folder.rows()
    loose = {"state": "INDEXED", "fetched_at": 0.0}
    assert [replace(row, **loose) for row in found] == [replace(row, **loose) for row in before]
    assert before[0].media_type == "application/octet-stream"


def test_a_file_that_a_planned_artifact_wants_by_its_hash_is_adopted_and_not_fetched(folder, server):
    line = {"work_id": "w", "artifact_id": "a", "url": server.add("/a.txt", CONTENT), "sha256": sha(CONTENT)}
    with folder.opened() as collection:
        collection.plan(read_manifest([json.dumps(line)]))
        folder.put(CONTENT)
        assert len(reconcile(collection, **NOW).adopted) == 1
    assert folder.fetch(json.dumps(line)) == ["SKIPPED_DUPLICATE"]
    assert server.gets("/a.txt") == []
    (row,) = folder.rows()
    assert (folder.root / row.path).read_bytes() == CONTENT


def test_unknown_files_and_changed_files_are_reported_and_never_deleted(folder, server):
    folder.fetch(server.add("/a", CONTENT))
    strange, changed = folder.put(b"strange"), folder.put(b"other", name="a" * 64)
    misplaced = folder.root / "sha256" / "README"
    misplaced.write_bytes(b"mine")
    with folder.opened() as collection:
        assert reconcile(collection).is_quiet
        done = reconcile(collection, **NOW)
    assert done.unknown == (str(strange.relative_to(folder.root)),)
    assert sorted(done.changed) == sorted(str(path.relative_to(folder.root)) for path in (changed, misplaced))
    assert strange.exists()
    assert changed.exists()


def test_a_missing_file_is_healed_from_a_copy_in_place_of_its_name(folder, server):
    folder.fetch(server.add("/a", CONTENT))
    (row,) = folder.rows()
    folder.object(CONTENT).unlink()
    (folder.root / row.path).unlink()
    (folder.root / row.path).write_bytes(CONTENT)
    with folder.opened() as collection:
        assert reconcile(collection, **NOW) == Reconciled(healed=(row.path,))
    assert (folder.root / row.path).is_symlink()
    assert (folder.root / row.path).read_bytes() == CONTENT
    assert list(folder.staging.iterdir()) == []


def test_a_missing_file_is_healed_from_a_whole_part_with_its_hash_and_from_no_other(folder, server):
    folder.fetch(server.add("/a", CONTENT), server.add("/b", b"another"))
    folder.object(CONTENT).unlink()
    folder.object(b"another").unlink()
    with folder.opened() as collection:
        lay_part(collection, "f" * 64, CONTENT, old=False)
        lay_part(collection, "e" * 64, b"amother", old=False)
        done = reconcile(collection, **NOW)
    assert (len(done.healed), len(done.final_missing)) == (1, 1)
    assert folder.object(CONTENT).read_bytes() == CONTENT
    assert not folder.object(b"another").exists()


def test_names_that_are_missing_or_lead_nowhere_are_made_again_and_others_left(folder, server):
    folder.fetch(*[server.add(f"/{name}", CONTENT + name.encode()) for name in ("gone", "nowhere", "elsewhere")])
    paths = {row.name: folder.root / row.path for row in folder.rows()}
    for path in paths.values():
        path.unlink()
    paths["nowhere"].symlink_to("nothing")
    paths["elsewhere"].write_text("a person's own")
    with folder.opened() as collection:
        done = reconcile(collection, **NOW)
    assert {path.rpartition("/")[2] for path in done.linked} == {"gone", "nowhere"}
    assert paths["gone"].read_bytes() == CONTENT + b"gone"
    assert paths["nowhere"].read_bytes() == CONTENT + b"nowhere"
    assert paths["elsewhere"].read_text() == "a person's own"


def test_a_missing_file_without_a_copy_fails_as_final_missing_until_it_is_put_back(folder, server):
    folder.fetch(server.add("/a", CONTENT), server.add("/b", b"b"))
    path = folder.object(CONTENT)
    aside = path.rename(folder.root / "aside")
    with folder.opened() as collection:
        (lost,) = reconcile(collection, **NOW).final_missing
        assert reconcile(collection, **NOW).is_quiet
        assert read_status(collection).counts == {"INDEXED": 1, "final_missing": 1}
        assert [row.path for row in missing_rows(collection.tools.index)] == [lost]
        assert missing_rows(collection.tools.index)[0].state == "FAILED"
        assert not collection.tools.index.state_of(missing_rows(collection.tools.index)[0].key)
        aside.rename(path)
        assert reconcile(collection, **NOW) == Reconciled(healed=(lost,))
        assert read_status(collection).counts == {"INDEXED": 2}


def test_operations_of_a_killed_worker_are_reported_once_nobody_holds_their_job(folder, server, tmp_path):
    url = server.add("/a", CONTENT, stall_after=[20_000])
    with folder.opened() as collection:
        (job,) = collection.plan(read_manifest([url]))
        with (tmp_path / "log").open("wb") as log:
            process = worker(collection.settings, log)
            until(lambda: server.stalled)
            assert reconcile(collection, op_age=0).abandoned == (), "it is under a live lease"
            process.kill()
            process.wait()
            words = [sys.executable, "-m", "leasehold", "orchestrate", "--url", collection.settings.database]
            upkeep = subprocess.Popen(words, stdout=log, stderr=log)
            until(lambda: job.status != "RUNNING", timeout=120)
            upkeep.terminate()
            upkeep.wait()
        assert reconcile(collection).abandoned == (), "it was begun a moment ago"
        assert reconcile(collection, op_age=0).abandoned == (f"STREAM {job.key}",)
        collection.app.drain(timeout=120)
        assert reconcile(collection, op_age=0).abandoned == ()
        assert job.state == "INDEXED"


def test_two_reconciliations_at_once_do_everything_once(folder, server):
    contents = [CONTENT + bytes([number]) for number in range(20)]
    folder.fetch(*[server.add(f"/{number}", content) for number, content in enumerate(contents)])
    for content in contents[:10]:
        folder.object(content).unlink()
    for row in folder.rows()[::2]:
        (folder.root / row.path).unlink()
    found = []
    with folder.opened() as first, folder.opened() as second:
        assert read_status(first) == read_status(second)
        threads = [
            threading.Thread(target=lambda one=one: found.append(reconcile(one, **NOW))) for one in (first, second)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert reconcile(first, **NOW).is_quiet
        assert read_status(first).counts == {"INDEXED": 10, "final_missing": 10}
    assert len([path for one in found for path in one.final_missing]) == 10


def test_a_row_that_a_worker_has_just_rewritten_is_not_failed(dialect, request, tmp_path):
    if dialect == "postgres":
        index = Index(PostgresIndex(request.getfixturevalue("postgres").create_database()))
    else:
        index = Index(SqliteIndex(tmp_path / "index.db"))
    add_row(index, ROW)
    add_row(index, replace(ROW, fetched_at=9.0))
    assert not index.mark_missing(ROW, "FAILED", "final_missing")
    assert index.mark_missing(replace(ROW, fetched_at=9.0), "FAILED", "final_missing")
    assert not index.add_if_absent(ROW), "a row that is there is not written over"
    add_row(index, ROW)
    index.record_rerun(ROW.key, 1)
    assert list(index.rows()) == [ROW], "what is here is not taken out"
    index.close()
