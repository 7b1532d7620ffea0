"""The relay with real providers: each message once, whatever answers are lost, and nothing sent blindly."""

import threading
import time
from contextlib import closing, contextmanager

import pytest

from leasehold import Retry, Transient, canonical
from leasehold.model.delivery import Absent, NotSent, Refused, Sent, Unknown
from leasehold.providers import Folder, Smtp, Webhook
from leasehold.runtime.worker import Worker
from leasehold.store import open_store
from leasehold.testing import Clock, drain
from tests.providers.mail_server import DROP, MailServer
from tests.providers.receiver import Receiver, Response
from tests.support.apps.deliveries import PROVIDER, Noted, change, fields, post, write
from tests.support.db import rows
from tests.support.processes.local_worker import plan_of, run_worker
from tests.support.wait import until

AT_ONCE = Retry(attempts=5, delay_initial=0)
FOUND = Response(200, b'{"id": "m-9"}')
TAKEN = Response(202, b'{"id": "m-1"}')


def mailing(app):
    @app.job(retry=AT_ONCE)
    def review(task, recipients: list, fail: int = 0):
        for recipient in recipients:
            task.deliver(
                "change-17", recipient, 1, {"title": "Change 17", "text": "Three findings."}, provider=PROVIDER
            )
        if task.attempt <= fail:
            raise Transient("not yet")
        return len(recipients)

    return review


def provide(app, provider, **options):
    """Register a provider that records its calls. A pause is one that a stopped clock can be moved over."""
    calls = []
    noted = Noted(provider, lambda *words: calls.append(words))
    app.deliveries.provider(PROVIDER, noted, retry=Retry(**{"attempts": 5, "delay_initial": 1} | options))
    return calls


def statuses(app):
    return {one.recipient: one.status.value for one in app.deliveries.list(limit=1_000)}


def hook(receiver, **options):
    return Webhook(receiver.url + "/letters", allow_private=True, **options)


@contextmanager
def relaying(app, url):
    """Run a worker with the app's providers."""
    with run_worker(url, app.job(lambda: None, name="idle"), providers=app.deliveries.providers) as worker:
        yield worker


def known(app):
    """A kind that is never submitted, so that an app may drain."""
    return app.job(name="idle")(lambda: None)


def test_what_a_task_delivers_is_sent_after_its_end_and_marked_with_the_providers_id(app, tmp_path):
    provide(app, Folder(tmp_path / "letters"))
    job = mailing(app).submit({"recipients": ["ada@example.org", "bob@example.org"]})
    app.drain(timeout=60)
    messages = fields(tmp_path / "letters")
    assert sorted(message["recipient"] for message in messages) == ["ada@example.org", "bob@example.org"]
    found = app.deliveries.list(subject="change-17")
    assert {one.notification_id for one in found} == {f"{message['token']}.json" for message in messages}
    assert all(one.status == "sent" and one.notified_at and one.task_id == job.id for one in found)
    assert app.deliveries.complete("change-17", 1, ["ada@example.org", "bob@example.org"])
    assert not app.deliveries.complete("change-17", 1, ["ada@example.org", "eve@example.org"])
    assert not app.deliveries.complete("change-18", 1)


def test_an_attempt_that_fails_delivers_nothing_and_the_one_that_succeeds_delivers_once(app, tmp_path):
    calls = provide(app, Folder(tmp_path / "letters"))
    job = mailing(app).submit({"recipients": ["ada@example.org"], "fail": 2})
    app.drain(timeout=60)
    assert (job.output, calls) == (1, [("send", "ada@example.org")])


def test_an_isolated_handler_delivers_with_its_end(app, workers, url):
    workers.start()
    job = app.submit("apart", {"act": "deliver"})
    assert job.wait(timeout=60).status == "DONE"
    found = rows(url, "SELECT recipient, message, provider, status FROM delivery ORDER BY id")
    message = canonical.encode({"text": "é"})
    assert found == [(f"{name}@example.org", message, "mail", "pending") for name in ("ada", "bob")]


