"""Linked jobs: made once under their parent's lease, cancelled with it (S10), pruned with it, in one budget (S9)."""

import contextlib
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from leasehold import clock as times
from leasehold.app.journal import plan_pruning, prune
from leasehold.insight.verify.verify import verify_job
from leasehold.model.effect import identity_of
from leasehold.model.failure.loss import Reclaim
from leasehold.model.graph import Definition
from leasehold.model.limits import LINK_DEPTH_MAX
from leasehold.model.task import Terms
from leasehold.model.tree.budget import Budget, make_spend
from leasehold.model.tree.link import make_link
from leasehold.store import open_store
from leasehold.store.db.documents import document
from leasehold.store.tree.links import Lineage, link_all
from tests.store import work
from tests.store.model.invariants import check_everything
from tests.store.work import (
    advance,
    at_once,
    claim,
    claim_one,
    finish,
    look,
    register,
    routes_of,
    stage,
    status,
    submit,
)
from tests.support.wait import until

DAY = 24 * 3600
FILM = Definition("film", Terms(), (stage("script"), stage("cut", "script")))


def identity(lease):
    return identity_of(lease.kind, lease.key, lease.stage, lease.segment)


def link(lease, name="child", kind="b", payload="{}", **options):
    return make_link(lease, identity(lease), name, kind, payload, **options)


def ask(store, *links):
    """Make linked jobs; return the verdict and the child, or the code of the error, of each."""
    found = []
    for entry in store.links.add(links):
        result = json.loads(entry.result or "{}")
        found.append((str(entry.verdict), result.get("id", result.get("code"))))
    return found


def make(store, lease, name="child", **options):
    [(verdict, child)] = ask(store, link(lease, name, **options))
    assert verdict == "linked"
    return child


def lines(store, *names):
    found = look(store, "SELECT task_id, name, detail FROM event ORDER BY id")
    return [(task, name, json.loads(detail)) for task, name, detail in found if name in names]


@pytest.fixture
def lease(store, worker, clock):
    for kind in ("a", "b"):
        store.tasks.publish(Definition(kind, Terms()))
    store.tasks.publish(FILM)
    submit(store, "root")
    return claim_one(store, worker)


def test_a_linked_job_is_an_ordinary_job_of_its_kind_with_a_line_in_its_parents_journal(store, worker, lease):
    asked = link(lease, payload='{"n":1}')
    [(verdict, child)] = ask(store, asked)
    assert verdict == "linked"
    row = store.reports.job(child)
    assert (row.kind, row.key, row.payload, row.status) == ("b", f"child~{asked.key[:16]}", '{"n":1}', "READY")
    assert lines(store, "linked") == [(lease.task_id, "linked", json.loads(asked.detail(child)))]
    assert store.links.of(child) == Lineage(lease.job_id, lease.job_id)
    assert ([one.id for one in store.links.children(lease.job_id)], store.links.of(lease.job_id)) == ([child], None)
    assert [one.id for one in store.links.tree(lease.job_id)] == [lease.job_id, child]
    assert verify_job(store, lease.job_id).equal
    check_everything(store)


def test_a_child_is_made_once_however_often_it_is_asked_for(store, worker, lease):
    child = make(store, lease)
    assert ask(store, link(lease), link(lease, "other"))[0] == ("again", child)
    store.leases.reclaim([Reclaim(lease.task_id, lease.fence, "owner gone")])
    second = claim_one(store, worker, routes=["a"])
    assert ask(store, link(second)) == [("again", child)]
    assert len(lines(store, "linked")) == 2
    assert look(store, "SELECT count(*) FROM link") == [(2,)]


def test_the_same_key_in_another_job_is_another_child(store, worker, lease):
    submit(store, "other")
    other = claim_one(store, worker, routes=["a"])
    assert make(store, lease) != make(store, other)


def test_a_pipeline_is_linked_with_its_stages(store, worker, lease):
    film = make(store, lease, kind="film")
    assert work.statuses(store, film) == {
        (None, None): "NEW", ("script", None): "READY", ("cut", None): "NEW",
    }  # fmt: skip
    (script,) = claim(store, worker, routes=routes_of("script"))
    grandchild = make(store, script)
    assert store.links.of(grandchild) == Lineage(film, lease.job_id)
    tree = [(one.id, one.parent_job_id, one.depth) for one in store.links.tree(lease.job_id)]
    assert tree == [(lease.job_id, None, 0), (film, lease.job_id, 1), (grandchild, film, 2)]


