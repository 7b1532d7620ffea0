"""Failures as the engine acts on them, on both databases: how long it waits, when it stops, and what it keeps."""

import json
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx2
import pytest

from leasehold import Leasehold, Permanent, Retry
from leasehold.app.kinds import Pipeline
from leasehold.errors import OptionInvalid
from leasehold.model.failure.verdict import Verdict
from leasehold.testing import Clock, drain
from tests.support.db import check_journal, check_places, names, rows


@pytest.fixture
def clock(app):
    return Clock(app)


class Upstream(ThreadingHTTPServer):
    """A real server that gives its answers one after the other, and the last of them for ever."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Speaking)
        self.answers: list[tuple[int, dict[str, str]]] = [(200, {})]
        self.asked = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/"

    def answer_with(self, *answers: tuple[int, dict[str, str]]) -> None:
        self.answers, self.asked = list(answers), 0

    def next_answer(self) -> tuple[int, dict[str, str]]:
        self.asked += 1
        return self.answers[min(self.asked, len(self.answers)) - 1]


class Speaking(BaseHTTPRequestHandler):
    """Answers as its server is set up to."""

    def do_GET(self) -> None:
        assert isinstance(self.server, Upstream)
        status, headers = self.server.next_answer()
        self.send_response(status)
        for name, value in {**headers, "Content-Length": "0"}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture
def upstream():
    with Upstream() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def get(url: str) -> None:
    httpx2.get(url, trust_env=False).raise_for_status()


def retries(url, task_id):
    """Return the details of a task's retries, as the journal has them."""
    found = rows(url, f"SELECT detail FROM event WHERE name = 'retried' AND task_id = {task_id} ORDER BY id")  # noqa: S608
    return [json.loads(detail) for (detail,) in found]


def test_a_server_that_asks_for_fifteen_minutes_is_asked_again_after_five(app, clock, url, upstream):
    upstream.answer_with((429, {"Retry-After": "900"}), (200, {}))

    @app.job
    def fetch():
        get(upstream.url)

    job = fetch.submit()
    app.drain(wait_for_due=False)
    clock.advance(299)
    app.drain(wait_for_due=False)
    assert upstream.asked == 1
    clock.advance(1)
    app.drain(wait_for_due=False)
    assert (upstream.asked, job.status) == (2, "DONE")
    [detail] = retries(url, job.id)
    assert (detail["delay_us"], detail["error_class"]) == (300_000_000, "RATE_LIMITED")
    assert (detail["server_retry_after"], detail["delay_ceiling"]) == (900, 300), "the journal shows what was cut"
    check_journal(url)


def test_a_failure_that_turns_final_stops_the_retries_at_once(app, clock, url, upstream):
    upstream.answer_with((429, {"Retry-After": "2"}), (403, {"Retry-After": "2", "X-Request-Id": "r-7"}))

    @app.job
    def fetch():
        get(upstream.url)

    job = fetch.submit()
    drain(app, clock)
    assert upstream.asked == 2
    assert (job.status, job.failure["error_class"], job.failure["retryable"]) == ("ERROR", "AUTH_DENIED", False)
    assert job.failure["context"] == {"http_status": 403, "request_id": "r-7", "host": "127.0.0.1", "method": "GET"}
    assert names(url, job.id) == ["submitted", "claimed", "retried", "advanced", "claimed", "failed"]
    check_places(url)


def test_a_date_to_wait_for_becomes_a_delay(app, clock, url, upstream):
    upstream.answer_with((503, {"Retry-After": "Fri, 31 Dec 9999 23:59:59 GMT"}), (200, {}))

    @app.job
    def fetch():
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(upstream.url):
            return "through"

    job = fetch.submit()
    drain(app, clock)
    assert job.output == "through"
    assert [detail["delay_us"] for detail in retries(url, job.id)] == [300_000_000]


