"""What a run becomes: a table for the terminal, `benchmark.md`, and its charts. Everything comes from the results."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bench.beside.chart import Bar, Chart
from bench.beside.figures import Results, Summary
from bench.beside.goals import OURS, Judged, judge
from bench.beside.peers import POSTGRES, SQLITE


@dataclass(frozen=True, slots=True)
class Metric:
    """How a metric is called and shown."""

    name: str
    title: str
    unit: str
    digits: int = 0


METRICS = (
    Metric("bulk", "Bulk submit", "jobs/s"),
    Metric("single", "Single submit", "jobs/s"),
    Metric("single p50", "Single submit, median call", "ms", 2),
    Metric("drain 1", "No-op drain, one worker process", "jobs/s"),
    Metric("drain 2", "No-op drain, two worker processes", "jobs/s"),
    Metric("start p50", "Submit to start on an idle worker, median", "ms", 2),
    Metric("start p95", "Submit to start on an idle worker, 95 of 100", "ms", 2),
    Metric("steps", "Ten durable steps a job, one worker process", "steps/s"),
    Metric("recovery", "Recovery after SIGKILL, another worker is there", "s", 2),
    Metric("restart", "Recovery after SIGKILL, the worker is started again", "s", 2),
    Metric("history", "No-op drain with settled rows", "jobs/s"),
    Metric("snapshot", "No-op drain under an old snapshot", "jobs/s"),
    Metric("statements", "Statements per job", "", 3),
    Metric("wal", "WAL per job", "bytes"),
)
NAMES = {POSTGRES: "PostgreSQL", SQLITE: "SQLite"}


def number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def middle(summary: Summary, metric: Metric) -> str:
    """Return a median, or the limit that passed first."""
    return summary.note if summary.median is None else number(summary.median, metric.digits)


def figure(summary: Summary, metric: Metric) -> str:
    """Return a median with its spread."""
    if summary.median is None or summary.least == summary.most:
        return middle(summary, metric)
    spread = f"{number(summary.least, metric.digits)}–{number(summary.most, metric.digits)}"
    return f"{number(summary.median, metric.digits)} ({spread})"


def measured(results: Results, database: str) -> list[Metric]:
    """Return the metrics that somebody has a figure for."""
    found = {sample.metric for sample in results.samples if sample.database == database}
    return [metric for metric in METRICS if metric.name in found]


def everybody(results: Results, database: str, metric: Metric) -> list[tuple[str, Summary]]:
    """Return who has that metric, ours first."""
    found = [(peer, results.summary(database, peer, metric.name)) for peer in results.peers(database)]
    return [(peer, summary) for peer, summary in found if summary is not None]


def terminal(results: Results, judged: list[Judged]) -> str:
    """Return everything as plain text."""
    lines = []
    for database in (POSTGRES, SQLITE):
        for metric in measured(results, database):
            lines.append(f"\n{NAMES[database]}: {metric.title} {f'({metric.unit})' if metric.unit else ''}")
            found = everybody(results, database, metric)
            lines += [f"  {peer:<18}{figure(summary, metric):>34}" for peer, summary in found]
    lines.append("\ngoals (ratios of this run)")
    lines += [f"  {verdict(goal):<13}{goal.name:<24}{beside(goal)}" for goal in judged]
    lines += [f"  not measured  {database} {peer} {what}: {why}" for database, peer, what, why in results.missing]
    return "\n".join(lines)


def verdict(goal: Judged) -> str:
    return {True: "reached", False: "MISSED", None: "not compared"}[goal.reached]


def beside(goal: Judged) -> str:
    unit = "s" if goal.beside == "seconds" else "×"
    value = "–" if goal.value is None else f"{goal.value:.2f} {unit}"
    return f"{value:>10} {goal.sign} {goal.bound:g} {'' if goal.beside == 'seconds' else goal.beside}".rstrip()


def write(results: Results, folder: Path) -> None:
    """Write the document and its charts below a folder."""
    charts = folder / "bench"
    charts.mkdir(parents=True, exist_ok=True)
    for old in charts.glob("*.svg"):
        old.unlink()
    for database in (POSTGRES, SQLITE):
        for metric in measured(results, database):
            (charts / chart_name(database, metric)).write_text(chart(results, database, metric).svg(), encoding="utf-8")
    (folder / "benchmark.md").write_text(markdown(results), encoding="utf-8")


def chart_name(database: str, metric: Metric) -> str:
    return f"{database}-{metric.name.replace(' ', '-')}.svg"


def chart(results: Results, database: str, metric: Metric) -> Chart:
    """Draw one metric of everybody who has it."""
    bars = [
        Bar(peer, summary.median, middle(summary, metric), summary.least, summary.most, peer == OURS)
        for peer, summary in everybody(results, database, metric)
    ]
    return Chart(f"{metric.title} – {NAMES[database]}", metric.unit or "per job", bars)


def markdown(results: Results) -> str:
    """Return the document."""
    tables = [_tables(results, database) for database in (POSTGRES, SQLITE) if results.peers(database)]
    parts = [_head(results), _goals(judge(results)), *tables, _peers(results), _missing(results), METHOD]
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(results: Results) -> str:
    facts = results.facts
    kind = "A quick run, to see that everything works; its figures say little." if facts["is_quick"] else ""
    settings = ", ".join(f"{name} {value}" for name, value in facts["postgres_settings"].items())
    machine = f"{facts['cores']} cores, {facts['memory_gib']} GiB, {facts['system']}, Python {facts['python']}"
    return f"""# Leasehold beside its peers

