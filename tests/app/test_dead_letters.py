"""`app.deadletters`: the operator's workflow in Python, on real handlers."""

import os
import pwd

import pytest

from leasehold import Permanent, Retry
from leasehold.errors import (
    EffectSettled,
    EffectUnanswered,
    EvidenceMissing,
    InDoubt,
    LetterRevived,
    LetterUnknown,
    NameInvalid,
    OptionInvalid,
)
from leasehold.insight.read.revival_plan import EffectFate, Fate
from leasehold.model.limits import PAGE_MAX
from leasehold.store.audit import principal_of

SECRET = "hunter2"  # noqa: S105 — what must not be seen


class Shop:
    """A pipeline whose handlers fail until they are repaired."""

    def __init__(self, app):
        self.app = app
        self.ran = []
        self.acted = []
        self.broken = {"llm"}
        review = app.pipeline("review")

        @review.stage
        def fetch(task, change: str):
            return self.run(task, "fetch")

        @review.stage(after=fetch)
        def llm(task, change: str):
            return self.run(task, "llm")

        @review.stage(after=llm)
        def notify(task, change: str):
            return self.run(task, "notify")

    def run(self, task, stage):
        self.ran.append(stage)
        for step in ("begin", "end"):
            task.effect("STEP", lambda step=step: self.acted.append((stage, step)), step=step, stage=stage)
            if step == "begin" and stage in self.broken:
                raise Permanent(f"the key {SECRET} was refused", error_class="AUTH_DENIED")
        return stage

    def fail(self, key="k"):
        job = self.app.submit("review", {"change": SECRET}, key=key)
        self.app.drain(timeout=60)
        assert job.status == "ERROR"
        return job, next(one for one in self.app.deadletters.list() if one.job_id == job.id)


@pytest.fixture
def shop(app):
    return Shop(app)


def test_the_whole_workflow_from_the_failure_to_the_closed_letter(app, shop):
    """S13: it starts at the stage that failed, and what was done before is neither run nor done again."""
    job, letter = shop.fail()
    shop.broken.clear()
    with pytest.raises(EvidenceMissing):
        app.deadletters.revive(letter.id)
    app.deadletters.evidence(letter.id, "rotated the key", ticket="OPS-7", principal="ada")
    done = app.deadletters.revive(letter.id, principal="ada")
    assert (done.job_id, done.epoch) == (job.id, 2)
    assert job.status == "RUNNING"
    app.drain(timeout=60)
    assert (job.status, job.output) == ("DONE", {"notify": "notify"})
    assert shop.ran == ["fetch", "llm", "llm", "notify"]
    assert shop.acted.count(("llm", "begin")) == 1
    app.deadletters.resolve(letter.id, "mailed", principal="bob")
    history = app.deadletters.get(letter.id).history
    assert [(action.principal, action.action) for action in history[0].actions] == [
        ("ada", "evidence"),
        ("ada", "revive"),
        ("bob", "resolve"),
    ]
    assert history[0].actions[0].detail == {"text": "rotated the key", "ticket": "OPS-7"}


def test_s16_a_letter_shows_codes_counts_and_short_hashes_and_never_the_payload_or_the_message(app, shop):
    job, letter = shop.fail("order of " + SECRET)
    dossier = app.deadletters.get(letter.id)
    context = dossier.sanitized_context
    assert context.keys() == {
        "job_id", "task_id", "kind", "stage", "segment", "attempts", "attempts_max", "fence", "epoch", "error_class",
        "losses", "payload_sha256", "key_sha256",
    }  # fmt: skip
    assert (context["job_id"], context["stage"], context["error_class"]) == (job.id, "llm", "AUTH_DENIED")
    assert len(context["payload_sha256"]) == len(context["key_sha256"]) == 16
    assert SECRET not in str(context)
    assert "Permanent" in dossier.last_stack
    assert (letter.stage, letter.attempts, letter.epoch, letter.state) == ("llm", 1, 1, "open")


def test_a_plan_lists_what_runs_what_is_kept_and_what_becomes_of_each_effect(app, shop):
    _, letter = shop.fail()
    plan = app.deadletters.plan(letter.id)
    assert [(one.stage, one.fate, one.note) for one in plan.stages] == [
        ("fetch", Fate.KEPT, ""),
        ("llm", Fate.RUNS, ""),
        ("notify", Fate.RUNS, "after 'llm'"),
    ]
    assert [(one.stage, one.fate) for one in plan.effects] == [("llm", EffectFate.REUSED)]
    assert plan.refusal_code == "EVIDENCE_MISSING"
    app.deadletters.evidence(letter.id, "done")
    restart = app.deadletters.plan(letter.id, from_start=True)
    assert restart.refusal is None
    assert {one.fate for one in restart.stages} == {Fate.RUNS}
    assert [one.stage for one in restart.effects] == ["fetch", "fetch", "llm"]
    assert app.deadletters.get(letter.id).letter.state == "open"