def test_a_stage_that_exhausts_its_attempts_takes_none_from_another(app, clock, url, upstream):
    """S12: attempts belong to a stage. Both fail five times over; one of them has more attempts left."""
    film = app.pipeline("film")
    upstream.answer_with((503, {}))

    @film.stage
    def fetch():
        get(upstream.url)

    @film.stage(retry=Retry(attempts=9))
    def sound(task):
        if task.attempt < 9:
            raise TimeoutError("slow")
        return "loud"

    @film.stage(after=sound)
    def notify():
        raise TimeoutError("slow")

    job = film.submit()
    drain(app, clock)
    claims = rows(
        url, "SELECT t.stage, e.attempt FROM event e JOIN task t ON t.id = e.task_id WHERE e.name = 'claimed'"
    )
    spent = {stage: sorted(attempt for of, attempt in claims if of == stage) for stage, _ in claims}
    assert spent == {"fetch": [1, 2, 3, 4, 5], "sound": [*range(1, 10)], "notify": [1, 2, 3, 4, 5]}
    assert job.status == "ERROR"
    check_places(url)
    check_journal(url)


class Declined(Exception):
    """The customer's bank refuses."""


def test_a_job_has_rules_of_its_own(app, clock):
    @app.job(failures={Declined: "POLICY_REJECTED", KeyError: Verdict("SLOW_START", retryable=True, retry_after=7)})
    def pay(task, *, wrong: bool):
        if task.attempt == 1 and not wrong:
            raise KeyError("not there yet")
        if wrong:
            raise Declined("no")
        return "paid"

    @app.job
    def other():
        raise Declined("no")

    paid, refused, unruled = pay.submit({"wrong": False}), pay.submit({"wrong": True}), other.submit()
    drain(app, clock)
    assert paid.output == "paid"
    assert (refused.failure["error_class"], refused.failure["retryable"]) == ("POLICY_REJECTED", False)
    assert unruled.failure["error_class"] == "UNCLASSIFIED"


def test_the_rules_of_a_pipeline_are_those_of_all_its_stages(app):
    film = app.pipeline("film", failures=[lambda error: None, {Declined: "POLICY_REJECTED"}])

    @film.stage
    def first(): ...

    @film.stage(after=first)
    def second():
        raise Declined("not this one")

    assert first.handler.rules == second.handler.rules
    job = film.submit()
    app.drain(timeout=60)
    assert job.failure["error_class"] == "POLICY_REJECTED"


def test_a_rule_that_raises_ends_nothing_and_is_reported(app, clock):
    def broken(error):
        raise SystemExit(error)

    @app.job(failures=broken)
    def pay():
        raise PermissionError(13, "denied")

    @app.job(failures=broken)
    async def pay_later():
        raise Permanent("no")

    jobs = [pay.submit(), pay_later.submit()]
    drain(app, clock)
    assert [job.failure["error_class"] for job in jobs] == ["AUTH_DENIED", "PERMANENT"]
    assert jobs[0].failure["context"]["errno"] == 13
    assert all(job.failure["context"]["rule_error"].startswith("SystemExit") for job in jobs)


# What a child process finds when it imports this file; its database is never opened.
bench = Leasehold("sqlite:///never-opened.db")


@bench.job(isolated=True, failures={Declined: Verdict("CARD_DECLINED", retryable=False)})
def apart():
    """Fails as only its own rules can judge."""
    error = Declined("not with this card")
    error.response = type("Answer", (), {"status_code": 402, "headers": {"X-Request-Id": "r-9"}})()  # type: ignore[attr-defined]
    raise error


def test_an_isolated_handler_is_judged_by_the_same_rules(app):
    """The child judges: what the parent knows of this handler has no rules."""
    kind = app.job(isolated=True)(apart.handler.function)
    assert not kind.handler.rules
    job = kind.submit()
    app.drain(timeout=60)
    assert (job.status, job.failure["error_class"]) == ("ERROR", "CARD_DECLINED")
    assert job.failure["context"] == {"http_status": 402, "request_id": "r-9"}
    assert "not with this card" in job.failure["message"]
    assert "test_failures.py" in job.failure["stack"]


def test_rules_that_cannot_be_meant_are_refused_where_they_are_written(app):
    with pytest.raises(OptionInvalid, match="failures"):
        app.job(failures=5)
    with pytest.raises(OptionInvalid, match="failures"):
        Pipeline(app, "film", failures="BUG")