def test_a_recipient_who_is_refused_fails_alone(app):
    def reply(request):
        return Response(400, b"no such user") if b"eve@" in request.body else TAKEN

    with Receiver(reply) as receiver:
        provide(app, hook(receiver))
        mailing(app).submit({"recipients": ["ada@example.org", "eve@example.org", "bob@example.org"]})
        app.drain(timeout=60)
    assert statuses(app) == {"ada@example.org": "sent", "eve@example.org": "failed", "bob@example.org": "sent"}
    (failed,) = app.deliveries.list(status="failed")
    assert failed.failure["error_class"] == "DELIVERY_REFUSED"
    assert "no such user" in failed.failure["message"]
    assert len(receiver.requests) == 3


def test_what_was_not_taken_is_sent_again_under_the_same_token(app):
    answers = [Response(429, headers={"Retry-After": "0"}), Response(503, headers={"Retry-After": "0"}), TAKEN]
    with Receiver(lambda _: answers.pop(0)) as receiver:
        calls = provide(app, hook(receiver))
        mailing(app).submit({"recipients": ["ada@example.org"]})
        drain(app, Clock(app))
    assert statuses(app) == {"ada@example.org": "sent"}
    assert {request.headers["Idempotency-Key"] for request in receiver.requests} == {
        receiver.requests[0].headers["Idempotency-Key"]
    }
    assert calls == [("send", "ada@example.org")] * 3


def test_a_provider_that_is_away_for_good_fails_the_row_when_its_attempts_are_spent(app):
    with Receiver(Response(429)) as receiver:
        provide(app, hook(receiver), attempts=3)
        mailing(app).submit({"recipients": ["ada@example.org"]})
        drain(app, Clock(app))
    assert statuses(app) == {"ada@example.org": "failed"}
    assert len(receiver.requests) == 3


@pytest.mark.parametrize(
    ("look_up", "ending", "sends"), [(FOUND, "sent", 1), (Response(404), "sent", 2), (Response(500), "in_doubt", 1)]
)
def test_s14_a_lost_answer_is_looked_up_before_anything_is_sent_again(app, look_up, ending, sends):
    """The first row of the failure matrix: found means marked without sending, absent means sent, unknown waits."""
    posts = [Response(drops=True), TAKEN]

    with Receiver(lambda request: posts.pop(0) if request.method == "POST" else look_up) as receiver:
        calls = provide(app, hook(receiver, lookup_url=receiver.url + "/letters/{token}"))
        mailing(app).submit({"recipients": ["ada@example.org"]})
        drain(app, Clock(app))
    assert statuses(app) == {"ada@example.org": ending}
    assert [verb for verb, _ in calls].count("send") == sends
    assert [verb for verb, _ in calls][:2] == ["send", "find"]
    assert sum(request.method == "POST" for request in receiver.requests) == sends


def test_s14_a_mail_whose_server_fell_silent_waits_for_a_person_and_is_not_sent_blindly(app):
    clock = Clock(app)
    with MailServer(dot=DROP) as server:
        provide(app, Smtp(host="127.0.0.1", port=server.port, sender="robot@example.org", tls="none"))
        mailing(app).submit({"recipients": ["ada@example.org"]})
        drain(app, clock)
        (found,) = app.deliveries.list(status="in_doubt")
        assert len(server.bodies) == 1
        assert "Plain SMTP cannot be asked" in found.failure["message"]
        server.script["dot"] = "250 2.0.0 Ok: queued as 4XyZ"
        app.deliveries.answer(found.id, sent=False, principal="ada", notes="not in the log")
        drain(app, clock)
        assert len(server.bodies) == 2
    ids = [line for body in server.bodies for line in body.splitlines() if line.lower().startswith(b"message-id")]
    assert ids[0] == ids[1]
    assert app.deliveries.get(found.id).status == "sent"