def test_from_the_start_every_stage_runs_again_and_recorded_effects_are_reused(app, shop):
    """S4: what is on record is returned without being done again."""
    job, letter = shop.fail()
    shop.broken.clear()
    app.deadletters.evidence(letter.id, "new prompt")
    app.deadletters.revive(letter.id, from_start=True)
    app.drain(timeout=60)
    assert job.status == "DONE"
    assert shop.ran == ["fetch", "llm", "fetch", "llm", "notify"]
    assert len(shop.acted) == len(set(shop.acted)) == 6


def test_many_letters_are_remedied_and_revived_by_filter_each_for_itself(app, shop):
    failed = [shop.fail(str(number)) for number in range(4)]
    ids = [letter.id for _, letter in failed]
    app.deadletters.evidence(ids[0], "only this one")
    dry = app.deadletters.revive_many(error_class="AUTH_DENIED", dry_run=True)
    assert (dry.done, {one.code for one in dry.refused}) == ([ids[0]], {"EVIDENCE_MISSING"})
    assert {letter.state for letter in app.deadletters.list()} == {"open"}
    assert app.deadletters.evidence_many("rotated the key", kind="review", stage="llm").done == ids[::-1]
    shop.broken.clear()
    assert app.deadletters.revive_many(kind="review", limit=3).done == ids[:0:-1]
    report = app.deadletters.revive_many(kind="review")
    assert (report.done, report.refused) == ([ids[0]], [])
    app.drain(timeout=60)
    assert [job.status for job, _ in failed] == ["DONE"] * 4


def test_the_same_failure_again_is_escalated_with_both_histories(app, shop):
    job, letter = shop.fail()
    app.deadletters.evidence(letter.id, "restarted it")
    app.deadletters.revive(letter.id)
    app.drain(timeout=60)
    (again,) = app.deadletters.list(escalated=True)
    assert (again.job_id, again.epoch, again.state) == (job.id, 2, "open")
    chapters = app.deadletters.get(again.id).history
    assert [(one.letter.epoch, len(one.actions)) for one in chapters] == [(1, 2), (2, 0)]


def in_doubt(app):
    """Run a handler whose effect is intended and never heard of again; return its letter and what was acted."""
    acted = []

    @app.job(retry=Retry(attempts=3, delay_initial=0))
    def send(task):
        return task.effect("SEND", lambda: act(task))

    def act(task):
        if task.lease.fence == 1:
            raise InDoubt("the connection broke after the last byte")
        acted.append(task.lease.fence)
        return "sent"

    app.submit("send")
    app.drain(timeout=60)
    (letter,) = app.deadletters.list(error_class="EFFECT_IN_DOUBT")
    app.deadletters.evidence(letter.id, "looked into the mailbox")
    return letter, acted


@pytest.mark.parametrize("happened", [True, False])
def test_an_effect_in_doubt_is_answered_by_a_person_and_then_the_task_goes_on(app, happened):
    """S14: it is never repeated blindly."""
    letter, acted = in_doubt(app)
    with pytest.raises(EffectUnanswered):
        app.deadletters.revive(letter.id)
    (doubtful,) = app.deadletters.plan(letter.id).effects
    assert doubtful.fate is EffectFate.ASKED
    with pytest.raises(OptionInvalid):
        app.deadletters.answer(letter.id, doubtful.key[:4], happened=True)
    with pytest.raises(EffectSettled):
        app.deadletters.answer(letter.id, "f" * 20, happened=True)
    app.deadletters.answer(letter.id, doubtful.key[:12], happened=happened, result="manually" if happened else None)
    app.deadletters.revive(letter.id)
    app.drain(timeout=60)
    assert app.get(letter.job_id).output == ("manually" if happened else "sent")
    assert acted == ([] if happened else [3])


def test_the_recorded_user_is_the_user_of_the_process_whatever_its_environment_names(app, shop, monkeypatch):
    """S17: no action without a principal."""
    monkeypatch.setenv("LOGNAME", "somebody else")
    _, letter = shop.fail()
    app.deadletters.evidence(letter.id, "done")
    name = pwd.getpwuid(os.getuid()).pw_name
    assert app.deadletters.get(letter.id).history[0].actions[0].principal == principal_of(None) == name
    with pytest.raises(OptionInvalid):
        app.deadletters.evidence(letter.id, "done", principal="")


