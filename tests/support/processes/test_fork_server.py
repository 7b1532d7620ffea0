"""A program that the nursery forks is a process as any other: begun, told, killed and ended as one that is started."""

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

from tests.support.processes.fork_server import ROOT, STARTS_NAME, Nestling, nursery, run
from tests.support.wait import until

ENDS = {
    "nothing": "",
    "a number": "import sys; sys.exit(7)",
    "a large number": "import sys; sys.exit(-1)",
    "a word": "import sys; sys.exit('said at the end')",
    "an error": "raise ValueError('odd')",
    "an interrupt": "raise KeyboardInterrupt",
    "its own kill": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "abort": "import os; os.abort()",
    "at once": "import os; print('lost', end=''); os._exit(3)",
    "a thread": "import threading; threading.Timer(0.01, print, ['later']).start(); print('first')",
    "what it registered": "import atexit; atexit.register(print, 'last'); print('first', end='')",
    "a thread's error": "import threading; threading.Thread(target=lambda: 1 / 0).start()",
    "an error in what it registered": "import atexit; atexit.register(lambda: 1 / 0)",
    "no reader": "import os, sys; sys.stdout.write('x'); r, w = os.pipe(); os.close(r); os.dup2(w, 1)",
}
SIGHTS = {
    "arguments": "import sys; print(sys.argv)",
    "words": "import sys; print(sys.orig_argv)",
    "paths": "import sys; print(sys.path)",
    "folder": "import os; print(os.getcwd())",
    "environment": "import os; print(sorted(os.environ.items()))",
    "a grandchild's environment": "import os, subprocess; subprocess.run(['env', '-0'], check=True)",
    "time zone": "import time; print(time.localtime(0))",
    "streams": (
        "import sys\nfor one in (sys.stdin, sys.stdout, sys.stderr):\n"
        "    print(one, one.encoding, one.errors, one.newlines, one.line_buffering, one.write_through, one.isatty())\n"
        "    print(one.buffer, one.fileno(), one is getattr(sys, '__' + one.name[1:-1] + '__'))"
    ),
    "what it is given": "import sys; print(sys.stdin.read())",
    "signals": "import signal; print([(int(one), str(signal.getsignal(one))[:20]) for one in signal.valid_signals()])",
    "blocked signals": "import signal; print(signal.pthread_sigmask(signal.SIG_BLOCK, []))",
    "files": "import os; print(sorted(os.listdir('/proc/self/fd')))",
    "threads": "import threading; print(threading.enumerate()[0].name, threading.active_count())",
    "group": "import os; print(os.getpgrp(), os.getsid(0))",
    "limits": "import resource; print([resource.getrlimit(n) for n in range(16)])",
    "main": "import sys; print(sorted(vars(sys.modules['__main__']).keys() - {'__annotations__'}), __name__)",
    "mask of files": "import os; print(os.umask(0))",
    "options": "import sys; print(sys.flags, sys.warnoptions, sys._xoptions)",
    "features": "def f(x: int): ...\nprint(f.__annotations__)",
}

# An interpreter that hears of a signal just before it waits, waits; so it waits again and again.
WAITING = """
import select, sys
def wait():
    while not select.select([sys.stdin], [], [], 0.02)[0]: pass
print("here", flush=True)
"""


def both(words, **how):
    """Return what became of a program that was forked, and of the same that was started."""
    found = []
    for begin in (run, subprocess.run):
        with contextlib.ExitStack() as files:
            if "cwd" in how:
                how["stdin"] = files.enter_context((how["cwd"] / "given").open())
            done = begin([sys.executable, *words], capture_output=True, text=True, check=False, timeout=60, **how)
        found.append(done)
    return found


def last_lines(text):
    """Return what is said about errors, without the way to them and addresses."""
    return [re.sub("0x[0-9a-f]+", "", line) for line in text.splitlines() if not line.startswith(" ")]


def is_gone(pid):
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