@pytest.mark.parametrize(("is_there", "ending"), [(True, "sent"), (False, "sent")])
def test_s14_what_is_marked_sent_without_evidence_is_reconciled_with_an_alarm(
    app, url, tmp_path, caplog, is_there, ending
):
    """The second row of the failure matrix: found means backfilled, absent means cleared and sent."""
    folder = Folder(tmp_path / "letters")
    calls = provide(app, folder)
    (one,) = write(app.store, post())
    if is_there:
        folder.send(app.store.deliveries.get(one).to_send)
    change(app.store, one, "status = 'sent', notified_at = 1, due_at = NULL")
    with relaying(app, url):
        until(lambda: app.deliveries.get(one).notification_id)
    assert app.deliveries.get(one).status == ending
    assert [verb for verb, _ in calls] == (["find"] if is_there else ["find", "send"])
    assert len(fields(tmp_path / "letters")) == 1
    alarms = [record for record in caplog.records if record.message.startswith("delivery_suspect")]
    assert [record.levelname for record in alarms] == ["ERROR"]


class Scripted:
    """A provider of a user, that does as the test wants."""

    def __init__(self, sends=(), finds=()):
        self._sends, self._finds = list(sends), list(finds)
        self.sent = 0

    def send(self, message):
        self.sent += 1
        return _act(self._sends)

    def find(self, message, notification_id):
        return _act(self._finds)


def _act(script):
    step = script.pop(0)
    if isinstance(step, BaseException):
        raise step
    return step


class Mute(Exception):
    """An error, or a reason, whose text ends the process."""

    def __str__(self):
        raise SystemExit("mute")


@pytest.mark.parametrize(
    "answer", [None, "4XyZ", Sent(""), Sent(" \n "), SystemExit("stop"), ValueError("what?"), Mute()]
)
def test_a_provider_that_answers_anything_else_has_maybe_sent_it(app, answer):
    provider = Scripted([answer], [Unknown("one"), ValueError("two"), "three"])
    app.deliveries.provider(PROVIDER, provider)
    mailing(app).submit({"recipients": ["ada@example.org"]})
    drain(app, Clock(app))
    assert statuses(app) == {"ada@example.org": "in_doubt"}
    assert provider.sent == 1


def test_a_look_up_whose_answer_cannot_be_read_counts_as_unknown(app):
    provider = Scripted([Mute()], [Mute(), Unknown(Mute()), Sent("  ")])  # type: ignore[arg-type]
    app.deliveries.provider(PROVIDER, provider)
    mailing(app).submit({"recipients": ["ada@example.org"]})
    drain(app, Clock(app))
    assert (statuses(app), provider.sent) == ({"ada@example.org": "in_doubt"}, 1)


@pytest.mark.parametrize("kind", [Refused, NotSent])
def test_a_refusal_whose_text_cannot_be_read_is_still_marked(app, kind):
    silent = type("Silent", (Mute, kind), {})
    provide(app, Scripted([silent("a")]), attempts=1)
    mailing(app).submit({"recipients": ["ada@example.org"]})
    app.drain(timeout=60)
    assert statuses(app) == {"ada@example.org": "failed"}


def test_a_look_up_that_fails_for_a_moment_is_repeated(app):
    provider = Scripted([OSError("reset")], [OSError("reset"), Unknown("busy"), Sent("4XyZ")])
    app.deliveries.provider(PROVIDER, provider)
    mailing(app).submit({"recipients": ["ada@example.org"]})
    app.drain(timeout=60)
    (found,) = app.deliveries.list()
    assert (found.status, found.notification_id, provider.sent) == ("sent", "4XyZ", 1)


def test_what_is_in_doubt_is_settled_by_a_later_look_up(app):
    provider = Scripted([OSError("reset"), Sent("2")], [Unknown("?")] * 3 + [Sent("1")])
    app.deliveries.provider(PROVIDER, provider)
    mailing(app).submit({"recipients": ["ada@example.org"]})
    drain(app, Clock(app))
    (found,) = app.deliveries.reconcile()
    assert (found.status, found.notification_id, provider.sent) == ("sent", "1", 1)
    assert app.deliveries.reconcile() == []


