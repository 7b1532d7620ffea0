"""How dead letters and plans look on a terminal."""

from collections.abc import Iterable, Sequence
from typing import Final

from leasehold.cli.table import Column, echo, print_lines, print_table
from leasehold.cli.text import ago, json_line, printable, stage_text, utc
from leasehold.insight.read.deadletters import AuditEntry, Burial, DeadLetter, DeadLetterDetail
from leasehold.insight.read.revival_plan import RevivalPlan

LETTERS: Final = (
    Column("LETTER", lambda letter: letter.id, right=True),
    Column("STATE", lambda letter: letter.state.value),
    Column("JOB", lambda letter: letter.job_id, rank=1, right=True),
    Column("KIND", lambda letter: letter.kind, rank=2, flexible=True),
    Column("STAGE", lambda letter: stage_text(letter.stage, letter.segment), rank=3, flexible=True),
    Column("CLASS", lambda letter: letter.error_class, flexible=True),
    Column("ATTEMPTS", lambda letter: letter.attempts, rank=6, right=True),
    Column("EPOCH", lambda letter: letter.epoch, rank=7, right=True),
    Column("FAILED", lambda letter: ago(letter.last_failure_at), rank=4),
    Column("NOTE", lambda letter: ", ".join(_notes(letter)), rank=5),
)
STAGES: Final = (
    Column("STAGE", lambda stage: stage.stage or "(the job)", flexible=True),
    Column("FATE", lambda stage: stage.fate.value),
    Column("NOTE", lambda stage: stage.note, rank=1, flexible=True),
)
EFFECTS: Final = (
    Column("EFFECT", lambda effect: effect.key[:16], flexible=True),
    Column("KIND", lambda effect: effect.kind),
    Column("STAGE", lambda effect: stage_text(effect.stage, effect.segment), rank=1, flexible=True),
    Column("FATE", lambda effect: effect.fate.value),
    Column("NOTE", lambda effect: effect.note, rank=2, flexible=True),
)


def print_letters(letters: Sequence[DeadLetter]) -> None:
    print_table(LETTERS, letters)


def _notes(letter: DeadLetter) -> Iterable[str]:
    if letter.escalated:
        yield "escalated"
    if letter.evidenced:
        yield "has evidence"


def print_letter(found: DeadLetterDetail) -> None:
    print_lines(_heading(found))
    for burial in found.history:
        print_lines(_burial(burial))


def print_plan(plan: RevivalPlan) -> None:
    how = "from the start" if plan.from_start else "at the stage that failed"
    echo(f"reviving letter {plan.letter_id} would run job {plan.job_id} {how}")
    echo()
    print_table(STAGES, plan.stages)
    if plan.effects:
        echo()
        print_table(EFFECTS, plan.effects)
    if plan.refusal is not None:
        echo()
        echo(printable(f"it would be refused: {plan.refusal_code}: {plan.refusal}"))


def _heading(found: DeadLetterDetail) -> Iterable[str]:
    letter = found.letter
    where = stage_text(letter.stage, letter.segment)
    yield f"letter {letter.id}  {letter.error_class}  {letter.state.value}{'  escalated' if letter.escalated else ''}"
    yield f"  job            {letter.job_id}  {printable(letter.kind)}{f'  stage {printable(where)}' if where else ''}"
    yield f"  attempts       {letter.attempts} in epoch {letter.epoch}"
    yield f"  first failure  {utc(letter.first_failure_at)}"
    yield f"  last failure   {utc(letter.last_failure_at)}, {ago(letter.last_failure_at)}"
    yield f"  context        {json_line(found.sanitized_context)}"
    if found.last_stack:
        yield "  last stack"
        yield from (f"    {printable(line)}" for line in found.last_stack.splitlines())


def _burial(burial: Burial) -> Iterable[str]:
    letter = burial.letter
    note = ", escalated" if letter.escalated else ""
    state = f"{letter.error_class}, {letter.state.value}{note}, {utc(letter.last_failure_at)}"
    yield from ("", f"epoch {letter.epoch}: letter {letter.id}, {state}")
    for action in burial.actions:
        yield f"  {utc(action.at)}  {printable(action.principal)}  {action.action}  {_detail(action)}".rstrip()


def _detail(action: AuditEntry) -> str:
    if action.action == "revive":
        did = action.detail.get("did", {})
        return f"epoch {did.get('epoch')}{', from start' if action.detail.get('from_start') else ''}"
    return ", ".join(f"{printable(name)} {json_line(value)}" for name, value in action.detail.items())
