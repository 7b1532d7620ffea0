"""Running to the end: an end comes though files were called off, signals stop cleanly, and the rest goes on later."""

import json
import random
import signal
import subprocess
import sys
import threading
from contextlib import ExitStack
from itertools import count

import pytest

from leasehold.pipelines import download
from leasehold.pipelines.download import Artifact, read_manifest
from leasehold.pipelines.download.reports.progress import Pace, pace_text
from leasehold.pipelines.download.run_loop import CollectionStatus, FileProgress
from leasehold.processes import WorkersEnded
from tests.pipelines.download.collection_folder import Folder, run_workers, sha
from tests.support.processes.workers import command_process
from tests.support.wait import until

CONTENT = random.Random(3).randbytes(300_000)


@pytest.fixture
def start(tmp_path):
    """Starts `leasehold download MANIFEST --out DIR` as a process of its own; none is left behind."""
    numbers = count()

    def begin(folder, *lines):
        manifest, log = tmp_path / "manifest", tmp_path / f"output-{next(numbers)}"
        manifest.write_text("\n".join(lines))
        where = ["--url", folder.url] if folder.url else []
        words = ["download", str(manifest), "--out", str(folder.root), "--workers", "1", *where]
        return commands.enter_context(command_process(words, log))

    with ExitStack() as commands:
        yield begin


def states(folder):
    """Count the files by state, as the database has them."""
    with folder.opened() as collection:
        return collection.counts()


def check_stopped_and_gone_on_with(number, folder, server, start):
    lines = [server.add("/slow", CONTENT, stall_after=[100_000]), server.add("/quick", b"quick")]
    command = start(folder, *lines)
    until(lambda: server.stalled, timeout=120)
    until(lambda: states(folder) == {"STREAMING": 1, "INDEXED": 1}, timeout=120)
    command.signal(number)
    assert command.end() == 128 + number
    assert command.log == "Stopped: 1 downloading, 1 downloaded. Run the same command again to resume.\n"
    server.released.set()
    again = start(folder, *lines)
    assert (again.end(), again.log) == (0, "2 downloaded.\n")
    third = start(folder, *lines)
    assert (third.end(), third.log) == (0, "Nothing to do: 2 downloaded.\n")
    first, second = server.gets("/slow")
    assert (first.first, second.status) == (0, 206)
    assert second.first > 0
    assert len(server.gets("/quick")) == 1
    assert folder.object(CONTENT).read_bytes() == CONTENT


def test_an_interrupt_stops_cleanly_and_the_same_command_goes_on_where_it_was(folder, server, start):
    check_stopped_and_gone_on_with(signal.SIGINT, folder, server, start)


def test_a_termination_stops_cleanly_and_the_same_command_goes_on_where_it_was(tmp_path, server, start):
    check_stopped_and_gone_on_with(signal.SIGTERM, Folder(tmp_path / "out"), server, start)


def test_who_asks_twice_has_the_workers_gone_before_their_grace_is_over(tmp_path, server, start):
    command = start(Folder(tmp_path / "out"), server.add("/slow", CONTENT, stall_after=[100_000]))
    until(lambda: server.stalled, timeout=120)
    workers = command.system.children()
    command.signal(signal.SIGINT)
    command.signal(signal.SIGTERM)
    assert command.end() == 128 + signal.SIGTERM
    assert workers
    assert not any(worker.is_running() for worker in workers)
    assert "grace was over" not in (tmp_path / "out" / ".leasehold" / "workers.log").read_text()


def test_a_run_ends_though_files_were_called_off(folder, server):
    with folder.opened() as collection:
        jobs = collection.plan(read_manifest([server.add("/a", CONTENT), server.add("/b", b"b")]))
        jobs[1].cancel()
        seen = []
        running = threading.Thread(target=lambda: seen.append(run_workers(collection)), daemon=True)
        running.start()
        running.join(timeout=120)
        assert [snapshot.counts for snapshot in seen] == [{"INDEXED": 1, "CANCELLED": 1}]
    assert server.gets("/b") == []


def test_a_file_that_is_called_off_while_it_runs_does_not_keep_the_others_waiting(tmp_path, server):
    folder = Folder(tmp_path / "out")
    with folder.opened() as collection, folder.opened() as other:
        (job,) = other.plan(read_manifest([server.add("/slow", CONTENT, stall_after=[100_000])]))
        seen = []
        running = threading.Thread(target=lambda: seen.append(run_workers(collection)), daemon=True)
        running.start()
        until(lambda: server.stalled, timeout=120)
        job.cancel()
        server.released.set()
        running.join(timeout=120)
        assert [snapshot.is_over for snapshot in seen] == [True]


def test_workers_that_cannot_start_are_reported_with_the_path_of_their_log(tmp_path, server, monkeypatch):
    folder = Folder(tmp_path / "out")
    with folder.opened() as collection:
        collection.plan(read_manifest([server.add("/a", CONTENT)]))
        monkeypatch.setenv("PYTHONHOME", str(tmp_path / "nowhere"))
        with pytest.raises(WorkersEnded, match=r"workers\.log"):
            run_workers(collection)
    assert (folder.root / ".leasehold" / "workers.log").read_text()


