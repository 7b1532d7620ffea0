"""`leasehold worker` and `leasehold orchestrate` as real processes, with real signals."""

import re
import signal
import time

import pytest

from leasehold import Leasehold
from leasehold.cli.options import ExitCode
from tests.support.wait import until


def started(processes, *words):
    worker = processes.start("worker", "tests.support.apps.app:app", *words)
    until(lambda: worker.has_logged("worker_started"))
    return worker


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_finishes_what_runs_and_ends_well_on_a_signal(processes, app, tmp_path, number):
    worker = started(processes, "--queue", "hold=2")
    job = app.submit("hold", {"name": "gate"})
    until((tmp_path / "journal").exists)  # what is leased and has not begun would be given back
    worker.signal(number)
    until(lambda: worker.has_logged("worker_stopping"))
    (tmp_path / "gate-gate").touch()
    assert (worker.end(), job.status) == (0, "DONE")


def test_a_second_signal_makes_a_worker_leave_at_once(processes, app, tmp_path):
    worker = started(processes, "--queue", "hold", "--grace", 600)
    job = app.submit("stubborn", {"name": "nobody opens this"})
    until((tmp_path / "journal").exists)  # what is leased and has not begun would be given back
    worker.signal(signal.SIGTERM)
    until(lambda: worker.has_logged("worker_stopping"))
    worker.signal(signal.SIGTERM)
    assert (worker.end(), job.status) == (1, "RUNNING")


def test_an_orchestrator_moves_work_without_running_any_and_ends_well(processes, app):
    orchestrator = processes.start("orchestrate", "--log-level", "debug")
    job = app.submit("greet", {"name": "Ada"}, delay=0.05)
    until(lambda: job.status == "READY")
    orchestrator.signal(signal.SIGTERM)
    assert orchestrator.end() == 0


def test_the_url_of_the_command_line_is_the_one_the_module_gets(processes, tmp_path):
    (tmp_path / "shop.py").write_text("from leasehold import Leasehold\napp = Leasehold()\n@app.job\ndef act(): ...\n")
    url = f"sqlite:///{tmp_path}/other.db"
    worker = processes.start("worker", "shop:app", "--url", url, cwd=tmp_path)
    until(lambda: worker.has_logged("worker_started"))
    other = Leasehold(url)
    assert other.submit("act").wait(60).status == "DONE"
    other.close()
    worker.signal(signal.SIGTERM)
    assert worker.end() == 0


SLOW_START = """
import pathlib, threading

from leasehold import Leasehold, Retry

pathlib.Path("imports").open("a").write("x")
while not pathlib.Path("gate").exists():
    threading.Event().wait(0.01)
app = Leasehold()


@app.job(isolated=True, timeout=1, retry=Retry(attempts=1))
def quick():
    return "in time"
"""


def test_the_time_out_of_an_isolated_handler_counts_from_its_call(processes, app, tmp_path):
    (tmp_path / "slow.py").write_text(SLOW_START)
    gate, imports = tmp_path / "gate", tmp_path / "imports"
    gate.touch()
    worker = processes.start("worker", "slow:app", cwd=tmp_path)
    until(lambda: worker.has_logged("worker_started"))
    gate.unlink()
    job = app.submit("quick")
    until(lambda: imports.read_text() == "xx")  # that of the worker, and that of the process
    began = time.monotonic()
    until(lambda: time.monotonic() > began + 2)
    gate.touch()
    assert job.wait(timeout=60).output == "in time", job.failure


LOGGING = """
import logging, sys

from leasehold import Leasehold

app = Leasehold()
log = logging.getLogger("shop")


@app.job(isolated=True)
def salute(task, name: str):
    task.log.info("of the task")
    log.info("hello %s", name)
    log.debug("not wanted")
    return name
"""
OWN = 'handler = logging.StreamHandler()\nhandler.setFormatter(logging.Formatter("own: %(message)s"))\n'


def log_of_an_isolated_handler(processes, app, tmp_path, module):
    (tmp_path / "shop.py").write_text(module)
    worker = processes.start("worker", "shop:app", cwd=tmp_path)
    until(lambda: worker.has_logged("worker_started"))
    assert app.submit("salute", {"name": "Ada"}).wait(timeout=60).output == "Ada"
    return worker.log.splitlines()


def test_what_an_isolated_handler_logs_has_time_and_level_like_the_lines_of_its_worker(processes, app, tmp_path):
    lines = log_of_an_isolated_handler(processes, app, tmp_path, LOGGING)
    own = [line for line in lines if "hello" in line or "of the task" in line]
    begin = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} INFO "
    assert len(own) == 2
    assert re.fullmatch(begin + r"leasehold\.task of the task job=\d+ task=\d+ route=salute attempt=1", own[0])
    assert re.fullmatch(begin + "shop hello Ada", own[1])
    assert not any("not wanted" in line for line in lines)