Generated by `python -m bench.beside`; not edited by hand. Figures of one machine and one moment: only ratios of one run
are claimed. {kind}

- Commit `{facts["commit"]}`, {facts["date"]}, {facts["repeats"]} repeat(s); medians, with least and most.
- {machine}.
- PostgreSQL {facts["postgres"]} with its own defaults ({settings}); everybody over the same Unix socket, a fresh
  database for each measurement. SQLite {facts["sqlite"]} for Leasehold, Python's own for the others."""


def _goals(judged: list[Judged]) -> str:
    lines = ["## Goals", "", "| | goal | beside | ratio | bound |", "| --- | --- | --- | ---: | ---: |"]
    for goal in judged:
        unit = " s" if goal.beside == "seconds" else " ×"
        value = "–" if goal.value is None else f"{goal.value:.2f}{unit}"
        lines.append(f"| {verdict(goal)} | {goal.name} | {goal.beside} | {value} | {goal.sign} {goal.bound:g}{unit} |")
    return "\n".join(lines)


def _tables(results: Results, database: str) -> str:
    parts = [f"## {NAMES[database]}"]
    for metric in measured(results, database):
        unit = f" ({metric.unit})" if metric.unit else ""
        lines = [f"### {metric.title}{unit}", "", "| | median | least | most |", "| --- | ---: | ---: | ---: |"]
        for peer, summary in everybody(results, database, metric):
            least, most = (number(value, metric.digits) for value in (summary.least, summary.most))
            lines.append(f"| {peer} | {middle(summary, metric)} | {least} | {most} |")
        name = chart_name(database, metric)
        lines += ["", f"![{metric.title}, {NAMES[database]}](bench/{name})"]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _peers(results: Results) -> str:
    lines = ["## Versions and settings", "", "| | versions | settings |", "| --- | --- | --- |"]
    for name, version in results.facts["versions"].items():
        lines.append(f"| {name} | {version or 'this commit'} | {results.facts['settings'][name]} |")
    lines += ["", "Settled rows before the drain with settled rows:", ""]
    lines += [f"- {name}: {made}." for name, made in results.facts["histories"].items()]
    return "\n".join(lines)


def _missing(results: Results) -> str:
    if not results.missing:
        return ""
    lines = ["## Not measured", ""]
    lines += [f"- {NAMES[database]}, {peer}, {what}: {why}." for database, peer, what, why in results.missing]
    return "\n".join(lines)


METHOD = """## How it was measured

- Every engine is a script in `bench/peers/` that speaks the same few words: a client process submits, worker processes
  run. The payload is the same for all: `{"user": 1, "address": "someone@example.com", "template": "welcome"}`.
- A drain counts from the first handler that starts to the moment when the engine's own tables hold nothing unsettled.
  It is void unless every job ran exactly once. Each engine gets as many jobs as last for some seconds, by its own rate.
- Order turns with each repeat; the engines of one workload follow each other directly.
- Latency: one clock, from before the submit to the first line of the handler, at random pauses, the worker idle.
- Recovery: two worker processes with the engine's own settings; the one that runs the job is killed; the time counts
  until the other starts it. "Started again": the only worker is killed, and another process is started at once.
- Old snapshot: a REPEATABLE READ transaction of another session, opened before the drain, held until its end.
- Statements as the server logs them, WAL as it counts it, over a drain, the start of the worker included.
- SQLite engines at the durability they default to: Leasehold, Huey and DBOS all commit with `synchronous` FULL."""
