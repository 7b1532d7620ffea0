"""What a run becomes: a table for the terminal, `benchmark.md`, and its charts. Everything comes from the results."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from bench.compare.chart import Bar, Chart
from bench.compare.figures import Results, Summary
from bench.compare.goals import OURS, Judged, judge
from bench.compare.method import method
from bench.compare.peers import POSTGRES, SQLITE


@dataclass(frozen=True, slots=True)
class Metric:
    """How a metric is called and shown."""

    name: str
    title: str
    unit: str
    digits: int = 0
    less_is_better: bool = False

    @property
    def axis(self) -> str:
        """What is counted, and which end is the good one."""
        return f"{self.unit or 'per job'}, {'less' if self.less_is_better else 'more'} is better"


METRICS = (
    Metric("bulk", "Bulk submit", "jobs/s"),
    Metric("single", "Single submit", "jobs/s"),
    Metric("single p50", "Single submit, median call", "ms", 2, less_is_better=True),
    Metric("drain 1", "No-op drain, one worker process", "jobs/s"),
    Metric("drain 2", "No-op drain, two worker processes", "jobs/s"),
    Metric("start p50", "Submit to start on an idle worker, median", "ms", 2, less_is_better=True),
    Metric("start p95", "Submit to start on an idle worker, 95 of 100", "ms", 2, less_is_better=True),
    Metric("steps", "Ten durable steps a job, one worker process", "steps/s"),
    Metric("recovery", "Recovery after SIGKILL, another worker is there", "s", 2, less_is_better=True),
    Metric("restart", "Recovery after SIGKILL, the worker is started again", "s", 2, less_is_better=True),
    Metric("history", "No-op drain with settled rows", "jobs/s"),
    Metric("snapshot", "No-op drain under an old snapshot", "jobs/s"),
    Metric("statements", "Statements per job", "", 3, less_is_better=True),
    Metric("wal", "WAL per job", "bytes", less_is_better=True),
)
TITLES = {metric.name: metric.title for metric in METRICS}
NAMES = {POSTGRES: "PostgreSQL", SQLITE: "SQLite"}


def number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def middle(summary: Summary, metric: Metric) -> str:
    """Return a median, with a star if it has a remark, or the limit that passed first."""
    if summary.median is None:
        return summary.note
    return number(summary.median, metric.digits) + (" *" if summary.note else "")


def noted(summary: Summary | None, repeats: int) -> Summary | None:
    """Add to the remarks that some repeats are missing."""
    if summary is None or summary.count >= repeats:
        return summary
    sentence = f"{summary.count} of {repeats} repeats"
    return replace(summary, note=f"{summary.note}, {sentence}" if summary.note else sentence)


def figure(summary: Summary, metric: Metric) -> str:
    """Return a median with its spread."""
    if summary.median is None or summary.least == summary.most:
        return middle(summary, metric)
    spread = f"{number(summary.least, metric.digits)}–{number(summary.most, metric.digits)}"
    return f"{middle(summary, metric)} ({spread})"


def measured(results: Results, database: str) -> list[Metric]:
    """Return the metrics that somebody has a figure for."""
    found = {sample.metric for sample in results.samples if sample.database == database}
    return [metric for metric in METRICS if metric.name in found]


def everybody(results: Results, database: str, metric: Metric) -> list[tuple[str, Summary]]:
    """Return who has that metric, ours first."""
    repeats = int(results.facts["repeats"])
    found = [(peer, noted(results.summary(database, peer, metric.name), repeats)) for peer in results.peers(database)]
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
    lines += [f"  {verdict(goal):<13}{titled(goal):<58}{ratio_text(goal)}" for goal in judged]
    lines += [f"  not measured  {database} {peer} {what}: {why}" for database, peer, what, why in results.missing]
    return "\n".join(lines)


def verdict(goal: Judged) -> str:
    return {True: "reached", False: "MISSED", None: "not compared"}[goal.reached]


def against(goal: Judged) -> str:
    """Return whom a goal compares with, and who is missing among those."""
    other = "" if goal.other == "seconds" else goal.other
    return f"{other} (not complete: {', '.join(goal.without)})" if goal.without else other


def titled(goal: Judged) -> str:
    """Return what a goal is about, in words."""
    database, _, metric = goal.name.rpartition(": ")
    return f"{NAMES.get(database, NAMES[POSTGRES])}: {TITLES[metric]}"


def ratio_text(goal: Judged) -> str:
    unit = "s" if goal.other == "seconds" else "×"
    value = "–" if goal.value is None else f"{goal.value:.2f} {unit}"
    return f"{value:>10} {goal.sign} {goal.bound:g} {against(goal)}".rstrip()


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
    limit = float(results.facts["recovery_limit"])  # the only limit that may pass before there is a figure
    bars = [
        Bar(peer, summary.median, middle(summary, metric), summary.least, summary.most, peer == OURS, limit)
        for peer, summary in everybody(results, database, metric)
    ]
    return Chart(f"{metric.title} – {NAMES[database]}", metric.axis, bars)


def markdown(results: Results) -> str:
    """Return the document."""
    databases = [database for database in (POSTGRES, SQLITE) if results.peers(database)]
    overviews = [_overview(results, database) for database in databases]
    tables = [_tables(results, database) for database in databases]
    ends = [_peers(results), _missing(results), method(results.facts)]
    parts = [_head(results), _goals(judge(results)), *overviews, *tables, *ends]
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(results: Results) -> str:
    facts = results.facts
    kind = "**A quick run, to see that everything works; its figures mean little.**" if facts["is_quick"] else ""
    settings = ", ".join(f"`{name}` {value}" for name, value in facts["postgres_settings"].items())
    machine = f"{facts['cores']} cores, {facts['memory_gib']} GiB, {facts['system']}, Python {facts['python']}"
    return f"""# Leasehold compared with other job engines

