"""Programs of others, real ones: bounded in time and output, killed as a group, found under absolute paths only."""

import os
import signal
import sys
from pathlib import Path

import pytest

from leasehold.pipelines.shell.programs import (
    Program,
    ProgramFailed,
    ProgramLimits,
    ProgramMissing,
    ProgramOutputTooLarge,
    ProgramTimedOut,
    find_program,
    kept_environment,
    run_program,
    stream_program,
)
from tests.support.wait import until

PLENTY = ProgramLimits(60)
# Prints the number of a child of its own that never ends.
FORKING = "import os, signal, sys\npid = os.fork()\nif pid: print(pid, flush=True)\n"


def python(code: str, *arguments: str, limits: ProgramLimits = PLENTY, stdin: bytes = b"") -> bytes:
    program = Program(sys.executable, {}, ("-I", "-S", "-c", code))
    return run_program(program, Path("/"), arguments, limits, stdin)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_program_gets_its_arguments_input_and_environment_and_nothing_else(monkeypatch):
    monkeypatch.setenv("P4PASSWD", "hunter2-hunter2")
    code = "import os, sys; print(sys.argv[1:], sys.stdin.read(), sorted(set(os.environ) - {'LC_CTYPE'}))"
    assert python(code, "$HOME; echo *", "-x", stdin=b"in") == b"['$HOME; echo *', '-x'] in []\n"
    assert kept_environment(("P4PASSWD", "NOT_SET"), {"A": "b"}) == {"P4PASSWD": "hunter2-hunter2", "A": "b"}


def test_a_program_that_takes_too_long_is_killed():
    with pytest.raises(ProgramTimedOut, match=r"python\S* x had 0.2 seconds"):
        python("import signal; signal.pause()", "x", limits=ProgramLimits(0.2))


def test_a_program_whose_output_is_refused_is_killed_with_its_whole_group():
    def refuse(chunk: bytes) -> None:
        raise RuntimeError(chunk.decode())

    program = Program(sys.executable, {}, ("-I", "-S", "-c", FORKING + "signal.pause()"))
    with pytest.raises(RuntimeError) as refused:
        stream_program(program, Path("/"), (), PLENTY, refuse)
    until(lambda: not is_alive(int(str(refused.value))))


def test_what_a_program_leaves_in_the_background_is_killed_at_its_end():
    pid = python(FORKING + "if pid: sys.exit()\nos.close(1)\nos.close(2)\nsignal.pause()")
    until(lambda: not is_alive(int(pid)))


def test_a_program_that_prints_too_much_is_killed():
    with pytest.raises(ProgramOutputTooLarge, match="may print 1,000 bytes"):
        python("while True: print('x' * 100)", limits=ProgramLimits(60, 1_000))
    assert len(python("print('x' * 999)", limits=ProgramLimits(60, 1_000))) == 1_000


def test_a_failure_names_the_exit_code_and_the_reason_without_secrets_or_arguments():
    code = "import sys; print('first', file=sys.stderr); sys.exit('no password=hunter2 here')"
    with pytest.raises(ProgramFailed, match=r"ended with 1: no password=\[REDACTED:password#1\] here") as failed:
        python(code, "describe", "//depot/private")
    assert "private" not in str(failed.value)
    with pytest.raises(ProgramFailed, match=f"ended with -{signal.SIGKILL.value}"):
        python("import os; os.kill(os.getpid(), 9)")
    with pytest.raises(ProgramFailed, match="holds a NUL"):
        python("", "a\0b")


def test_a_program_is_found_under_an_absolute_path_only(tmp_path, monkeypatch):
    fake = tmp_path / "p4"
    fake.write_text("#!/bin/sh\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f".{os.pathsep}{os.pathsep}relative")
    for name in ("p4", "./p4", "", str(fake)):
        with pytest.raises(ProgramMissing):
            find_program(name)
    fake.chmod(0o755)
    for name in ("p4", "./p4"):
        with pytest.raises(ProgramMissing):
            find_program(name)
    assert find_program(str(fake)) == str(fake)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_program("p4") == str(fake)
