"""Why a job does not run: a pure decision from facts that were read at one moment."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec import structs

from leasehold import clock
from leasehold.insight.explain import sentences
from leasehold.insight.explain.explanation import Cause, CauseCode, Explanation
from leasehold.insight.explain.sentences import WORKER, failure_of, since, subject
from leasehold.insight.explain.workers import LiveWorker, LiveWorkers
from leasehold.insight.limits import CLAIM_SECONDS_MAX
from leasehold.insight.read.deadletters import DeadLetter
from leasehold.insight.wording import several, until
from leasehold.model.failure.loss import required_age
from leasehold.model.names import base_of, route
from leasehold.model.revival import LetterState
from leasehold.model.status import Status
from leasehold.store.holdups import OpenTask, Standing

ORDER: Final = list(CauseCode)


@dataclass(frozen=True, slots=True)
class Unserved:
    """Nobody can run a task."""

    code: CauseCode
    why: str
    advice: str


def explain(standing: Standing, workers: LiveWorkers, letters: Sequence[DeadLetter]) -> Explanation:
    """Explain why a job does not run, or how it ended."""
    status = Status(standing.job.status)
    if status.settled:
        return Explanation(standing.job_id, status, (_ended(standing, status, letters),))
    found = [_cause(standing, workers, task) for task in standing.tasks]
    causes = sorted(_grouped(found), key=lambda cause: ORDER.index(cause.code))
    return Explanation(standing.job_id, status, tuple(causes) or (_not_advanced(standing, workers),))


def unserved(route_name: str, queue: str, workers: LiveWorkers) -> Unserved | None:
    """Find why nobody can run what is ready in a queue; None if somebody can."""
    able = [worker for worker in workers.alive if worker.serving is None or worker.serving.routes]
    if not able:
        advice = f"Start one with {WORKER}, where MODULE:APP is the app that has '{route_name}'."
        return Unserved(CauseCode.NO_WORKER, "no worker is running", advice)
    having = [worker for worker in able if worker.runs(route_name)]
    if not having:
        others = sentences.routes_of({one.name: list(one.serving.routes) for one in able if one.serving})
        why = f"no live worker has a handler for '{route_name}' ({others})"
        return Unserved(CauseCode.KIND_UNSERVED, why, f"Start a worker of the app that has it with {WORKER}.")
    if not any(worker.serves(queue) for worker in having):
        others = several([f"{one.name} serves {several(sorted(one.serving.queues))}" for one in having if one.serving])
        base = base_of(queue)
        why = f"no live worker that has '{route_name}' serves the queue '{base}' ({others})"
        advice = (
            f"Start one with `leasehold worker MODULE:APP --queue {base}`; an app that has no handler for this queue"
        )
        advice += " any more refuses that: cancel the job then, and submit it again."
        return Unserved(CauseCode.QUEUE_UNSERVED, why, advice)
    return None


def _grouped(causes: Iterable[Cause]) -> list[Cause]:
    """Make one cause of those that many segments of a stage have."""
    groups: dict[tuple[str | None, CauseCode], list[Cause]] = {}
    for cause in causes:
        groups.setdefault((cause.stage, cause.code), []).append(cause)
    return [_together(group) for group in groups.values()]


def _together(group: list[Cause]) -> Cause:
    first, more = group[0], len(group) - 1
    if not more:
        return first
    likewise = f"{first.why[:-1]}; and {more:,} more segment{'s' if more > 1 else ''} of this stage likewise."
    return structs.replace(first, why=likewise, tasks=len(group))


def _cause(standing: Standing, workers: LiveWorkers, task: OpenTask) -> Cause:
    if task.place == "lease":
        return _leased(standing, workers, task)
    if task.place == "ready":
        return _ready(standing, workers, task)
    if task.due_at is None:
        return _waiting(standing, workers, task)
    return _delayed(standing, workers, task)


def _make(code: CauseCode, task: OpenTask, why: str, advice: str) -> Cause:
    return Cause(code, why, advice, task.id, task.stage, task.segment)


def _ready(standing: Standing, workers: LiveWorkers, task: OpenTask) -> Cause:
    queue, now = standing.queues[task.queue], standing.job.now
    who = subject(task)
    if queue.paused_by is not None:
        advice = f"Resume it with `leasehold queues resume {shlex.quote(queue.paused_by)}`."
        return _make(
            CauseCode.QUEUE_PAUSED, task, f"{who} waits because the queue '{queue.paused_by}' is paused.", advice
        )
    if (nobody := unserved(route(standing.job.kind, task.stage), task.queue, workers)) is not None:
        return _make(nobody.code, task, f"{who} is ready, and {nobody.why}.", nobody.advice)
    if queue.capacity is not None and queue.held >= queue.capacity:
        why = f"{who} waits for a slot of the queue '{queue.name}': {queue.held} of {queue.capacity} are held, by "
        advice = f"Wait, or raise the limit with {sentences.raise_limit(queue)}."
        return _make(CauseCode.LIMIT_FULL, task, f"{why}{sentences.holders(queue, now)}.", advice)
    if queue.pace_us and queue.free_at is not None and queue.free_at > now:
        why = f"{who} waits because the queue '{queue.name}' starts at most {sentences.rate(queue)} a second: the next"
        advice = f"Wait, or raise limit and rate with {sentences.raise_limit(queue)}."
        return _make(CauseCode.RATE_REACHED, task, f"{why} start is at {until(queue.free_at, now)}.", advice)
    return _claimable(standing, workers, task)


def _claimable(standing: Standing, workers: LiveWorkers, task: OpenTask) -> Cause:
    """Explain a task that nothing keeps from being claimed."""
    now, who = standing.job.now, subject(task)
    able = [one for one in workers.having(route(standing.job.kind, task.stage)) if one.serves(task.queue)]
    free = [one for one in able if not one.is_full(task.queue)]
    ahead = standing.ahead.get(task.queue, 0)
    first = "1 ready task of its queue comes" if ahead == 1 else f"{ahead:,} ready tasks of its queue come"
    before = f"{first} first" if ahead else "it is the next of its queue"
    if not free:
        taken, places = _places(able, task.queue)
        why = f"{who} waits because every worker that could run it is busy: {taken} of {places} places are taken, and"
        return _make(CauseCode.WORKERS_BUSY, task, f"{why} {before}.", f"Wait, or start another worker with {WORKER}.")
    if task.is_suspect:
        return _suspect(standing, task, now - min(one.started_at for one in able))
    waited = now - task.since
    if not ahead and waited > CLAIM_SECONDS_MAX * clock.SECOND:
        why = f"{who} has been ready for {since(task.since, now)} although {free[0].name} has a free place."
        advice = f"Read that worker's log: it may be stopped, or its database away. Or start another with {WORKER}."
        return _make(CauseCode.LATE, task, why, advice)
    why = f"{who} starts at any moment: {free[0].name} has a free place, and {before}."
    return _make(CauseCode.ABOUT_TO_START, task, why, "Wait.")


def _suspect(standing: Standing, task: OpenTask, age_us: int) -> Cause:
    """Explain a suspect. `age_us`: for how long the oldest worker that could run it has been there."""
    who, advice = subject(task), f"Wait; `leasehold show {standing.job_id}` has how its workers were lost."
    seconds = required_age(task.losses)
    if age_us < seconds * clock.SECOND:
        why = f"{who} has lost {task.losses} workers, so that only one that has run for {seconds:,.0f} s may claim it,"
        why += f" and none has: the oldest started {age_us // clock.SECOND:,} s ago."
    else:
        why = f"{who} has lost two workers or more, so that it is run alone: isolated if its kind can be, or else when"
        why += " a worker has nothing else to do."
    return _make(CauseCode.SUSPECT, task, why, advice)


def _places(workers: Iterable[LiveWorker], queue: str) -> tuple[int, int]:
    """Count the places that workers have for a queue, and how many of them are taken."""
    taken = places = 0
    for worker in workers:
        assert worker.serving is not None
        cap = worker.serving.queues.get(base_of(queue))
        own = worker.running.get(base_of(queue), 0)
        is_capped = cap is not None and own >= cap
        taken += own if is_capped else worker.busy
        places += (cap or 0) if is_capped else worker.serving.concurrency
    return taken, places


def _leased(standing: Standing, workers: LiveWorkers, task: OpenTask) -> Cause:
    now, who = standing.job.now, subject(task)
    expires = task.expires_at or now
    if task.worker in workers.gone or expires <= now:
        was = "is gone" if task.worker in workers.gone else "does not renew its lease"
        if not workers.alive:
            why = f"{who} was running on {task.holder}, which {was}, and nobody else is there to take the lease back."
            return _make(CauseCode.WORKER_GONE, task, why, f"Start a worker with {WORKER}; it runs the task again.")
        when = "within about a second" if expires <= now else f"at {until(expires, now)} at the latest"
        why = f"{who} was running on {task.holder}, which {was}; the lease is taken back {when}."
        return _make(CauseCode.WORKER_GONE, task, why, "Wait.")
    if task.cancel_reason is not None:
        why = f"{who} was asked to stop {since(task.since, now)} ago, and still runs on {task.holder}."
        advice = "Wait: an async or isolated handler is ended; another stops at its next effect or progress report, or"
        return _make(CauseCode.CANCEL_REQUESTED, task, why, f"{advice} when it looks at `task.cancelled`.")
    advice = f"Wait, or stop it with `leasehold cancel {standing.job_id}`."
    return _make(CauseCode.RUNNING, task, f"{who} runs: {sentences.running(task, now)}.", advice)


def _waiting(standing: Standing, workers: LiveWorkers, task: OpenTask) -> Cause:
    """Explain a task that waits for others."""
    unmet = [sentences.need(one) for one in standing.needs if one.task_id == task.id]
    if not unmet:
        return _not_advanced(standing, workers, task)
    why = f"{subject(task)} waits for {several(unmet)}."
    return _make(CauseCode.WAITS_FOR_TASKS, task, why, "Wait; what holds those up is explained with them.")


def _delayed(standing: Standing, workers: LiveWorkers, task: OpenTask) -> Cause:
    """Explain a task that waits for a time."""
    now, due, who = standing.job.now, task.due_at or 0, subject(task)
    if due <= now:
        return _not_advanced(standing, workers, task)
    nobody = unserved(route(standing.job.kind, task.stage), task.queue, workers)
    advice = "Wait; it starts by itself." if nobody is None else f"Now {nobody.why}. {nobody.advice}"
    if task.attempt:
        why = f"{who} is tried again at {until(due, now)}: {sentences.setback(task)}."
        return _make(CauseCode.RETRY_DUE, task, why, advice)
    return _make(CauseCode.NOT_DUE, task, f"{who} was submitted with a delay, and is due at {until(due, now)}.", advice)


def _not_advanced(standing: Standing, workers: LiveWorkers, task: OpenTask | None = None) -> Cause:
    """Explain what an orchestrator, which every worker has, must do next."""
    who, task_id = ("It", standing.job_id) if task is None else (subject(task), task.id)
    stage, segment = (None, None) if task is None else (task.stage, task.segment)
    if workers.alive:
        why = f"{who} is due, and a worker makes it ready within about a second."
        return Cause(CauseCode.ABOUT_TO_START, why, "Wait.", task_id, stage, segment)
    why = f"{who} is due, and no worker or orchestrator is running to move it on."
    advice = f"Start one with {WORKER} or `leasehold orchestrate`."
    return Cause(CauseCode.NOT_ADVANCED, why, advice, task_id, stage, segment)


def _ended(standing: Standing, status: Status, letters: Sequence[DeadLetter]) -> Cause:
    job_id, job = standing.job_id, standing.job
    ended = f"{since(job.finished_at or job.now, job.now)} ago"
    if status is Status.DONE:
        advice = f"See its result with `leasehold show {job_id}`."
        return Cause(CauseCode.DONE, f"It was done {ended}.", advice, job_id)
    why = f"It ended {status.value} {ended}: {failure_of(job.failure)}."
    if status is Status.CANCELLED:
        advice = "If its work is still wanted, submit it again under another key."
        return Cause(CauseCode.CANCELLED, why, advice, job_id)
    letter = next((one for one in letters if one.state is LetterState.OPEN), None)
    if letter is None:
        return Cause(CauseCode.DEAD_LETTER, why, f"See what was done with `leasehold show {job_id}`.", job_id)
    evidence = "" if letter.evidenced else f"`leasehold dead evidence {letter.id} --text 'what was done'`, then "
    advice = f"Fix the cause; then {evidence}`leasehold dead revive {letter.id}`; `leasehold dead show {letter.id}` has"
    return Cause(CauseCode.DEAD_LETTER, why, f"{advice} the details.", letter.task_id, letter.stage, letter.segment)
