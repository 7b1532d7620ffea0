"""Responses of a reviewer: one in order, ways to change it, and documents drawn from a seed, most of them broken."""

import json
import random
from collections.abc import Callable, Iterator
from typing import Any, Final

from leasehold.pipelines.review.contract import ExpectedVersions

EXPECTED: Final = ExpectedVersions("1.0.0")
CHANGED: Final = ("src/app.py", "docs/read me.md", "//depot/projectA/main.c")
FINDING: Final[dict[str, Any]] = {
    "id": "F1", "severity": "high", "category": "security", "title": "Open redirect", "file": "src/app.py",
    "line": 7, "message": "The target is not checked.",
}  # fmt: skip
FULL: Final[dict[str, Any]] = {
    **FINDING, "end_line": 9, "suggestion": "Compare it with a list.", "confidence": "low", "rule_id": "CWE-601",
}  # fmt: skip
RESPONSE: Final[dict[str, Any]] = {"schema_version": "1.0", "prompt_version": "1.0.0", "findings": [FINDING]}


def response(*findings: Any, **more: Any) -> str:
    return json.dumps({**RESPONSE, "findings": list(findings), **more})


TEXTS: Final = (
    "x",
    "",
    " ",
    " x ",
    "high",
    "\u00b2",
    "1.0",
    "a\\b",
    "./src/app.py",
    "src/app.py",
    "\u202e",
    "security",
)
VALUES: Final[tuple[Any, ...]] = (
    *TEXTS, 0, 1, 7, -1, 10**17, True, False, None, 1.0, 7.5, -0.0, "7", " 10 ", "-3", "7.0", "0x1", "1_0", [],
    ["high"], {}, {"a": 1}, [[]],
)  # fmt: skip
NAMES: Final = (*FULL, "extra", "Severity", "__class__")
TOP_NAMES: Final = (*RESPONSE, "summary", "meta", "extra")


def documents(seed: int, count: int) -> Iterator[dict[str, Any]]:
    """Yield response objects: each is in order but for a few changes, some of which keep it so."""
    dice = random.Random(seed)
    for _ in range(count):
        findings: list[Any] = [_finding(dice) for _ in range(dice.randrange(4))]
        found = {**RESPONSE, "findings": findings}
        for _ in range(dice.choice((0, 0, 1, 2))):
            _change(dice, found, TOP_NAMES, lambda: dice.choice((*VALUES, {"a": [1]})))
        yield found


def _finding(dice: random.Random) -> Any:
    if dice.random() < 0.05:
        return dice.choice(VALUES)
    found = {**(FULL if dice.random() < 0.5 else FINDING)}
    for _ in range(dice.choice((0, 1, 1, 2, 3))):
        _change(dice, found, NAMES, lambda: dice.choice(VALUES))
    return found


def _change(dice: random.Random, fields: dict[str, Any], names: tuple[str, ...], draw: Callable[[], Any]) -> None:
    name = dice.choice(names)
    if dice.random() < 0.2:
        fields.pop(name, None)
    else:
        fields[name] = draw()