def test_a_collection_is_planned_run_and_reported_from_python(folder, server):
    lines = [server.add(f"/{number}", CONTENT[number:]) for number in range(3)]
    planned = download.plan(lines, out=folder.root, url=folder.url)
    assert planned == download.plan(lines, out=str(folder.root), url=folder.url)
    assert planned.keys == tuple(one.key for one in read_manifest(lines))
    report = download.run(folder.root, workers=1, per_host=2, timeout=30, url=folder.url)
    assert (report.planned, report.files, report.is_well) == (3, 3, True)
    assert report.bytes == sum(len(CONTENT) - number for number in range(3))
    assert download.report(folder.root, url=folder.url) == report
    asked = len(server.log)
    assert download.run(folder.root, url=folder.url) == report
    assert len(server.log) == asked


def test_python_takes_a_path_lines_and_artifacts_and_sends_headers(tmp_path, server):
    wanted = {"x-key": "7"}
    url = server.add("/a", CONTENT, wanted_headers=wanted)
    manifest = tmp_path / "manifest.jsonl"
    manifest.write_text(json.dumps({"work_id": "w", "artifact_id": "a", "url": url}))
    by_path = download.plan(manifest, out=tmp_path / "out")
    assert download.plan([Artifact("w", "a", url)], out=tmp_path / "out") == by_path
    assert download.plan([Artifact("w", "a", url), manifest.read_text()], out=tmp_path / "out") == by_path
    assert download.run(tmp_path / "out", workers=1, headers=wanted).files == 1
    assert Folder(tmp_path / "out").object(CONTENT).exists()
    assert sha(CONTENT) in {row.sha256 for row in Folder(tmp_path / "out").rows()}


def test_bytes_a_second_and_the_time_left_are_printed_as_far_as_they_are_known():
    pace = Pace()
    assert pace.estimate(0.0, CollectionStatus({"PLANNED": 4}, 4)) == (0.0, None)
    one = CollectionStatus({"INDEXED": 1, "STREAMING": 1, "PLANNED": 2}, 3, 2_000, [FileProgress(1, 1_000, 5_000)])
    assert pace.estimate(10.0, one) == (200.0, (4_000 + 2 * 1_000) / 200.0)
    assert pace_text(*pace.estimate(10.0, one)) == "200 B/s, 0:00:30 left"
    assert pace_text(2_500_000.0, None) == "2.5 MB/s"


def test_nobody_guesses_the_time_left_before_a_file_is_here():
    pace = Pace()
    pace.estimate(0.0, CollectionStatus({"PLANNED": 2}, 2))
    unknown = CollectionStatus({"STREAMING": 1, "PLANNED": 1}, 2, 500, [FileProgress(1, 500, 1_000)])
    assert pace.estimate(5.0, unknown) == (100.0, None)
    assert pace.estimate(6.0, CollectionStatus({"STREAMING": 1}, 1, 600, [FileProgress(1, 600, 1_000)])) == (100.0, 4.0)


def test_the_rate_is_of_the_last_seconds_and_not_of_the_whole_run():
    pace = Pace()
    for second in range(100):
        seen = pace.estimate(float(second), CollectionStatus({"STREAMING": 1}, 1, min(second, 50) * 1_000))
    assert seen == (0.0, None)


def test_workers_leave_when_the_command_was_killed(tmp_path, server, start):
    command = start(Folder(tmp_path / "out"), server.add("/slow", CONTENT, stall_after=[100_000]))
    until(lambda: server.stalled, timeout=120)
    workers = command.system.children()
    command.kill()
    assert workers
    until(lambda: not any(worker.is_running() for worker in workers), timeout=120)


def test_who_stops_while_a_server_takes_its_time_to_answer_spends_no_attempt_either(folder, server, start):
    line = server.add("/slow", CONTENT, stall_head=True)
    for number in range(1, 3):
        command = start(folder, line)
        until(lambda: len(server.log) == number, timeout=120)  # noqa: B023
        command.signal(signal.SIGINT)
        assert command.end() == 130
    with folder.opened() as collection:
        (job,) = collection.app.jobs()
        names = [event.name for event in collection.app.journal.of(job.id)]
    assert (names.count("claimed"), names.count("released")) == (2, 2)


def test_who_stops_a_slow_file_again_and_again_spends_no_attempt_of_it(folder, server, start):
    line = server.add("/slow", CONTENT, crumbs=500)
    for number in range(1, 9):  # more often than a file is tried
        command = start(folder, line)
        until(lambda: len(server.gets("/slow")) == number and server.gets("/slow")[-1].sent > 0, timeout=120)  # noqa: B023
        command.signal(signal.SIGINT)
        assert command.end() == 130
    server.resources["/slow"].crumbs = 0
    again = start(folder, line)
    assert (again.end(), again.log) == (0, "1 downloaded.\n")
    gets = server.gets("/slow")
    assert [one.status for one in gets[1:]] == [206] * 8
    assert folder.object(CONTENT).read_bytes() == CONTENT


def test_a_worker_that_cannot_leave_does_not_outlive_its_command(tmp_path):
    words = [sys.executable, "-m", "tests.pipelines.download.unstoppable_worker", str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == str(-signal.SIGKILL)