@contextlib.contextmanager
def waiting(code="wait()", **how):
    """A forked program that waits for a line, and is not left behind."""
    words = [sys.executable, "-c", WAITING + code]
    how |= {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with Nestling(words, text=True, **how) as one:
        assert one.is_forked
        try:
            assert one.stdout is not None
            assert one.stdout.readline() == "here\n"
            yield one
        finally:
            one.kill()


@pytest.mark.parametrize("program", ENDS.values(), ids=ENDS)
def test_a_forked_program_ends_as_a_started_one_does(program):
    forked, started = both(["-c", program])
    assert (forked.returncode, forked.stdout) == (started.returncode, started.stdout)
    assert last_lines(forked.stderr) == last_lines(started.stderr)


@pytest.mark.parametrize("program", SIGHTS.values(), ids=SIGHTS)
def test_a_forked_program_sees_what_a_started_one_sees(program, tmp_path):
    known = os.environ | {"TZ": "Asia/Kathmandu", "MARK": "a=b\nc", "PYTHONPATH": str(ROOT)}
    (tmp_path / "given").write_bytes(b"a line\r\n\xc3\xa4")
    for words in (["-c", program, "a", ""], script_of(program, tmp_path), module_of(program, tmp_path)):
        forked, started = both(words, cwd=tmp_path, env=known)
        assert (forked.stdout, forked.stderr) == (started.stdout, started.stderr)
        assert forked.returncode == started.returncode == 0


def script_of(program, folder):
    (folder / "script.py").write_text(program)
    return ["script.py", "--odd", "ä"]


def module_of(program, folder):
    (folder / "package").mkdir(exist_ok=True)
    (folder / "package" / "__main__.py").write_text(program)
    return ["-m", "package", "-m", "x"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1])
def test_a_signal_ends_a_forked_program_and_no_other(number):
    with waiting() as one, waiting() as other:
        one.send_signal(number)
        assert one.wait(timeout=60) == -number
        assert other.poll() is None
        out, _ = other.communicate("\n", timeout=60)
        assert (other.returncode, out) == (0, "")
    assert nursery().is_ours


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_that_comes_as_soon_as_the_process_is_there_is_not_lost(number):
    for _ in range(20):
        words = [sys.executable, "-c", WAITING + "wait()"]
        with Nestling(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            process.send_signal(number)
            assert process.wait(timeout=60) == -number


def test_a_number_is_not_given_away_before_somebody_asked_how_its_process_ended():
    with waiting() as process:
        process.kill()
        until(lambda: psutil.Process(process.pid).status() == psutil.STATUS_ZOMBIE)
        assert process.poll() == -signal.SIGKILL
        assert not psutil.pid_exists(process.pid)
        assert (process.poll(), process.wait()) == (-signal.SIGKILL, -signal.SIGKILL)


def test_a_program_that_takes_too_long_is_killed():
    with waiting() as process, pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=0.01)
    with pytest.raises(subprocess.TimeoutExpired):
        run([sys.executable, "-c", "import signal; signal.pause()"], timeout=0.01)


def test_a_failure_is_raised_if_that_is_wanted():
    with pytest.raises(subprocess.CalledProcessError) as caught:
        run([sys.executable, "-c", "import sys; print('why'); sys.exit(3)"], check=True, capture_output=True)
    assert (caught.value.returncode, caught.value.stdout) == (3, b"why\n")


def test_a_forked_program_leads_a_group_of_its_own_if_it_is_told_to():
    with waiting(start_new_session=True) as leader, waiting() as follower:
        assert os.getpgid(leader.pid) == os.getsid(leader.pid) == leader.pid
        assert os.getpgid(follower.pid) == os.getpgrp()
        os.killpg(leader.pid, signal.SIGKILL)
        assert leader.wait(timeout=60) == -signal.SIGKILL
        assert follower.poll() is None


def test_a_pipe_ends_when_the_forked_program_does_though_others_were_forked_meanwhile():
    with waiting("print('last')") as one, waiting() as other:
        assert one.stdout is not None
        assert one.stdout.read() == "last\n"
        assert other.poll() is None