def test_a_worker_logs_why_an_attempt_failed_and_its_traceback_when_asked_to(processes, app, tmp_path):
    for option in ([], ["--tracebacks"]):
        worker = started(processes, "--queue", "default", *option)
        job = app.submit("refused").wait(timeout=60)
        worker.signal(signal.SIGTERM)
        assert worker.end() == 0
        assert f"job={job.id} " in worker.log
        assert "error='Permanent: not with me'" in worker.log
        assert ('raise Permanent("not with me")' in worker.log) == bool(option)


@pytest.mark.parametrize(
    "way", ["logging.getLogger().addHandler(handler)", "log.addHandler(handler); log.propagate = False"]
)
def test_a_program_that_has_lines_written_itself_gets_each_of_them_as_often_as_in_its_worker(
    processes, app, tmp_path, way
):
    module = f"{LOGGING}{OWN}{way}\nlog.info('imported')\n"
    lines = log_of_an_isolated_handler(processes, app, tmp_path, module)
    assert [line[-8:] for line in lines].count("imported") == 2 * [line[-9:] for line in lines].count("hello Ada")
    assert "own: hello Ada" in lines


@pytest.mark.parametrize("words", [["worker", "own:app"], ["submit", "act", "--app", "own:app"]])
def test_a_url_that_the_app_would_ignore_is_refused(processes, tmp_path, words):
    own = f"sqlite:///{tmp_path}/own.db"
    (tmp_path / "own.py").write_text(
        f"from leasehold import Leasehold\napp = Leasehold({own!r})\n@app.job\ndef act(): ...\n"
    )
    result = processes.run(*words, "--url", f"sqlite:///{tmp_path}/other.db", cwd=tmp_path)
    assert (result.returncode, result.stderr.partition(":")[0]) == (ExitCode.MISUSE, "error MISUSE")
    assert "'own:app' names its own URL" in result.stderr
    assert "or drop --url" in result.stderr
    assert not list(tmp_path.glob("o*.db"))
    assert processes.run("submit", "act", "--app", "own:app", "--url", own, cwd=tmp_path).returncode == 0


BAD_APPS = {
    "no name": (":app", "write it like shop.jobs:app"),
    "no module": ("nowhere.jobs:app", "There is no module 'nowhere'"),
    "no attribute": ("shop:queue", "'shop' has no 'queue'. Its apps: app, second."),
    "no app": ("shop:number", "is of type int"),
    "import inside fails": ("needy:app", "No module named 'nowhere_at_all'; install what is missing"),
    "module raises": ("broken:app", "broken.py, line 1: ZeroDivisionError: division by zero"),
    "module ends the process": ("leaving:app", "leaving.py, line 2: SystemExit: 0."),
    "module ends the process without a word": ("silent:app", "silent.py, line 1: SystemExit."),
}
MODULES = {
    "shop": "from leasehold import Leasehold\nnumber, app, second = 1, Leasehold(), Leasehold()\n",
    "needy": "import nowhere_at_all\n",
    "broken": "1 / 0\n",
    "leaving": "import sys\nsys.exit(0)\n",
    "silent": "raise SystemExit\n",
    "empty": "from leasehold import Leasehold\napp = Leasehold()\n",
}


@pytest.mark.parametrize(("name", "hint"), BAD_APPS.values(), ids=BAD_APPS)
def test_an_app_that_cannot_be_had_is_refused_with_what_to_do(processes, tmp_path, name, hint):
    for module, text in MODULES.items():
        (tmp_path / f"{module}.py").write_text(text)
    result = processes.run("worker", name, cwd=tmp_path)
    assert (result.returncode, result.stderr.partition(":")[0]) == (ExitCode.MISUSE, "error APP_INVALID")
    assert hint in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--queue", "nobody"], "QUEUE_UNSERVED"),
        (["--queue", "hold=many"], "OPTION_INVALID"),
        (["--queue", "hold=0"], "OPTION_INVALID"),
        (["--queue", "Hold It"], "NAME_INVALID"),
        (["--concurrency", "0"], "OPTION_INVALID"),
        (["--grace", "-1"], "OPTION_INVALID"),
    ],
)
def test_a_worker_that_cannot_work_as_asked_does_not_start(processes, words, code):
    result = processes.run("worker", "tests.support.apps.app:app", *words)
    assert (result.returncode, result.stderr.partition(":")[0]) == (ExitCode.MISUSE, f"error {code}")
