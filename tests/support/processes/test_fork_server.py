"""A module that the fork server forks is a process as any other: started, signalled and ended as by an interpreter."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest

from tests.support.processes.fork_server import ROOT, STARTS_NAME, ForkedProcess, fork_server, run_module, start_module
from tests.support.wait import until

ENDS = {
    "nothing": "",
    "reconfigured streams": "import sys; [s.reconfigure(errors='replace') for s in (sys.stdout, sys.stderr)]",
    "a number": "import sys; sys.exit(7)",
    "a large number": "import sys; sys.exit(-1)",
    "a word": "import sys; sys.exit('written at the end')",
    "an error": "raise ValueError('odd')",
    "an interrupt": "raise KeyboardInterrupt",
    "its own kill": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "at once": "import os; print('lost', end=''); os._exit(3)",
    "a thread": (
        "import threading as t; t.Thread(target=lambda: (t.main_thread().join(), print('later'))).start();"
        " print('first')"
    ),
    "an exit function": "import atexit; atexit.register(print, 'last'); print('first', end='')",
    "an error in an exit function": "import atexit; atexit.register(lambda: 1 / 0)",
    "no reader": "import os, sys; sys.stdout.write('x'); r, w = os.pipe(); os.close(r); os.dup2(w, 1)",
}
SURROUNDINGS = {
    "arguments": "import sys; print(sys.argv[1:])",
    "folder": "import os, sys; print(os.getcwd(), sys.path[0])",
    "environment": "import os; print(sorted(os.environ.items()))",
    "a grandchild's environment": "import os, subprocess; subprocess.run(['env', '-0'], check=True)",
    "time zone": "import time; print(time.localtime(0))",
    "streams": (
        "import sys\nfor stream in (sys.stdin, sys.stdout, sys.stderr):\n"
        "    print(stream.encoding, stream.errors, stream.line_buffering, stream.write_through, stream.seekable())\n"
        "    print(stream.newlines, stream.isatty(), stream.fileno(), stream.closed)"
    ),
    "input": "import sys; print(sys.stdin.read())",
    "signals": "import signal; print([(int(n), str(signal.getsignal(n))[:20]) for n in signal.valid_signals()])",
    "blocked signals": "import signal; print(signal.pthread_sigmask(signal.SIG_BLOCK, []))",
    "files": "import os; print(sorted(os.listdir('/proc/self/fd')))",
    "threads": "import threading; print(threading.enumerate()[0].name, threading.active_count())",
    "group": "import os; print(os.getpgrp(), os.getsid(0))",
    "mask of files": "import os; print(os.umask(0))",
    "main": "print(__name__, __package__)",
}
# A signal that comes just before a process waits must not be missed: it waits again and again.
WAITING = """
import signal, sys, threading
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # ignored by all that `nohup` starts
print("here", flush=True)
while not threading.Event().wait(0.02): pass
"""


@pytest.fixture
def package(tmp_path):
    """Makes a module of some code, in a folder of its own."""

    def make(code):
        (tmp_path / "sample").mkdir(exist_ok=True)
        (tmp_path / "sample" / "__main__.py").write_text(code)
        return tmp_path

    return make


def outcome_of(start, folder, **how):
    """Run the module to its end; return its exit code, its output and its errors without paths and addresses."""
    (folder / "given").write_bytes(b"a line\r\n\xc3\xa4")
    with (folder / "given").open() as given, (folder / "out").open("wb") as out, (folder / "err").open("wb") as errors:
        process = start(stdin=given, stdout=out, stderr=errors, cwd=folder, **how)
        code = process.wait(timeout=60)
    lines = [line for line in (folder / "err").read_text().splitlines() if not line.startswith(" ")]
    return code, (folder / "out").read_text(), [re.sub("0x[0-9a-f]+", "", line) for line in lines]


def check_same(folder, *arguments, **how):
    """Check that the module ends and prints the same, forked and started."""
    forked = outcome_of(lambda **streams: start_module("sample", *arguments, **streams), folder, **how)
    words = [sys.executable, "-m", "sample", *arguments]
    assert forked == outcome_of(lambda **streams: subprocess.Popen(words, **streams), folder, **how)


def is_gone(pid):
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


@contextlib.contextmanager
def waiting(folder, **how):
    """A forked module that waits, and is not left behind."""
    log = folder / f"log-{len(list(folder.glob('log-*')))}"
    with log.open("wb") as lines:
        process = start_module("sample", cwd=folder, stdout=lines, stderr=lines, **how)
    assert isinstance(process, ForkedProcess)
    try:
        until(lambda: log.read_text() == "here\n")
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("code", ENDS.values(), ids=ENDS)
def test_a_forked_module_ends_as_a_started_one_does(code, package):
    check_same(package(code))


@pytest.mark.parametrize("code", SURROUNDINGS.values(), ids=SURROUNDINGS)
def test_a_forked_module_has_the_surroundings_of_a_started_one(code, package):
    known = os.environ | {"TZ": "Asia/Kathmandu", "MARK": "a=b\nc", "PYTHONPATH": str(ROOT)}
    check_same(package(code), "a", "", "--odd", "ä", env=known)


def test_a_module_that_is_run_to_its_end_returns_its_code_its_output_and_its_errors(package, tmp_path):
    folder = package("import sys; print('a', 'ä'); print('b', file=sys.stderr); sys.exit(7)")
    ran = run_module("sample", cwd=folder)
    assert (ran.returncode, ran.stdout, ran.stderr) == (7, "a ä\n", "b\n")
    with (tmp_path / "elsewhere").open("wb") as elsewhere:
        assert run_module("sample", cwd=folder, stdout=elsewhere).stdout == ""
    assert (tmp_path / "elsewhere").read_text() == "a ä\n"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1])
def test_a_signal_ends_a_forked_module_and_no_other(number, package):
    with waiting(package(WAITING)) as process, waiting(package(WAITING)) as other:
        process.send_signal(number)
        assert process.wait(timeout=60) == -number
        assert other.poll() is None


def test_a_signal_that_comes_as_soon_as_the_process_is_there_is_not_lost(package):
    folder = package(WAITING)
    for _ in range(20):
        process = start_module("sample", cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        process.terminate()
        assert process.wait(timeout=60) == -signal.SIGTERM


def test_a_number_is_not_given_away_before_somebody_asked_for_the_exit_code(package):
    with waiting(package(WAITING)) as process:
        os.kill(process.pid, signal.SIGKILL)
        until(lambda: psutil.Process(process.pid).status() == psutil.STATUS_ZOMBIE)
        assert process.poll() == -signal.SIGKILL
        assert not psutil.pid_exists(process.pid)
        assert (process.poll(), process.wait()) == (-signal.SIGKILL, -signal.SIGKILL)


def test_a_wait_that_takes_too_long_is_given_up(package):
    with waiting(package(WAITING)) as process, pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=0.01)


def test_a_forked_module_leads_a_group_of_its_own_if_that_is_asked_for(package):
    folder = package(WAITING)
    with waiting(folder, start_new_session=True) as leader, waiting(folder) as follower:
        assert os.getpgid(leader.pid) == os.getsid(leader.pid) == leader.pid
        assert os.getpgid(follower.pid) == os.getpgrp()


def test_modules_are_forked_by_many_threads_at_once(package):
    folder, codes = package("import sys; sys.exit(int(sys.argv[1]))"), []

    def run(code):
        codes.append(start_module("sample", str(code), cwd=folder).wait(timeout=60))

    threads = [threading.Thread(target=run, args=[code]) for code in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert sorted(codes) == list(range(20))


def test_no_two_forked_modules_draw_the_same_numbers(package):
    folder = package(
        "import random, uuid, secrets, apsw, tempfile\n"
        "drawn = apsw.Connection(':memory:').execute('SELECT hex(randomblob(8))').get\n"
        "print(random.random(), uuid.uuid4(), secrets.token_hex(8), drawn, next(tempfile._get_candidate_names()))"
    )
    drawn = [outcome_of(lambda **how: start_module("sample", **how), folder)[1].split() for _ in range(3)]
    assert [len({*column}) for column in zip(*drawn, strict=True)] == [3] * 5


@pytest.mark.parametrize(
    "changed",
    [
        {"PYTHONHASHSEED": "7"},
        {"LC_ALL": "POSIX"},
        {"LD_PRELOAD": ""},
        {"TMPDIR": "/var/tmp"},
        {"PYTHONPATH": "/nowhere"},
        {"FAKETIME": "+1h"},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_what_is_read_only_at_a_start_needs_a_new_interpreter(changed, package):
    process = start_module("sample", cwd=package(""), env=os.environ | changed)
    assert isinstance(process, subprocess.Popen)
    assert process.wait(timeout=60) == 0


def test_every_module_is_started_if_the_environment_asks_for_it(monkeypatch, package):
    monkeypatch.setenv(STARTS_NAME, "real")
    process = start_module("sample", cwd=package(""))
    assert isinstance(process, subprocess.Popen)
    assert process.wait(timeout=60) == 0


def test_the_server_has_one_thread_and_no_file_open_but_its_socket(package):
    with waiting(package(WAITING)):
        server = psutil.Process(fork_server().process.pid)
        opened = [str(path.readlink()) for path in Path(f"/proc/{server.pid}/fd").iterdir() if int(path.name) > 2]
        assert server.num_threads() == 1
        assert sorted(name.partition(":")[0] for name in opened) == ["anon_inode", "socket"]


OWNER = """
import json, os, signal, subprocess, sys
from tests.support.processes.fork_server import fork_server, run_module, start_module
children = [start_module("sample", cwd=sys.argv[2], start_new_session=leads) for leads in (False, True)]
print(json.dumps([fork_server().process.pid, *(child.pid for child in children)]), flush=True)
signal.pause() if sys.argv[1] == "wait" else os._exit(0)
"""


@pytest.fixture
def family(package):
    """A process with a server of its own; the numbers of the server and of two children that ignore SIGTERM."""
    with contextlib.ExitStack() as stack:

        def start(word):
            folder = package("import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.pause()")
            words = [sys.executable, "-c", OWNER, word, str(folder)]
            owner = stack.enter_context(subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True))
            stack.callback(owner.kill)
            assert owner.stdout is not None
            return owner, json.loads(owner.stdout.readline())

        yield start


def test_nothing_is_left_when_the_owner_of_a_server_is_killed(family):
    owner, pids = family("wait")
    assert not any(map(is_gone, pids))
    owner.kill()
    assert until(lambda: all(map(is_gone, pids)))


def test_nothing_is_left_when_the_owner_of_a_server_ends_and_closes_nothing(family):
    _, pids = family("leave")
    assert until(lambda: all(map(is_gone, pids)))


def test_nothing_is_left_when_a_server_is_killed(family):
    _, (server, *pids) = family("wait")
    os.kill(server, signal.SIGKILL)
    assert until(lambda: all(map(is_gone, pids)))
