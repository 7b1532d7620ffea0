"""What follows a failed attempt: tried again after a recorded delay, within its attempts, or ended with its cause."""

import json

import pytest

from leasehold import Cancelled, Permanent, Retry, Transient
from leasehold.errors import DatabaseUnavailable
from leasehold.model.limits import DELAY_SECONDS_MAX
from leasehold.model.retry import jitter_of
from leasehold.testing import Clock, drain
from tests.support.db import check_journal, check_places, names, rows


@pytest.fixture
def clock(app):
    return Clock(app)


def delays(url, job):
    """Return the delays in seconds of a job's retries, as the journal has them."""
    found = rows(url, f"SELECT detail FROM event WHERE name = 'retried' AND task_id = {job.id} ORDER BY id")  # noqa: S608
    return [json.loads(detail)["delay_us"] / 1_000_000 for (detail,) in found]


def test_an_unknown_exception_is_tried_again_until_the_attempts_are_spent(app, clock, url):
    """S12: the fifth claim of a task is its last."""

    @app.job
    def broken():
        raise OSError("disk on fire")

    job = broken.submit()
    drain(app, clock)
    assert job.status == "ERROR"
    assert job.failure["error_class"] == "UNCLASSIFIED"
    assert "disk on fire" in job.failure["message"]
    assert "test_retry.py" in job.failure["stack"]
    assert names(url, job.id) == ["submitted", *["claimed", "retried", "advanced"] * 4, "claimed", "failed"]
    check_places(url)
    check_journal(url)


def test_the_delay_is_drawn_from_a_seed_that_the_journal_keeps(app, clock, url):
    @app.job
    def broken():
        raise OSError("no")

    job = broken.submit(key="k")
    drain(app, clock)
    found = rows(url, "SELECT detail, attempt FROM event WHERE name = 'retried' ORDER BY id")
    details = [json.loads(detail) for detail, _ in found]
    assert [attempt for _, attempt in found] == [1, 2, 3, 4]
    assert len({detail["seed"] for detail in details}) == 4
    for ceiling, detail in zip([1, 2, 4, 8], details, strict=True):
        assert detail["delay_us"] == round(ceiling * jitter_of(detail["seed"]) * 1_000_000)
        assert detail["error_class"] == "UNCLASSIFIED"
    assert len(delays(url, job)) == 4


def test_the_delay_that_a_handler_asks_for_is_kept_up_to_the_limit_of_a_delay(app, clock, url):
    @app.job(retry=Retry(attempts=2))
    def waits(seconds: float):
        raise Transient("busy", retry_after=seconds)

    jobs = [waits.submit({"seconds": seconds}) for seconds in (30, 86_400, 1e308)]
    drain(app, clock)
    assert [delays(url, job) for job in jobs] == [[30], [86_400], [DELAY_SECONDS_MAX]]
    assert jobs[0].failure["error_class"] == "TRANSIENT"


def test_permanent_ends_a_task_at_once_and_so_does_a_bug(app, url):
    known: dict[str, int] = {}

    @app.job
    def refuses():
        raise Permanent("unknown customer")

    @app.job
    async def wrong():
        return known["missing"]

    first, second = refuses.submit(), wrong.submit()
    app.drain()
    assert (first.status, first.failure["error_class"]) == ("ERROR", "PERMANENT")
    assert (second.status, second.failure["error_class"]) == ("ERROR", "BUG")
    assert names(url, first.id) == names(url, second.id) == ["submitted", "claimed", "failed"]


