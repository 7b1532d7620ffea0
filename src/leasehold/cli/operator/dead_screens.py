"""How dead letters and plans look on a terminal."""

from collections.abc import Iterable, Sequence
from typing import Final

from leasehold.cli.table import Column, echo, print_table
from leasehold.cli.text import ago, json_line, printable
from leasehold.insight.read.deadletters import AuditEntry, Burial, DeadLetter, DeadLetterDetail
from leasehold.insight.read.revival_plan import RevivalPlan

LETTERS: Final = (
    Column("LETTER", right=True),
    Column("STATE"),
    Column("JOB", rank=1, right=True),
    Column("KIND", rank=2, flexible=True),
    Column("STAGE", rank=3, flexible=True),
    Column("CLASS", flexible=True),
    Column("ATTEMPTS", rank=6, right=True),
    Column("EPOCH", rank=7, right=True),
    Column("FAILED", rank=4),
    Column("NOTE", rank=5),
)
STAGES: Final = (Column("STAGE", flexible=True), Column("FATE"), Column("NOTE", rank=1, flexible=True))
EFFECTS: Final = (
    Column("EFFECT", flexible=True),
    Column("KIND"),
    Column("STAGE", rank=1, flexible=True),
    Column("FATE"),
    Column("NOTE", rank=2, flexible=True),
)


def print_letters(letters: Sequence[DeadLetter]) -> None:
    print_table(LETTERS, [_row(letter) for letter in letters])


def print_dossier(found: DeadLetterDetail) -> None:
    for line in _heading(found):
        echo(line)
    for chapter in found.history:
        echo()
        for line in _chapter(chapter):
            echo(line)


def print_plan(plan: RevivalPlan) -> None:
    how = "from the start" if plan.from_start else "at the stage that failed"
    echo(f"reviving letter {plan.letter_id} would run job {plan.job_id} {how}")
    echo()
    print_table(STAGES, [[stage.stage or "(the job)", stage.fate.value, stage.note] for stage in plan.stages])
    if plan.effects:
        echo()
        print_table(
            EFFECTS,
            [
                [one.key[:16], one.kind, _place(one.stage, one.segment), one.fate.value, one.note]
                for one in plan.effects
            ],
        )
    if plan.refusal is not None:
        echo()
        echo(printable(f"it would be refused: {plan.refusal_code}: {plan.refusal}"))


def _row(letter: DeadLetter) -> list[object]:
    return [
        letter.id,
        letter.state.value,
        letter.job_id,
        letter.kind,
        _place(letter.stage, letter.segment),
        letter.error_class,
        letter.attempts,
        letter.epoch,
        ago(letter.last_failure_at),
        _note(letter),
    ]


def _note(letter: DeadLetter) -> str:
    notes = ("escalated" if letter.escalated else "", "has evidence" if letter.evidenced else "")
    return ", ".join(filter(None, notes))


def _place(stage: str | None, segment: int | None) -> str:
    return stage or "" if segment is None else f"{stage} [{segment}]"


def _heading(found: DeadLetterDetail) -> Iterable[str]:
    letter = found.letter
    where = _place(letter.stage, letter.segment)
    yield f"letter {letter.id}  {letter.error_class}  {letter.state.value}{'  escalated' if letter.escalated else ''}"
    yield f"  job            {letter.job_id}  {printable(letter.kind)}{f'  stage {printable(where)}' if where else ''}"
    yield f"  attempts       {letter.attempts} in epoch {letter.epoch}"
    yield f"  first failure  {letter.first_failure_at:%Y-%m-%d %H:%M:%S} UTC"
    yield f"  last failure   {letter.last_failure_at:%Y-%m-%d %H:%M:%S} UTC, {ago(letter.last_failure_at)}"
    yield f"  context        {json_line(found.sanitized_context)}"
    if found.last_stack:
        yield "  last stack"
        yield from (f"    {printable(line)}" for line in found.last_stack.splitlines())


def _chapter(chapter: Burial) -> Iterable[str]:
    letter = chapter.letter
    note = ", escalated" if letter.escalated else ""
    when = f"{letter.last_failure_at:%Y-%m-%d %H:%M:%S} UTC"
    yield f"epoch {letter.epoch}: letter {letter.id}, {letter.error_class}, {letter.state.value}{note}, {when}"
    yield from (f"  {line}" for line in map(_action_line, chapter.actions))


def _action_line(action: AuditEntry) -> str:
    return (
        f"{action.at:%Y-%m-%d %H:%M:%S} UTC  {printable(action.principal)}  {action.action}  {_detail(action)}".rstrip()
    )


def _detail(action: AuditEntry) -> str:
    if action.action == "revive":
        did = action.detail.get("did", {})
        return f"epoch {did.get('epoch')}{', from start' if action.detail.get('from_start') else ''}"
    return ", ".join(f"{printable(name)} {json_line(value)}" for name, value in action.detail.items())