def test_programs_are_forked_by_many_threads_at_once():
    codes: list[int] = []

    def begin(code):
        codes.append(run([sys.executable, "-c", f"import sys; sys.exit({code})"]).returncode)

    threads = [threading.Thread(target=begin, args=[code]) for code in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert sorted(codes) == list(range(20))


def test_no_two_forked_programs_draw_the_same_numbers():
    code = (
        "import random, uuid, secrets, apsw, tempfile\n"
        "drawn = apsw.Connection(':memory:').execute('SELECT hex(randomblob(8))').get\n"
        "print(random.random(), uuid.uuid4(), secrets.token_hex(8), drawn, next(tempfile._get_candidate_names()))"
    )
    drawn = [run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout for _ in range(3)]
    assert all(len({*column}) == 3 for column in zip(*(line.split() for line in drawn), strict=True))


@pytest.mark.parametrize(
    ("words", "how"),
    [
        pytest.param(["-I", "-c", ""], {}, id="options"),
        pytest.param(["-"], {"stdin": subprocess.DEVNULL}, id="a program from a stream"),
        pytest.param(["-c", ""], {"pass_fds": [2]}, id="more files"),
        pytest.param(["-c", ""], {"preexec_fn": os.getpid}, id="acts before"),
        pytest.param(["-c", ""], {"umask": 0o77}, id="a mask"),
        pytest.param(["-c", ""], {"user": os.getuid()}, id="a user"),
        pytest.param(["-c", ""], {"env": {**os.environ, "PYTHONHASHSEED": "7"}}, id="a seed"),
        pytest.param(["-c", ""], {"env": {**os.environ, "LC_ALL": "POSIX"}}, id="a locale"),
        pytest.param(["-c", ""], {"env": {**os.environ, "LD_PRELOAD": ""}}, id="a library"),
        pytest.param(["-c", ""], {"env": {**os.environ, "TMPDIR": "/var/tmp"}}, id="a temporary folder"),
        pytest.param(["-c", ""], {"env": {**os.environ, "PYTHONPATH": "/nowhere"}}, id="paths"),
        pytest.param(["-c", ""], {"env": {**os.environ, "LARGE": "x" * 125_000}}, id="more than an order holds"),
    ],
)
def test_what_the_cradle_cannot_do_is_done_by_a_new_interpreter(words, how):
    with Nestling([sys.executable, *words], **how) as process:
        assert not process.is_forked
        assert psutil.Process(process.pid).ppid() == os.getpid()
        assert process.wait(timeout=60) == 0


def test_other_programs_and_folders_that_are_not_there_are_no_matter_of_the_cradle(tmp_path):
    with Nestling(["true"]) as process:
        assert (process.is_forked, process.wait(timeout=60)) == (False, 0)
    with pytest.raises(FileNotFoundError):
        Nestling([sys.executable, "-c", ""], cwd=tmp_path / "nowhere")


def test_every_program_is_started_anew_if_the_environment_wants_it(monkeypatch):
    monkeypatch.setenv(STARTS_NAME, "real")
    with Nestling([sys.executable, "-c", ""]) as process:
        assert (process.is_forked, process.wait(timeout=60)) == (False, 0)


def test_the_cradle_has_one_thread_and_no_file_open_but_its_line():
    with waiting():
        owner = psutil.Process(nursery().process.pid)
        opened = [str(path.readlink()) for path in Path(f"/proc/{owner.pid}/fd").iterdir() if int(path.name) > 2]
        assert owner.num_threads() == 1
        assert sorted(name.partition(":")[0] for name in opened) == ["anon_inode", "socket"]


OWNER = """
import json, os, signal, subprocess, sys
from tests.support.processes.fork_server import Nestling, nursery
words = [sys.executable, "-c", "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.pause()"]
born = [Nestling(words, stdout=subprocess.DEVNULL, start_new_session=one) for one in (False, True)]
print(json.dumps([nursery().process.pid, *(one.pid for one in born)]), flush=True)
signal.pause() if sys.argv[1] == "wait" else os._exit(0)
"""


@pytest.fixture
def family():
    """A process with a nursery of its own; the numbers of its cradle and of two programs."""
    with contextlib.ExitStack() as stack:

        def begin(word):
            words = [sys.executable, "-c", OWNER, word]
            owner = stack.enter_context(subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True))
            stack.callback(owner.kill)
            assert owner.stdout is not None
            return owner, json.loads(owner.stdout.readline())

        yield begin


def test_nothing_is_left_when_the_owner_of_a_nursery_is_killed(family):
    owner, kin = family("wait")
    assert not any(map(is_gone, kin))
    owner.kill()
    until(lambda: all(map(is_gone, kin)))


def test_nothing_is_left_when_the_owner_of_a_nursery_ends_and_closes_nothing(family):
    _, kin = family("leave")
    until(lambda: all(map(is_gone, kin)))


def test_nothing_is_left_when_a_cradle_is_killed(family):
    _, (cradle, *kin) = family("wait")
    os.kill(cradle, signal.SIGKILL)
    until(lambda: all(map(is_gone, kin)))


def test_a_process_that_was_forked_from_the_owner_has_a_nursery_of_its_own():
    program = (
        "import os, sys\n"
        "from tests.support.processes.fork_server import nursery, run\n"
        "first, below = nursery().process.pid, os.fork()\n"
        "assert run([sys.executable, '-c', ''], check=True) and (nursery().process.pid == first) is (below > 0)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(below, 0)[1]) if below else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