def test_another_payload_or_kind_under_the_same_key_is_a_conflict(store, lease):
    child = make(store, lease)
    assert ask(store, link(lease, payload='{"n":1}'), link(lease, kind="a")) == [("refused", "KEY_CONFLICT")] * 2
    assert [one.id for one in store.links.children(lease.job_id)] == [child]


def test_a_job_of_somebody_else_is_not_adopted(store, lease):
    (foreign,) = submit(store, link(lease).child_key, kind="b")
    assert ask(store, link(lease)) == [("refused", "KEY_CONFLICT")]
    assert store.links.of(foreign) is None
    assert lines(store, "linked") == []


def test_what_is_refused_makes_nothing_and_stops_no_other(store, lease):
    answers = ask(store, link(lease, "x", kind="nothing"), link(lease, "y"))
    assert answers[0] == ("refused", "KIND_UNKNOWN")
    assert answers[1][0] == "linked"


def test_jobs_are_linked_only_so_deep(store, worker, lease):
    for number in range(LINK_DEPTH_MAX):
        make(store, lease, kind="a" if number % 2 else "b")
        lease = claim_one(store, worker)
    assert ask(store, link(lease)) == [("refused", "OPTION_INVALID")]


def test_s2_a_zombie_makes_no_child(store, worker, clock, lease):
    store.leases.reclaim([Reclaim(lease.task_id, lease.fence, "owner gone")])
    second = claim_one(store, worker)
    assert ask(store, link(lease)) == []
    clock.advance(second.lease_ms / 1000)
    assert ask(store, link(second)) == []
    assert look(store, "SELECT count(*) FROM task") == [(1,)]


def test_s10_a_task_that_was_asked_to_stop_makes_no_child(store, lease):
    store.tasks.cancel(lease.job_id, work.REASON)
    assert ask(store, link(lease)) == [("stopped", None)]
    assert look(store, "SELECT count(*) FROM task") == [(1,)]


def test_s10_a_cancel_reaches_the_whole_tree_and_names_itself_everywhere(store, worker, lease):
    running, ready = make(store, lease, "running"), make(store, lease, "ready", delay_us=0)
    child = claim_one(store, worker)
    film = make(store, child, kind="film")
    (script,) = claim(store, worker, routes=routes_of("script"))
    late = make(store, script, "late", delay_us=5_000_000)
    count = store.tasks.cancel(lease.job_id, work.REASON)
    assert (count.ended, count.asked) == (4, 3)
    assert [status(store, one) for one in (ready, late, film)] == ["CANCELLED"] * 3
    finish(store, [lease, child, script])
    advance(store)
    assert [status(store, one) for one in (lease.job_id, running, film)] == ["CANCELLED"] * 3
    ends = [(name, detail) for _, name, detail in lines(store, "asked", "cancelled")]
    assert ends.count(("asked", json.loads(work.REASON))) == 3
    assert {json.dumps(detail) for _, detail in ends} == {json.dumps(json.loads(work.REASON))}
    check_everything(store)


def test_a_cancel_of_a_child_leaves_its_parent_and_its_siblings_alone(store, worker, lease):
    first, second = make(store, lease, "first"), make(store, lease, "second")
    store.tasks.cancel(first, work.REASON)
    assert [status(store, one) for one in (first, second, lease.job_id)] == ["CANCELLED", "READY", "RUNNING"]


def test_the_children_of_a_job_that_has_ended_go_on_until_somebody_cancels_it(store, lease):
    child = make(store, lease)
    finish(store, [lease])
    assert status(store, child) == "READY"
    assert store.tasks.cancel(lease.job_id, work.REASON).ended == 1
    assert [status(store, one) for one in (lease.job_id, child)] == ["DONE", "CANCELLED"]


