"""Small worlds without chance, each about one thing: every point of theirs is crashed once, and every two of them."""

from __future__ import annotations

from tests.simulation.run import Plan

CALM = {"temper": "deaths", "faults": 0.0, "storm": 300.0}


def _plan(*jobs: str, workers: int = 1, **others: object) -> Plan:
    named = [tuple(job.split(":")) if ":" in job else (job, job) for job in jobs]
    return Plan(jobs=named, workers=workers, **{**CALM, **others})  # type: ignore[arg-type]


SCENARIOS: dict[str, Plan] = {
    "a claim": _plan("plain"),
    "three claims, two workers": _plan("plain", "plain", "plain", workers=2),
    "two workers, one job": _plan("plain", workers=2),
    "a queue of one": _plan("narrow"),
    "a queue of one, two jobs, two workers": _plan("narrow", "narrow", workers=2),
    "buried when lost": _plan("fragile"),
    "buried when lost, next to another": _plan("fragile", "plain", workers=2),
    "retries": _plan("flaky"),
    "retries, two workers": _plan("flaky", "flaky", workers=2),
    "effects with a look-up": _plan("sure:once"),
    "effects found again": _plan("sure:twice"),
    "effects of two jobs": _plan("sure:once", "sure:twice", workers=2),
    "an effect nobody can look up": _plan("blind"),
    "two such effects": _plan("blind", "blind", workers=2),
    "an effect that may be repeated": _plan("again"),
    "rows and result in one commit": _plan("booked"),
    "all effects": _plan("sure:once", "blind", "again", "booked", workers=2),
    "a fan-out": _plan("film:fine"),
    "a fan-out, two workers": _plan("film:fine", workers=2),
    "two fan-outs": _plan("film:fine", "film:fine", workers=2),
    "a cancel": _plan("plain", cancels=0),
    "a cancelled fan-out": _plan("film:fine", cancels=0),
    "a cancel among effects": _plan("sure:once", cancels=0),
    "a cancel before a message": _plan("mail:honest", cancels=0),
    "a revival": _plan("doomed"),
    "two revivals": _plan("doomed", "doomed", workers=2),
    "a revived segment": _plan("film:broken"),
    "a revival from the start": _plan("doomed", from_start=True),
    "a fan-out from the start": _plan("film:broken", from_start=True),
    "a message": _plan("mail:honest"),
    "a message, two relays": _plan("mail:honest", workers=2),
    "a message on a bad line": _plan("mail:shaky"),
    "a message nobody can look up": _plan("mail:mute"),
    "a refused message": _plan("mail:strict"),
    "moves": _plan("stepped"),
    "moves of two jobs": _plan("stepped", "stepped", workers=2),
    "a cancel among moves": _plan("stepped", cancels=0),
    "a budget": _plan("frugal"),
    "a budget, next to another": _plan("frugal", "frugal", workers=2),
    "linked jobs": _plan("family"),
    "linked jobs, two workers": _plan("family", workers=2),
    "cancelled linked jobs": _plan("family", workers=2, cancels=0),
    "pruning linked jobs": _plan("family", prunes=True),
    "pruning": _plan("plain", "plain", prunes=True),
    "pruning a fan-out": _plan("film:fine", prunes=True),
    "pruning next to a message": _plan("mail:honest", "plain", prunes=True),
}
