"""Runs one child from start to end: its process, its messages, its evidence. This is what a coordinator calls.

It returns when the child and everything below it is gone and its evidence is published. Progress and reasons are
redacted on their way; a `result` that the child sent, and the final answer of a transcript, are passed on as they are,
since changing a value could make it wrong. Who shows them to people cleans them first.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from leasehold.pipelines.agents.child.evidence import Evidence, EvidenceUnwritable, EvidenceWriter
from leasehold.pipelines.agents.child.process import FIXED_VARIABLES, ChildCommand, ChildStarter
from leasehold.pipelines.agents.child.redaction import clean, redactor_for
from leasehold.pipelines.agents.child.stopping import StopRequest
from leasehold.pipelines.agents.child.supervisor import ChildCallbacks, ChildConversation, ChildEnd, Supervisor
from leasehold.pipelines.agents.child.transcripts import AgentTranscript, TranscriptOutcome


class ChildVerdict(StrEnum):
    """What became of a child: it passed, it failed by itself, or it was stopped."""

    PASSED = "passed"
    FAILED = "failed"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class ChildTask:
    """What to run and where its evidence goes. Without a first line the child finds its standard input closed."""

    command: ChildCommand
    evidence: Path
    first_line: bytes | None = None
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class ChildOutcome:
    """How a child ended. `output` is the result that it sent, else its answer in prose, else what it printed."""

    verdict: ChildVerdict
    reason: str
    output: Any
    end: ChildEnd
    evidence: Evidence


def run_child(starter: ChildStarter, task: ChildTask, callbacks: ChildCallbacks, stop: StopRequest) -> ChildOutcome:
    """Run one child in this thread. Raises what a callback raised; its evidence is published even then."""
    redactor = redactor_for(allowed_values(task.command.environment))
    transcript = AgentTranscript()
    shown = replace(callbacks, on_progress=lambda text: callbacks.on_progress(clean(redactor, text)))
    conversation = ChildConversation(task.first_line, transcript, shown, task.timeout)
    writer = EvidenceWriter(task.evidence, redactor)
    try:
        end = Supervisor(starter.start(task.command), conversation, writer, stop).run()
    except BaseException:
        with suppress(EvidenceUnwritable):
            writer.publish()
        raise
    evidence = writer.publish()
    answer = transcript.outcome()
    verdict, reason = _judge(end, answer)
    return ChildOutcome(verdict, clean(redactor, reason), _output(end, answer, evidence), end, evidence)


def allowed_values(environment: Mapping[str, str]) -> list[str]:
    """Return the values that a plan allowed by name: keys of services, mostly, that no file should show."""
    return [value for name, value in environment.items() if name not in FIXED_VARIABLES]


def _judge(end: ChildEnd, answer: TranscriptOutcome | None) -> tuple[ChildVerdict, str]:
    if end.stopped is not None:
        return ChildVerdict.STOPPED, str(end.refusal or end.stopped)
    if end.code is None:
        return ChildVerdict.FAILED, "The guard of its process was killed."
    if end.code:
        return ChildVerdict.FAILED, f"signal {-end.code}" if end.code < 0 else f"exit code {end.code}"
    if answer is not None and answer.error:
        return ChildVerdict.FAILED, answer.error
    return ChildVerdict.PASSED, ""


def _output(end: ChildEnd, answer: TranscriptOutcome | None, evidence: Evidence) -> Any:
    if end.result is not None:
        return end.result.output
    return evidence.output() if answer is None else answer.text