@pytest.mark.parametrize("error", [TimeoutError("t"), ConnectionResetError("c"), DatabaseUnavailable("d"), Transient()])
def test_what_may_pass_is_tried_again(app, clock, error):
    @app.job(retry=Retry(attempts=2))
    def flaky(task):
        if task.attempt == 1:
            raise error
        return "through"

    job = flaky.submit()
    drain(app, clock)
    assert job.output == "through"


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
@pytest.mark.parametrize("colour", ["async", "sync"])
def test_a_handler_that_wants_to_end_the_process_ends_only_its_attempt(app, clock, error, colour):
    if colour == "async":

        @app.job(name="leaves", retry=Retry(attempts=2))
        async def leaves(task):
            if task.attempt == 1:
                raise error
    else:

        @app.job(name="leaves", retry=Retry(attempts=2))
        def leaves(task):
            if task.attempt == 1:
                raise error

    @app.job
    def other(): ...

    first, second = leaves.submit(), other.submit()
    drain(app, clock)
    assert (first.status, second.status) == ("DONE", "DONE")


def test_a_handler_that_raises_cancelled_ends_its_task_cancelled(app):
    @app.job
    def stops(text: str):
        raise Cancelled(text)

    jobs = [stops.submit({"text": text}) for text in ("enough", "x" * 10_000, "")]

    @app.job
    def hostile():
        raise Cancelled("nul \0 and \ud800")

    jobs.append(hostile.submit())
    app.drain()
    assert [job.status for job in jobs] == ["CANCELLED"] * 4
    assert "enough" in jobs[0].failure["message"]


HOSTILE = {
    "nul": "before \0 after",
    "surrogate": "before \ud800 after",
    "ten megabytes": "x" * 10_000_000,
    "escapes": "\x1b[31mred\r\n",
}


class Unspeakable(Exception):
    def __str__(self):
        raise ValueError("no details")


@pytest.mark.parametrize("name", [*HOSTILE, "no text at all", "absurd retry_after"])
@pytest.mark.parametrize("colour", ["async", "sync"])
def test_any_exception_can_be_recorded(app, name, colour):
    def error():
        if name == "no text at all":
            return Unspeakable()
        if name == "absurd retry_after":
            return Transient("never", retry_after=10**400)
        return RuntimeError(HOSTILE[name])

    if colour == "async":

        @app.job(name="hostile", retry=Retry(attempts=1))
        async def hostile():
            raise error()
    else:

        @app.job(name="hostile", retry=Retry(attempts=1))
        def hostile():
            raise error()

    job = hostile.submit()
    app.drain(timeout=60)
    assert job.status == "ERROR"
    assert type(error()).__name__ in job.failure["message"]
    assert len(job.failure["message"]) < 5_000


def nested(depth):
    value: list = []
    for _ in range(depth):
        value = [value]
    return value


def ring():
    value: list = []
    value.append(value)
    return value


RESULTS = {
    "not a number": (lambda: float("nan"), "PAYLOAD_INVALID"),
    "nul": (lambda: "a\0b", "PAYLOAD_INVALID"),
    "surrogate": (lambda: {"a": "\udfff"}, "PAYLOAD_INVALID"),
    "an object": (object, "PAYLOAD_INVALID"),
    "50 MB": (lambda: "x" * 50_000_000, "PAYLOAD_TOO_LARGE"),
    "depth 100,000": (lambda: nested(100_000), "PAYLOAD_TOO_DEEP"),
    "itself": (ring, "PAYLOAD_TOO_DEEP"),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_that_cannot_be_kept_ends_the_task_with_the_code_and_others_go_on(app, name):
    make, code = RESULTS[name]

    @app.job
    def bad():
        return make()

    @app.job
    async def worse():
        return make()

    @app.job
    def good():
        return {"fine": True}

    jobs = [bad.submit(), worse.submit(), good.submit()]
    app.drain(timeout=60)
    assert [job.status for job in jobs] == ["ERROR", "ERROR", "DONE"]
    assert [job.failure["error_class"] for job in jobs[:2]] == [code, code]


def test_the_largest_result_is_kept_whole(app):
    @app.job
    def large():
        return "x" * (1024 * 1024 - 2)

    jobs = [large.submit() for _ in range(12)]
    app.drain()
    assert {len(job.output) for job in jobs} == {1024 * 1024 - 2}
