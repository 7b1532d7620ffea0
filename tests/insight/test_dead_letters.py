"""A letter's context is built from an allow-list: whatever else a failure holds stays where it is."""

from msgspec import structs

from leasehold import canonical
from leasehold.insight.doctor import Grade, check_letters
from leasehold.insight.read import revival_plan
from leasehold.insight.read.deadletters import context_of
from leasehold.insight.read.revival_plan import EffectFate, Fate
from leasehold.model.effect import done, failed, intend
from leasehold.store.deadletters import DeadLetterSource, LetterRow
from tests.store.deadletters.buried_tasks import bury, letters, only_letter, run
from tests.store.work import claim, finish, pipeline, register, routes_of, stage

LETTER = LetterRow(
    id=7, task_id=9, job_id=8, kind="review", stage="llm", segment=None, epoch=2, fence=3, error_class="AUTH_DENIED",
    attempts=1, attempts_max=5, first_failure_at=1, last_failure_at=2, escalated=False, state="open",
    job_status="ERROR", evidenced=False, unanswered=0, losses=0, failure="{}",
)  # fmt: skip


def context(failure, **changes):
    papers = DeadLetterSource(
        structs.replace(LETTER, **changes), canonical.encode(failure), "the key", '{"card":"4111"}'
    )
    return context_of(papers)


def test_s16_only_known_facts_of_a_failure_reach_the_context():
    facts = {
        "http_status": 503,
        "request_id": "r-1",
        "host": "api.example",
        "rule_error": "hunter2",
        "prompt": "hunter2",
    }
    found = context({"context": facts, "message": "hunter2", "stack": "hunter2"})
    assert (found["http_status"], found["request_id"], found["host"]) == (503, "r-1", "api.example")
    assert "hunter2" not in str(found)
    assert "4111" not in str(found)
    assert "the key" not in str(found)


def test_facts_of_a_shape_that_nobody_wrote_are_left_out():
    assert context({"context": {"host": ["a"], "errno": None}}).keys() == context({}).keys()
    assert context({"context": "hunter2"}).keys() == context({"context": None}).keys()


def test_the_same_payload_has_the_same_short_hash_and_another_one_another():
    assert context({})["payload_sha256"] == context({})["payload_sha256"]
    assert len(context({})["payload_sha256"]) == 16
    other = context_of(DeadLetterSource(LETTER, "{}", "the key", "{}"))
    assert other["payload_sha256"] != context({})["payload_sha256"]
    assert other["key_sha256"] == context({})["key_sha256"]


def test_a_plan_counts_the_segments_that_run_are_kept_are_under_way_and_stay(store):
    worker = register(store)
    pipeline(store, "k", stage("script"), stage("audio", "script", each="scenes"), stage("end", "audio"), stage("free"))
    run(store, worker, routes_of("script"), {"scenes": list(range(6))})
    leases = claim(store, worker, routes=routes_of("audio"))
    finish(store, leases[:2])
    bury(store, leases[2:4])
    first, _ = letters(store)
    plan = revival_plan.make(store, first.id)
    assert [(one.stage, one.fate, one.note) for one in plan.stages] == [
        ("script", Fate.KEPT, ""),
        ("audio", Fate.RUNS, "segment 3"),
        ("audio", Fate.KEPT, "2 of its segments"),
        ("audio", Fate.UNDER_WAY, "2 of its segments"),
        ("audio", Fate.STAYS, "1 of its segments"),
        ("end", Fate.UNDER_WAY, ""),
        ("free", Fate.UNDER_WAY, ""),
    ]
    assert revival_plan.make(store, first.id, from_start=True).refusal_code == "EVIDENCE_MISSING"


def test_a_plan_distinguishes_reused_repeated_and_doubtful_effects(store):
    worker = register(store)
    pipeline(store, "k", stage("one"), stage("two", "one"))
    (one,) = claim(store, worker, routes=routes_of("one"))
    sent, refused, lost = (intend(one, "SEND", {"n": number}, number) for number in range(1, 4))
    store.effects.enter([sent, refused, lost], [])
    store.effects.enter([], [done(sent, "1"), failed(refused, '{"error_class":"BUG"}')])
    bury(store, [one])
    found = revival_plan.make(store, only_letter(store).id).effects
    assert [one.fate for one in found] == [EffectFate.REUSED, EffectFate.REPEATED, EffectFate.ASKED]
    assert all(one.note for one in found)


def test_the_doctor_counts_open_letters_and_points_to_the_escalated_ones():
    assert check_letters(0, 0).grade is Grade.OK
    assert check_letters(3, 0).grade is check_letters(3, 1).grade is Grade.WARN
    assert "--escalated" in check_letters(3, 1).advice
