"""What the doctor returns: one finding for each thing that it checked."""

from enum import StrEnum

from msgspec import Struct


class Grade(StrEnum):
    """How serious a finding is: `warn` is worth a check, `wrong` needs a person."""

    OK = "ok"
    WARN = "warn"
    WRONG = "wrong"


class Finding(Struct, frozen=True):
    """One thing that was checked; `advice` is what to do about it."""

    name: str
    grade: Grade
    text: str
    advice: str = ""


def ok(name: str, text: str) -> Finding:
    return Finding(name, Grade.OK, text)