def test_what_cannot_be_meant_is_refused_with_a_reason(app, shop):
    _, letter = shop.fail()
    for act, error in (
        (lambda: app.deadletters.get(99), LetterUnknown),
        (lambda: app.deadletters.get(0), OptionInvalid),
        (lambda: app.deadletters.list(state="dead"), OptionInvalid),
        (lambda: app.deadletters.list(kind="NOT A KIND"), NameInvalid),
        (lambda: app.deadletters.list(error_class="lower"), OptionInvalid),
        (lambda: app.deadletters.list(limit=0), OptionInvalid),
        (lambda: app.deadletters.evidence(letter.id, ""), OptionInvalid),
        (lambda: app.deadletters.evidence(letter.id, "x" * 2_001), OptionInvalid),
        (lambda: app.deadletters.evidence(letter.id, " \n "), OptionInvalid),
        (lambda: app.deadletters.evidence(letter.id, "x", ticket=""), OptionInvalid),
        (lambda: app.deadletters.evidence(letter.id, "x", ticket=" "), OptionInvalid),
        (lambda: app.deadletters.evidence_many("  ", kind="review"), OptionInvalid),
        (lambda: app.deadletters.resolve(letter.id, "  "), OptionInvalid),
        (lambda: app.deadletters.answer(letter.id, "f" * 64, happened="no"), OptionInvalid),
        (lambda: app.deadletters.revive_many(limit=0), OptionInvalid),
        (lambda: app.deadletters.revive_many(state="revived"), OptionInvalid),
        (lambda: app.deadletters.resolve(letter.id, ""), OptionInvalid),
        (lambda: app.deadletters.answer(letter.id, "f" * 64, happened=False, result=1), OptionInvalid),
    ):
        with pytest.raises(error):
            act()
    assert app.deadletters.get(letter.id).history[0].actions == []


def test_a_job_that_was_held_in_hand_while_it_was_revived_is_seen_as_it_is(app, shop):
    job, letter = shop.fail()
    assert (job.status, job.failure["error_class"]) == ("ERROR", "AUTH_DENIED")
    shop.broken.clear()
    app.deadletters.evidence(letter.id, "done")
    app.deadletters.revive(letter.id)
    app.drain(timeout=60)
    assert (job.wait(timeout=60).status, job.failure) == ("DONE", None)
    with pytest.raises(LetterRevived):
        app.deadletters.revive(letter.id)


def test_s16_a_secret_in_what_operators_write_is_not_kept(app, shop):
    secret = "sk-" + "a1B2" * 12
    _, letter = shop.fail()
    shop.broken.clear()
    app.deadletters.evidence(letter.id, f"rotated {secret}", ticket=f"OPS-7 {secret}")
    app.deadletters.revive(letter.id)
    app.drain(timeout=60)
    app.deadletters.resolve(letter.id, f"{secret} is gone")
    details = str([action.detail for action in app.deadletters.get(letter.id).history[0].actions])
    assert ("rotated " in details, "OPS-7 " in details, " is gone" in details) == (True, True, True)
    assert secret[:8] not in details


def two_branches(app):
    """Run a job of which two stages fail; return its letters, newest first."""
    twin = app.pipeline("twin")

    @twin.stage
    def left():
        raise Permanent("no", error_class="LEFT")

    @twin.stage
    def right():
        raise Permanent("no", error_class="RIGHT")

    app.submit("twin")
    app.drain(timeout=60)
    app.deadletters.evidence_many("done", kind="twin")
    return [letter.id for letter in app.deadletters.list(kind="twin")]


@pytest.mark.parametrize("first_alone", [True, False])
def test_a_dry_run_from_the_start_refuses_what_the_real_run_refuses(app, first_alone):
    """A job that still runs, or restarts with the letter before, cannot be restarted."""
    newest, oldest = two_branches(app)
    if first_alone:
        app.deadletters.revive(newest)
    dry, real = (
        app.deadletters.revive_many(kind="twin", from_start=True, dry_run=dry_run) for dry_run in (True, False)
    )
    assert (dry.done, [one.code for one in dry.refused]) == (real.done, [one.code for one in real.refused])
    code = "JOB_UNFINISHED" if first_alone else "LETTER_REVIVED"
    assert [(one.letter_id, one.code) for one in dry.refused] == [(oldest, code)]


def test_an_action_on_many_reaches_all_that_match_however_many_and_counts_what_a_limit_keeps_out(app):
    """More letters than one page holds, and one of another kind."""
    for name in ("many", "other"):

        @app.job(name=name)
        def fail(number: int = 0):
            raise Permanent("no", error_class="GATE_SHUT")

    count = PAGE_MAX + 3
    app.submit_many("many", [{"number": number} for number in range(count)])
    app.submit("other")
    app.drain(timeout=120)
    few = app.deadletters.evidence_many("opened it", kind="many", limit=2, principal="ada")
    assert (len(few.done), few.refused, few.left) == (2, [], count - 2)
    found = app.deadletters.revive_many(dry_run=True, kind="many")
    assert (found.done, len(found.refused), found.left) == (few.done, count - 2, 0)
    assert len({one.letter_id for one in found.refused}) == count - 2
    newest = app.deadletters.revive_many(dry_run=True, kind="many", limit=PAGE_MAX + 1)
    assert (len(newest.done) + len(newest.refused), newest.left) == (PAGE_MAX + 1, 2)


@pytest.mark.parametrize("is_async", [False, True], ids=["thread", "loop"])
def test_the_stack_of_a_failure_begins_in_the_handler(app, is_async):
    """The engine's own frames do not show what is wrong."""

    def broken():
        raise Permanent("here")

    async def broken_async():
        raise Permanent("here")

    job = app.submit(app.job(broken_async if is_async else broken, name="broken"))
    app.drain()
    first, _, code = app.get(job.id).failure["stack"].partition("\n")
    assert __file__ in first
    assert 'raise Permanent("here")' in code