The speed of Leasehold and of other job engines on PostgreSQL and SQLite: the same jobs, one machine, one server, one
run. Generated by `python -m bench.compare`; do not edit. Rates belong to this machine and this moment: only ratios
within this run are claimed. {kind}

- Commit `{facts["commit"]}`, {facts["date"]}. Repeats: {facts["repeats"]}. Every figure is the median of them, with
  the least and the most; lines in the charts show the same.
- {machine}.
- PostgreSQL {facts["postgres"]} with its defaults except `max_connections`; all engines use the same Unix socket and a
  fresh database for each measurement.
- Of those settings: {settings}.
- SQLite {facts["sqlite"]} for Leasehold, Python's own for the others.
- Every engine runs in the configuration that its documentation recommends for the purpose, and durable: see *Versions
  and settings* and *How it was measured* at the end."""


def _goals(judged: list[Judged]) -> str:
    reached, compared = (sum(goal.reached in kinds for goal in judged) for kinds in ({True}, {True, False}))
    lines = [
        "## Goals",
        "",
        f"{reached} of {compared} reached. A ratio is Leasehold's median divided by that of the engine named, the best",
        "of those that the goal compares; for times and seconds less is better.",
        "",
        "| | goal | compared with | ratio | bound |",
        "| --- | --- | --- | ---: | ---: |",
    ]
    for goal in judged:
        unit = " s" if goal.other == "seconds" else " ×"
        value = "–" if goal.value is None else f"{goal.value:.2f}{unit}"
        other = against(goal) or "–"
        lines.append(f"| {verdict(goal)} | {titled(goal)} | {other} | {value} | {goal.sign} {goal.bound:g}{unit} |")
    return "\n".join(lines)


def _overview(results: Results, database: str) -> str:
    """Return all medians in one table, the best of each row in bold."""
    peers = results.peers(database)
    lines = [f"## {NAMES[database]} at a glance", "", f"| | {' | '.join(peers)} |", f"| --- |{' ---: |' * len(peers)}"]
    for metric in measured(results, database):
        found = dict(everybody(results, database, metric))
        values = [summary.median for summary in found.values() if summary.median is not None]
        best = (min if metric.less_is_better else max)(values, default=None)
        cells = [_cell(found.get(peer), metric, best) for peer in peers]
        unit = f" ({metric.unit})" if metric.unit else ""
        lines.append(f"| {metric.title}{unit} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(summary: Summary | None, metric: Metric, best: float | None) -> str:
    if summary is None:
        return "–"
    shown = middle(summary, metric)
    return f"**{shown}**" if summary.median is not None and summary.median == best else shown


def _tables(results: Results, database: str) -> str:
    parts = [f"## {NAMES[database]}, one by one"]
    for metric in measured(results, database):
        lines = [
            f"### {metric.title}",
            "",
            f"| {metric.axis} | median | least | most |",
            "| --- | ---: | ---: | ---: |",
        ]
        notes = []
        for peer, summary in everybody(results, database, metric):
            least, most = (number(value, metric.digits) for value in (summary.least, summary.most))
            lines.append(f"| {peer} | {middle(summary, metric)} | {least} | {most} |")
            if summary.note and summary.median is not None:
                notes.append(f"\\* {peer}: {summary.note}.")
        name = chart_name(database, metric)
        lines += ["", *notes, *([""] if notes else []), f"![{metric.title}, {NAMES[database]}](bench/{name})"]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _peers(results: Results) -> str:
    lines = ["## Versions and settings", "", "| | versions | settings |", "| --- | --- | --- |"]
    for name, version in results.facts["versions"].items():
        lines.append(f"| {name} | {version or 'this commit'} | {results.facts['settings'][name]} |")
    if ways := results.facts.get("ways"):
        sentence = "Of several ways to run jobs of steps, the fastest in a trial of the same length (steps/s):"
        lines += ["", sentence, ""]
        lines += [f"- {_named(name)}: {chosen}." for name, chosen in ways.items()]
    if histories := results.facts["histories"]:
        lines += ["", "Settled rows before the drain with settled rows:", ""]
        lines += [f"- {_named(name)}: {made}." for name, made in histories.items()]
    return "\n".join(lines)


def _named(name: str) -> str:
    database, _, peer = name.partition(" ")
    return f"{NAMES[database]}, {peer}"


def _missing(results: Results) -> str:
    if not results.missing:
        return ""
    lines = ["## Not measured", ""]
    lines += [f"- {NAMES[database]}, {peer}, {what}: {why}." for database, peer, what, why in results.missing]
    return "\n".join(lines)
