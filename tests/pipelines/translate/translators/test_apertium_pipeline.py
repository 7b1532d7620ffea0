"""Apertium's running programs: shared by threads, started again when they die, ended when they hang, gone with us."""

import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from leasehold import Permanent, Transient
from leasehold.pipelines.translate.translators.apertium.engine import Apertium
from leasehold.pipelines.translate.translators.translator import TranslationRequest
from tests.support.needs import APERTIUM
from tests.support.wait import until

RED = TranslationRequest("The house is red.", "en", "es")
SPANISH = "La casa es roja."
HANGS = "#!/bin/sh\nexec tail -f /dev/null\n"
ENDS = "#!/bin/sh\nexit 3\n"
OWNER = """
import sys
from leasehold.pipelines.translate.translators.translator import TranslationRequest
from leasehold.pipelines.translate.translators.apertium.engine import Apertium
made = Apertium()
assert made.translate(TranslationRequest("The house is red.", "en", "es")).text == "La casa es roja."
print("ready", flush=True)
sys.stdin.read()
"""
FORKS = """
import os
from leasehold.pipelines.translate.translators.translator import TranslationRequest
from leasehold.pipelines.translate.translators.apertium.engine import Apertium
made = Apertium()
made.translate(TranslationRequest("The house is red.", "en", "es"))
child = os.fork()
word, wanted = ("house", "casa") if child else ("cat", "gato")
texts = [made.translate(TranslationRequest(f"The {word} sees {n}.", "en", "es")).text for n in range(300)]
made.close()
for n, text in enumerate(texts):
    assert wanted in text and f" {n}." in text, (n, text)
if child:
    assert os.waitpid(child, 0)[1] == 0
    print("both")
"""


def programs(pid=None):
    return [process for process in psutil.Process(pid).children(recursive=True) if "lt-proc" in process.name()]


@pytest.fixture
def foreign(tmp_path, monkeypatch):
    """Make modes of programs that are not Apertium's; close what used them."""
    (tmp_path / "modes").mkdir()
    monkeypatch.setenv("APERTIUM_DATADIR", str(tmp_path))
    made = []

    def make(script, timeout=60.0):
        program = tmp_path / "program"
        program.write_text(script)
        program.chmod(0o755)
        (tmp_path / "modes" / "eng-spa.mode").write_text(f"{program} '{tmp_path}/x.bin' | {program} $1 $2\n")
        made.append(Apertium(timeout=timeout))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_programs_that_were_killed_between_two_calls_are_started_again(apertium):
    apertium.translate(RED)
    first = programs()
    for process in first:
        process.kill()
    assert apertium.translate(RED).text == SPANISH
    assert not {process.pid for process in first} & {process.pid for process in programs()}


def test_one_program_that_is_killed_takes_no_answer_of_another_text_with_it(apertium):
    apertium.translate(RED)
    for victim in range(3):
        programs()[victim].kill()
        assert apertium.translate(TranslationRequest("A cat.", "en", "es")).text == "Un gato."
        assert apertium.translate(RED).text == SPANISH


def test_threads_that_share_a_translator_each_get_their_own_answer(apertium):
    numbers = range(200)
    with ThreadPoolExecutor(8) as threads:
        made = threads.map(
            lambda n: apertium.translate(TranslationRequest(f"The house {n} is red.", "en", "es")).text, numbers
        )
    assert [str(number) in text.split() for number, text in zip(numbers, made, strict=True)] == [True] * 200
    # Analysis, translation, generation and the last touch: the programs of one pipeline, and not of eight.
    assert len(programs()) == 4


def test_a_closed_translator_leaves_no_process_behind_and_starts_again_when_asked(apertium):
    apertium.translate(RED)
    apertium.translate(TranslationRequest("La casa.", "es", "en"))
    assert programs()
    apertium.close()
    assert programs() == []
    assert apertium.translate(RED).text == SPANISH


def test_programs_that_hang_are_ended_and_the_call_may_be_tried_again(foreign):
    made = foreign(HANGS, timeout=0.2)
    with pytest.raises(Transient) as failed:
        made.translate(RED)
    assert failed.value.error_class == "TRANSLATOR_TIMEOUT"
    assert [process for process in psutil.Process().children() if "tail" in process.name()] == []


def test_programs_that_end_at_once_fail_the_call_after_a_second_try(foreign):
    with pytest.raises(Transient) as failed:
        foreign(ENDS).translate(RED)
    assert failed.value.error_class == "TRANSLATOR_DIED"


def test_a_program_that_is_not_there_is_named_with_the_package_to_install(foreign, tmp_path):
    made = foreign(ENDS)
    (tmp_path / "program").unlink()
    with pytest.raises(Permanent, match="apt install apertium") as failed:
        made.translate(RED)
    assert failed.value.error_class == "TRANSLATOR_MISSING"


@APERTIUM.mark
def test_the_programs_of_a_process_that_was_killed_end_by_themselves():
    owner = subprocess.Popen([sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"ready\n"
        started = psutil.Process(owner.pid).children(recursive=True)
        assert len(started) > 4
        os.kill(owner.pid, signal.SIGKILL)
    until(lambda: not psutil.wait_procs(started, timeout=0)[1])


@APERTIUM.mark
def test_a_process_and_its_fork_do_not_read_each_others_answers():
    done = subprocess.run([sys.executable, "-c", FORKS], capture_output=True, check=False, timeout=120)
    assert (done.stdout, done.stderr) == (b"both\n", b"")


def test_a_translator_that_is_closed_while_threads_use_it_hurts_none_of_them(apertium):
    stop = threading.Event()

    def use():
        texts = {apertium.translate(RED).text}
        while not stop.is_set():
            texts.add(apertium.translate(RED).text)
        return texts

    with ThreadPoolExecutor(3) as threads:
        users = [threads.submit(use) for _ in range(3)]
        for _ in range(5):
            until(programs)
            apertium.close()
        stop.set()
        assert [user.result() for user in users] == [{SPANISH}] * 3
