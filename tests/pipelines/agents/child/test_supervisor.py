"""One child from start to end, whatever it does: real processes, no shell, bounded memory, no survivors."""

import json
import os
import signal
import threading
import tracemalloc
from pathlib import Path

import pytest

from leasehold.pipelines.agents.child.process import ChildCommand, ChildNotStarted, ChildStarter, child_environment
from leasehold.pipelines.agents.child.protocol import ChildResult, input_line
from leasehold.pipelines.agents.child.stopping import StopReason, StopRequest
from leasehold.pipelines.agents.child.supervisor import ChildCallbacks, ChildConversation
from tests.pipelines.agents.child.children import (
    DAEMON,
    Counted,
    Kept,
    accept,
    is_alive,
    open_descriptors,
    python,
    supervise,
)
from tests.support.wait import until

WAIT = "import signal\nwhile True: signal.pause()"


def test_a_command_that_speaks_nothing_ends_with_its_code_and_its_output():
    kept = Kept()
    end = supervise(python("import sys; print('out'); print('err', file=sys.stderr)"), sink=kept)
    assert (end.code, end.stopped, end.result, end.is_success) == (0, None, None, True)
    assert (bytes(kept.out), bytes(kept.err)) == (b"out\n", b"err\n")
    assert supervise(python("raise SystemExit(3)")).code == 3
    assert supervise(python("import os; os.kill(os.getpid(), 11)")).code == -11


def test_a_child_is_sent_its_input_and_its_messages_are_passed_on():
    text = """if True:
        import json, sys
        order = json.loads(sys.stdin.readline())
        print(json.dumps({"type": "usage", "tokens": 5}))
        print("plain")
        print(json.dumps({"type": "progress", "text": order["child_id"]}))
        print(json.dumps({"type": "solver_call", "id": "a"}), flush=True)
        first = json.loads(sys.stdin.readline())
        print(json.dumps({"type": "solver_call", "id": "b"}), flush=True)
        second = json.loads(sys.stdin.readline())
        print(json.dumps({"type": "usage", "tokens": 7}))
        print(json.dumps({"type": "result", "output": [order["input"], first, second]}))
    """
    seen: list[object] = []
    callbacks = ChildCallbacks(
        on_usage=accept(seen),
        on_solver_call=lambda call: call == "a",
        on_progress=seen.append,
    )
    end = supervise(python(text), ChildConversation(input_line("c1", {"x": 1}, {}), callbacks=callbacks))
    answers = [{"type": "solver_call", "id": name, "granted": name == "a"} for name in "ab"]
    assert end.result == ChildResult([{"x": 1}, *answers])
    assert (seen, end.tokens, end.is_success) == ([5, "c1", 7], 12, True)


def test_a_child_without_input_finds_its_standard_input_closed():
    kept = Kept()
    assert supervise(python("import sys; print(repr(sys.stdin.read()))"), sink=kept).code == 0
    assert kept.out == b"''\n"