def test_a_secret_in_a_providers_text_is_not_kept(app):
    secret = "sk-" + "a1B2" * 12
    app.deliveries.provider(PROVIDER, Scripted([OSError(f"key {secret}")], [Unknown(f"key {secret}")] * 3))
    mailing(app).submit({"recipients": ["ada@example.org"]})
    drain(app, Clock(app))
    (found,) = app.deliveries.list(status="in_doubt")
    assert secret not in str(found.failure)


def test_a_provider_that_hangs_keeps_its_delivery_claimed_and_lets_the_others_go(app, url, tmp_path):
    over = threading.Event()

    class Slow(Scripted):
        def send(self, message):
            over.wait(60)
            return Sent("late")

    app.deliveries.provider("slow", Slow())
    app.deliveries.provider(PROVIDER, Folder(tmp_path / "letters"))
    slow, fast = write(app.store, post("ada@example.org", provider="slow"), post("bob@example.org"))
    try:
        with relaying(app, url) as worker:
            until(lambda: app.deliveries.get(fast).status == "sent")
            until(lambda: worker.busy == 1)
            assert app.deliveries.get(slow).status == "sending"
            over.set()
            until(lambda: app.deliveries.get(slow).status == "sent")
    finally:
        over.set()


GRACE = 5.0


def test_attempts_and_deliveries_have_one_grace_together_when_a_worker_stops(app, url):
    """Else a service manager that waits a little longer than the grace would kill it while it sends."""
    over, running, sending = (threading.Event() for _ in range(3))

    class Slow(Scripted):
        def send(self, message):
            sending.set()
            over.wait(60)
            return Sent("late")

    @app.job
    def stubborn():
        running.set()
        over.wait(60)

    app.deliveries.provider(PROVIDER, Slow())
    write(app.store, post("ada@example.org"))
    stubborn.submit()
    with closing(open_store(url)) as store:
        worker = Worker(store, plan_of(stubborn, grace=GRACE, providers=app.deliveries.providers))
        worker.start()
        try:
            assert running.wait(60)
            assert sending.wait(60)
            began = time.monotonic()
            assert worker.stop() == 1
            assert GRACE <= time.monotonic() - began < 2 * GRACE
        finally:
            over.set()


def test_a_process_without_the_provider_leaves_its_deliveries_alone(app, url, tmp_path):
    app.deliveries.provider("other", Folder(tmp_path / "letters"))
    ours, theirs = write(app.store, post("ada@example.org", provider="other"), post("bob@example.org"))
    with relaying(app, url):
        until(lambda: app.deliveries.get(ours).status == "sent")
    assert (app.deliveries.get(theirs).status, app.deliveries.get(theirs).attempts) == ("pending", 0)


def test_a_stopped_clock_is_moved_on_to_the_next_try_of_a_delivery(app):
    clock = Clock(app)
    provider = Scripted([NotSent("away", retry_after=250), NotSent("away"), Sent("4XyZ")])
    app.deliveries.provider(PROVIDER, provider, retry=Retry(attempts=3, delay_initial=0))
    mailing(app).submit({"recipients": ["ada@example.org"]})
    began = clock.now
    drain(app, clock)
    assert clock.now == began + 250_000_000
    assert statuses(app) == {"ada@example.org": "sent"}


def test_a_look_up_that_finds_nothing_after_a_crash_sends_once(app):
    provider = Scripted([Sent("1")], [Absent()])
    app.deliveries.provider(PROVIDER, provider)
    known(app)
    (one,) = write(app.store, post())
    change(app.store, one, "status = 'sending', fence = 3, attempts = 1, due_at = 1")
    app.drain(timeout=60)
    assert (app.deliveries.get(one).notification_id, provider.sent) == ("1", 1)
