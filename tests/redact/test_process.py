"""The redactor of a process: registered values, threads, and the second look before a text leaves."""

import base64
import re
import subprocess
import sys
import threading
from pathlib import Path

import mypy.api
import pytest

import leasehold.redact
from leasehold.errors import Broken, Misuse
from leasehold.redact import Policy, RedactionFailed, Redactor, guarded, register, scrub
from tests.redact.test_placeholders import Breaking

VALUE = "registered-by-a-test-of-scrub"


def test_a_registered_value_is_hidden_from_then_on_in_all_forms():
    register(VALUE)
    register(VALUE, VALUE)
    assert scrub(f"a {VALUE} b") == "a [REDACTED:registered#1] b"
    assert VALUE.encode().hex() not in scrub(VALUE.encode().hex())
    assert scrub(base64.b64encode(b"x" + VALUE.encode()).decode()) == "[REDACTED:registered#1]"


def test_a_short_value_is_refused_and_the_others_of_the_call_are_not_taken():
    with pytest.raises(Misuse):
        register("value-beside-a-short-one", "short")
    assert scrub("value-beside-a-short-one") == "value-beside-a-short-one"


def test_threads_that_register_at_once_all_succeed():
    values = [f"value-of-thread-{number:03d}" for number in range(40)]
    threads = [threading.Thread(target=register, args=(value,)) for value in values]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert "value-of-thread" not in scrub(" ".join(values))


def test_a_process_that_registered_nothing_still_hides_what_is_known():
    program = "from leasehold.redact import scrub; print(scrub('password=hunter2 ' + 'registered-by-a-test-of-scrub'))"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert found == "password=[REDACTED:password#1] registered-by-a-test-of-scrub\n"


def test_what_scrub_cannot_clean_it_does_not_return():
    with pytest.raises(RedactionFailed) as failure:
        scrub(Breaking("password=hunter2"))
    assert isinstance(failure.value, Broken)
    with pytest.raises(Misuse):
        scrub(b"password=hunter2")  # type: ignore[arg-type]


def test_a_guarded_text_is_clean_by_the_policy_that_was_asked_for():
    assert guarded("password=hunter2\n") == "password=[REDACTED:password#1]\n"
    assert guarded("mail a@b.example", Redactor(Policy(emails=True))) == "mail [REDACTED:email#1]"


def test_the_guard_blocks_what_cannot_be_cleaned():
    with pytest.raises(RedactionFailed):
        guarded(Breaking("password=hunter2"))


class Forgetful(Redactor):
    """A redactor with a fault: it loses lines."""

    def redact(self, text: str) -> leasehold.redact.Redacted:
        return super().redact(text.replace("\n", " "))


def test_the_guard_blocks_a_redactor_that_loses_lines():
    with pytest.raises(RedactionFailed):
        guarded("one\ntwo", Forgetful())


def test_everything_that_others_use_is_exported():
    values = {"Policy", "Redacted", "RedactionFailed", "Redactor"}
    assert values | {"guarded", "redact_guarded", "register", "registered", "scrub"} == set(leasehold.redact.__all__)


# Each line that ends in `refused` is one way around the redactor.
BYPASS = """
import dataclasses
from leasehold.redact import Redacted, Redactor

def send(text: Redacted) -> None: ...

clean = Redactor().redact("x")
send(clean)
send("password=hunter2")  # refused
send(Redacted("password=hunter2"))  # refused
send(clean.text + "password=hunter2")  # refused
clean.text = "password=hunter2"  # refused
class Forged(Redacted): ...  # refused
"""


def test_s16_only_a_redactor_makes_a_redacted_value_and_every_way_around_it_is_a_type_error(tmp_path):
    (tmp_path / "bypass.py").write_text(BYPASS)
    config = Path(__file__).parents[2] / "pyproject.toml"
    arguments = ["--config-file", str(config), "--cache-dir", str(tmp_path / "cache"), "--follow-imports=silent"]
    report, errors, _ = mypy.api.run([*arguments, str(tmp_path / "bypass.py")])
    refused = {line for line, text in enumerate(BYPASS.splitlines(), 1) if text.endswith("refused")}
    assert {int(found) for found in re.findall(r"bypass\.py:(\d+): error", report)} == refused, report + errors
    with pytest.raises(Misuse):
        leasehold.redact.Redacted("password=hunter2")  # type: ignore[arg-type]