def test_a_child_has_its_folder_its_session_and_only_the_allowed_variables(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENT_SECRET", "do not pass on")
    monkeypatch.setenv("AGENT_KEY", "pass on")
    text = (
        "import json, os; print(json.dumps([os.getcwd(), os.getpid() == os.getsid(0) == os.getpgrp(), {**os.environ}]))"
    )
    command = python(text, folder=tmp_path)
    command = ChildCommand(command.argv, tmp_path, child_environment(["AGENT_KEY", "NOT_SET"]))
    kept = Kept()
    supervise(command, sink=kept)
    folder, leads, variables = json.loads(kept.out)
    assert (folder, leads) == (str(tmp_path), True)
    assert variables["AGENT_KEY"] == "pass on"
    assert "AGENT_SECRET" not in variables
    assert set(variables) <= {
        "PATH",
        "HOME",
        "LANG",
        "LC_ALL",
        "LC_CTYPE",
        "TMPDIR",
        "TZ",
        "USER",
        "LOGNAME",
        "AGENT_KEY",
    }


def test_a_child_inherits_nothing_but_its_three_pipes():
    kept = Kept()
    supervise(python("import os; print(sorted(map(int, os.listdir('/proc/self/fd')))[:-1])"), sink=kept)
    assert kept.out == b"[0, 1, 2]\n"


def test_a_variable_that_is_not_utf_8_reaches_the_child(monkeypatch):
    monkeypatch.setenv("AGENT_BYTES", os.fsdecode(b"a\xffb\xc3\xa4"))
    kept = Kept()
    argv = python("import os; print(os.environb[b'AGENT_BYTES'])").argv
    supervise(ChildCommand(argv, Path("/"), child_environment(["AGENT_BYTES"])), sink=kept)
    assert kept.out == b"b'a\\xffb\\xc3\\xa4'\n"


@pytest.mark.parametrize(
    ("argv", "folder"), [(("no-such-program",), "/"), (("/etc/hostname",), "/"), (("true",), "/no/such/folder")]
)
def test_a_command_that_cannot_be_started_is_an_error_with_a_code(tmp_path, argv, folder):
    with pytest.raises(ChildNotStarted) as refused:
        supervise(ChildCommand(argv, tmp_path / folder))
    assert refused.value.code == "URM_CHILD_NOT_STARTED"


def test_no_shell_reads_the_arguments():
    kept = Kept()
    supervise(ChildCommand(("echo", "$HOME; ls", "*", "`id`"), python("").folder), sink=kept)
    assert kept.out == b"$HOME; ls * `id`\n"


def test_a_time_out_ends_a_child_with_sigterm_first():
    text = f"""if True:
        import signal, sys
        def leave(*_):
            print("asked", flush=True)
            sys.exit(4)
        signal.signal(signal.SIGTERM, leave)
        print("ready", flush=True)
        {"while True: signal.pause()"}
    """
    kept = Kept()
    end = supervise(python(text), ChildConversation(timeout=1.0), sink=kept)
    assert (end.stopped, end.is_success) == (StopReason.TIMEOUT, False)
    if b"ready" in kept.out:  # a busy machine may not have started it by then
        assert (end.code, bytes(kept.out)) == (4, b"ready\nasked\n")


def test_a_cancel_kills_what_ignores_sigterm_after_the_grace():
    text = f"import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('deaf', flush=True)\n{WAIT}"
    stop = StopRequest()
    callbacks = ChildCallbacks(on_progress=lambda _: stop.request(StopReason.CANCEL))
    text = text.replace("print('deaf'", 'print(\'{"type":"progress","text":"deaf"}\'')
    end = supervise(python(text, grace=0.05), ChildConversation(callbacks=callbacks), stop=stop)
    stop.request(StopReason.TIMEOUT)
    stop.close()
    stop.request(StopReason.CANCEL)
    assert (end.code, end.stopped, stop.reason) == (-signal.SIGKILL, StopReason.CANCEL, StopReason.CANCEL)


def test_a_stop_before_or_during_the_start_is_not_lost():
    with ChildStarter() as starter:
        for _ in range(40):
            stop = StopRequest()
            stop.request(StopReason.CANCEL)
            end = supervise(python(WAIT), stop=stop, starter=starter)
            stop.close()
            assert (end.code, end.stopped) == (-signal.SIGTERM, StopReason.CANCEL)


def test_many_requests_to_stop_are_one():
    stop = StopRequest()
    for _ in range(100_000):
        stop.request(StopReason.CANCEL)
    end = supervise(python(WAIT), stop=stop)
    stop.close()
    assert end.stopped is StopReason.CANCEL


@pytest.mark.parametrize("reason", [StopReason.CANCEL, StopReason.BUDGET])
def test_descendants_that_left_their_session_twice_end_with_the_child(tmp_path, reason):
    path = tmp_path / "pid"
    stop = StopRequest()
    ended: list[object] = []
    command = python(f"{DAEMON}\nleave(2, sys.argv[1])\nwhile True: signal.pause()", str(path), grace=0.05)
    thread = threading.Thread(target=lambda: ended.append(supervise(command, stop=stop)))
    thread.start()
    until(path.exists)
    pid = int(path.read_text())
    assert is_alive(pid)
    stop.request(reason)
    thread.join()
    stop.close()
    assert not is_alive(pid)
    assert len(ended) == 1


def test_a_child_that_exits_leaves_no_descendant_that_holds_its_pipes_open(tmp_path):
    path = tmp_path / "pid"
    text = f"{DAEMON}\nleave(1, sys.argv[1])\nwhile not os.path.exists(sys.argv[1]): os.sched_yield()\nprint('done')"
    kept = Kept()
    end = supervise(python(text, str(path)), sink=kept)
    assert (end.code, bytes(kept.out)) == (0, b"done\n")
    assert not is_alive(int(path.read_text()))


def test_a_stranger_that_holds_the_pipe_open_does_not_keep_the_run_waiting(tmp_path):
    """The descriptor goes to a process outside the tree, this one, which keeps it."""
    text = """if True:
        import sys
        print("done", flush=True)
        sys.stdin.readline()
    """
    held: list[int] = []
    starter_pid = os.getpid()

    class Holder(Kept):
        def stdout(self, chunk: bytes) -> None:
            super().stdout(chunk)
            for pid in map(int, filter(str.isdigit, (path.name for path in Path("/proc").iterdir()))):
                if pid != starter_pid and is_child_with(pid, text):
                    held.append(os.open(f"/proc/{pid}/fd/1", os.O_WRONLY))
                    os.kill(pid, signal.SIGKILL)

    def is_child_with(pid: int, program: str) -> bool:
        try:
            return program.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return False

    end = supervise(python(text), ChildConversation(b"x"), sink=Holder())
    assert end.code == -signal.SIGKILL
    assert held
    for descriptor in held:
        os.close(descriptor)


def test_a_child_that_closes_its_pipes_runs_on_until_it_ends(tmp_path):
    path = tmp_path / "done"
    text = "import os, sys\nfor n in (0, 1, 2): os.close(n)\nopen(sys.argv[1], 'w').close()\nos._exit(5)"
    end = supervise(python(text, str(path)), ChildConversation(b"x" * 1_000_000))
    assert (end.code, path.exists()) == (5, True)


def test_a_child_that_never_reads_is_not_waited_for():
    end = supervise(python("print('done')"), ChildConversation(b"x" * 3_000_000))
    assert end.code == 0


def test_a_child_that_asks_without_reading_the_answers_is_slowed_and_grows_nothing():
    call = '{"type":"solver_call","id":"' + "x" * 100 + '"}'
    text = f"import sys\nwhile True: sys.stdout.write({call!r} + '\\n')"
    stop = StopRequest()
    asked: list[str] = []
    ended: list[object] = []
    callbacks = ChildCallbacks(on_solver_call=accept(asked))
    thread = threading.Thread(
        target=lambda: ended.append(
            supervise(python(text), ChildConversation(b"", callbacks=callbacks), Counted(), stop)
        )
    )
    thread.start()
    counts: list[int] = []

    def is_steady() -> bool:
        counts.append(len(asked))
        return len(counts) > 50 and counts[-1] == counts[-50] > 0

    until(is_steady)
    stop.request(StopReason.CANCEL)
    thread.join()
    stop.close()
    assert len(asked) < 10_000
    assert len(ended) == 1


def test_a_flood_is_read_in_bounded_memory():
    text = "import os\nchunk = b'x' * 1_000_000\nwhile True: os.write(1, chunk)"
    stop = StopRequest()

    class Flood(Counted):
        def stdout(self, chunk: bytes) -> None:
            super().stdout(chunk)
            if self.size > 1_000_000_000:
                stop.request(StopReason.CANCEL)

    flood = Flood()
    tracemalloc.start()
    try:
        end = supervise(python(text, grace=0.05), sink=flood, stop=stop)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        stop.close()
    assert end.stopped is StopReason.CANCEL
    assert flood.size > 1_000_000_000
    assert peak < 20_000_000


def test_lines_of_ten_megabytes_are_cut_and_messages_after_them_count():
    text = 'print(\'x\' * 10_000_000)\nprint(\'{"type":"usage","tokens":3}\')'
    end = supervise(python(text), sink=Counted())
    assert (end.lines_cut, end.tokens, end.code) == (1, 3, 0)


@pytest.mark.parametrize("tokens", ["-1", "1.5", "true", '"3"', "1e400", "99999999999999999999"])
def test_a_child_that_lies_about_tokens_is_killed_and_nothing_of_it_is_counted(tokens):
    text = f'print(\'{{"type":"usage","tokens":{tokens}}}\', flush=True)\n{WAIT}'
    end = supervise(python(text))
    assert (end.stopped, end.tokens, end.code) == (StopReason.PROTOCOL, 0, -signal.SIGKILL)
    assert end.refusal is not None
    assert end.refusal.code == "URM_CHILD_PROTOCOL_INVALID"


def test_a_child_over_its_budget_is_killed_and_its_later_messages_count_no_more():
    text = 'for _ in range(9): print(\'{"type":"usage","tokens":5}\')\nimport sys; sys.stdout.flush()\n' + WAIT
    spent: list[int] = []

    def debit(tokens: int) -> bool:
        if sum(spent) + tokens > 12:
            return False
        spent.append(tokens)
        return True

    end = supervise(python(text), ChildConversation(callbacks=ChildCallbacks(on_usage=debit)))
    assert (end.stopped, end.tokens, spent) == (StopReason.BUDGET, 10, [5, 5])


def test_an_error_of_a_callback_ends_the_child_and_is_raised_when_it_is_gone():
    pids: list[int] = []

    def fail(text: str) -> None:
        pids.append(int(text))
        raise RuntimeError("no database")

    text = f"import json, os\nprint(json.dumps({{'type': 'progress', 'text': str(os.getpid())}}), flush=True)\n{WAIT}"
    with pytest.raises(RuntimeError, match="no database"):
        supervise(python(text), ChildConversation(callbacks=ChildCallbacks(on_progress=fail)))
    assert not is_alive(pids[0])


def test_a_second_result_is_refused():
    end = supervise(python('for _ in range(2): print(\'{"type":"result","output":1}\')'))
    assert end.refusal is not None
    assert end.stopped is StopReason.PROTOCOL


def test_runs_leave_no_descriptor_open():
    supervise(python("pass"))
    before = open_descriptors()
    for _ in range(3):
        supervise(python("print(1)"), ChildConversation(b"x\n"))
    assert open_descriptors() == before