def test_s10_cancels_and_new_children_at_once_leave_nobody_running(url, store, worker, lease):
    """A child is cancelled with its parent or not made, in whatever order they are committed."""
    parents = [lease]
    for number in range(7):
        submit(store, f"other {number}")
        parents.append(claim_one(store, worker, routes=["a"]))

    def act(number):
        with contextlib.closing(open_store(url)) as own:
            if number % 2:
                return own.tasks.cancel(parents[number // 2].job_id, work.REASON)
            return [ask(own, link(parents[number // 2], str(turn)))[0][0] for turn in range(10)]

    at_once(2 * len(parents), act)
    open_leases = look(store, "SELECT count(*) FROM lease WHERE cancel_reason IS NULL")
    assert open_leases == look(store, "SELECT count(*) FROM ready") == [(0,)]
    check_everything(store)


@pytest.mark.parametrize("dialect", ["postgres"])
def test_s10_a_cancel_waits_for_a_child_that_is_being_made_and_takes_it_along(store, lease):
    """SQLite has one writer: there the two never meet."""
    with ThreadPoolExecutor(1) as threads:

        def make_slowly(session):
            work.take_time(session)
            session.run("links/hold", links=document([link(lease)]))
            cancelled = threads.submit(store.tasks.cancel, lease.job_id, work.REASON)
            until(lambda: look(store, work.WAITS))
            return link_all(session, [link(lease)])[0], cancelled

        row, cancelled = store.database.transact(make_slowly)
        count = cancelled.result()
    assert (str(row[3]), count.ended, count.asked) == ("linked", 1, 1)
    assert [status(store, child.id) for child in store.links.children(lease.job_id)] == ["CANCELLED"]


def test_s9_the_whole_tree_spends_from_the_budget_at_the_root(store, worker, lease):
    with contextlib.closing(open_store(store.url)) as other:
        (root,) = submit(other, "rich")
        other.budgets.add([root], {"tokens": 100})
    rich = claim_one(store, worker)
    child = make(store, rich)
    first = claim_one(store, worker)
    make(store, first, kind="a")
    second = claim_one(store, worker)
    asked = [make_spend(one, identity(one), "tokens", 40, 1) for one in (rich, first, second)]
    assert [(one.verdict, one.result) for one in store.budgets.spend(asked)] == [
        ("spent", "60"), ("spent", "20"), ("refused", "20"),
    ]  # fmt: skip
    assert store.budgets.of(child) == store.budgets.of(second.job_id) == {"tokens": Budget(100, 80)}
    spent = [json.loads(one.spent or "{}") for one in store.links.tree(rich.job_id)]
    assert spent == [{"tokens": 40}, {"tokens": 40}, {}]
    check_everything(store)


def test_a_tree_is_pruned_as_a_whole_when_all_of_it_is_over(store, worker, clock):
    store.tasks.publish(Definition("b", Terms()))
    (root,) = submit(store, "root")
    store.budgets.add([root], {"tokens": 100})
    lease = claim_one(store, worker)
    child = make(store, lease)
    store.budgets.spend([make_spend(lease, identity(lease), "tokens", 40, 1)])
    finish(store, [lease])
    clock.advance(31 * DAY)
    month = times.microseconds(30 * DAY)
    assert prune(store, month, "tester", lambda _: None).pruned.jobs == 0
    finish(store, claim(store, worker))
    assert (status(store, child), prune(store, month, "tester", lambda _: None).pruned.jobs) == ("DONE", 0)
    clock.advance(31 * DAY)
    plan = plan_pruning(store, month).pruned
    assert (plan.jobs, plan.tasks) == (2, 2)
    assert prune(store, month, "tester", lambda _: None).pruned.jobs == 2
    for table in ("task", "event", "outcome", "budget", "spend", "link"):
        assert look(store, f"SELECT count(*) FROM {table}") == [(0,)]  # noqa: S608


def test_one_open_letter_keeps_the_whole_tree(store, worker, clock, lease):
    make(store, lease)
    finish(store, [lease])
    work.fail(store, claim(store, worker))
    clock.advance(31 * DAY)
    found = prune(store, times.microseconds(30 * DAY), "tester", lambda _: None)
    assert (found.pruned.jobs, found.kept) == (0, 1)


def test_a_linked_job_whose_answer_was_lost_is_found_by_the_next_try(url, store, worker, lease):
    """The first try is committed while the second waits for the lease: it sees the child, and makes none."""
    register(store, 2)

    def act(_):
        with contextlib.closing(open_store(url)) as own:
            return ask(own, link(lease))[0]

    answers = at_once(6, act)
    assert sorted(verdict for verdict, _ in answers) == ["again"] * 5 + ["linked"]
    assert len({child for _, child in answers}) == 1
    assert len(lines(store, "linked")) == 1
