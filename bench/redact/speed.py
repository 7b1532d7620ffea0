"""Measure how fast text is redacted, in CPU time and against one plain pattern in the same run.

The mixture is what the engine cleans: logs, tracebacks, JSON payloads, diffs with a key in them, source, lock files.
About one line of a hundred holds a secret, so the second look at a changed text is part of what is measured.
"""

from __future__ import annotations

import hashlib
import itertools
import random
import re
import sysconfig
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.redact.samples import samples
from bench.report import Report
from leasehold.redact import Policy, Redactor

GOAL_MB_PER_SECOND = 5.0
SIZE, QUICK_SIZE = 8_000_000, 1_000_000
PIECE = 65_536
ROUNDS = 5
SAMPLE_EVERY = 20
PLAIN_PATTERN = re.compile(r"(?i)(?:password|secret|token|api_?key)\W{1,4}\S{6,}|ghp_\w{36}|AKIA[A-Z0-9]{16}")
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
WORDS = ("lease", "expired", "worker", "claimed", "task", "attempt", "settled", "retry", "token", "queue", "paused")


def token(dice: random.Random, length: int = 40) -> str:
    return "".join(dice.choices(ALPHABET, k=length))


def secrets(dice: random.Random) -> Iterator[str]:
    """Yield lines that hold one, in turn."""
    while True:
        yield f"connecting to postgres://app:{token(dice, 12)}@db.example:5432/jobs"
        yield f"Authorization: Bearer {token(dice)}"
        yield f'{{"user": "app", "password": "{token(dice, 10)}", "port": 587}}'
        yield f"+SMTP_PASSWORD={token(dice, 16)}"
        yield f"push failed with ghp_{token(dice, 36)}"
        body = "\n".join(f"+{token(dice, 64)}" for _ in range(6))
        yield f"+-----BEGIN PRIVATE KEY-----\n{body}\n+-----END PRIVATE KEY-----"


def log_lines(dice: random.Random, count: int) -> Iterator[str]:
    guilty = secrets(dice)
    for number in range(count):
        digest = hashlib.sha256(number.to_bytes(8, "big")).hexdigest()
        words = " ".join(dice.choices(WORDS, k=6))
        yield f"2026-01-01T00:00:{number % 60:02d}Z INFO runtime {words} task={digest[:32]}"
        yield f'{{"event": "settled", "attempt": {number % 7}, "output": {{"sha256": "{digest}", "count": {number}}}}}'
        if number % 50 == 0:
            yield next(guilty)


def corpus() -> str:
    dice = random.Random(42)
    folder = Path(sysconfig.get_paths()["stdlib"])
    source = "".join(path.read_text(encoding="utf-8", errors="replace") for path in sorted(folder.glob("*.py")))
    locks = "".join(path.read_text() for path in sorted(Path("requirements").glob("*.txt")))
    logs = "\n".join(log_lines(dice, SIZE // 500))
    return (logs + locks + source)[:SIZE]


def with_samples(text: str) -> str:
    """Return the text with a sample of some class after every twentieth line."""
    guilty = [sample.text for sample in samples()]
    random.Random(5).shuffle(guilty)
    lines = text.split("\n")
    parts = ["\n".join(lines[start : start + SAMPLE_EVERY]) for start in range(0, len(lines), SAMPLE_EVERY)]
    return "\n".join(itertools.chain(*zip(parts, itertools.cycle(guilty), strict=False)))


def best_rate(act: Callable[[str], object], text: str, size: int) -> float:
    """Return megabytes a second of CPU time: the best round, for noise only ever slows down."""
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    least = float("inf")
    for _ in range(ROUNDS):
        started = time.process_time()
        for piece in pieces:
            act(piece)
        least = min(least, time.process_time() - started)
    return len(text.encode()) / 1e6 / least


def rates(size: int = SIZE) -> dict[str, float]:
    """Return megabytes a second by policy and by size of text; a smaller size has the same mixture."""
    whole = corpus()
    text = "".join(whole[start : start + PIECE] for start in range(0, len(whole), PIECE * (SIZE // size)))
    everything = Policy(
        emails=True, hosts=[".corp.example"], addresses=True, secrets=["hunter2-hunter2", "s3cr3t-value"]
    )
    plain = Redactor().redact
    return {
        "default policy, one text": best_rate(plain, text, len(text)),
        "default policy, pieces of 64 KB": best_rate(plain, text, PIECE),
        "default policy, pieces of 1 KB": best_rate(plain, text, 1_024),
        "everything on, pieces of 64 KB": best_rate(Redactor(everything).redact, text, PIECE),
        "a secret every twenty lines": best_rate(plain, with_samples(text), PIECE),
    }


def measure(report: Report, size: int = SIZE) -> None:
    """Note every rate, and how it compares with one plain pattern; the slowest has to reach the goal."""
    scan = best_rate(PLAIN_PATTERN.findall, corpus()[:size], PIECE)
    found = rates(size)
    for name, rate in found.items():
        report.note(f"redaction: {name}", rate, "MB/s")
        report.note(f"redaction: {name}, against one plain pattern", rate / scan, "")
    report.at_least("redaction: the slowest, MB/s", min(found.values()), GOAL_MB_PER_SECOND)
