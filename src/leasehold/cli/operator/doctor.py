"""`leasehold doctor`: check the installation and its database."""

import os

import click
from msgspec import to_builtins

from leasehold.app.facade import DEFAULT_URL
from leasehold.cli.exit_codes import ExitCode
from leasehold.cli.options import given_url, help_with_examples, json_option, url_option
from leasehold.cli.table import Column, echo, format_table, terminal_width
from leasehold.cli.text import json_document, printable
from leasehold.insight.doctor import Finding, Grade, examine
from leasehold.runtime.process_identity import is_gone, this_process

COLUMNS = (Column("CHECK"), Column("GRADE"), Column("FOUND", flexible=True))


@click.command(
    help=help_with_examples(
        "Check this installation and its database.\n\nVersions, whether the database answers, its schema, its clock"
        " against this host's, how many tasks wait or run, live workers, expired leases. Changes nothing. 'warn' needs"
        " attention; 'wrong' comes with advice, and the exit code is 1. Passwords are not shown.",
        ["leasehold doctor", "leasehold doctor --url postgresql://db/shop --json"],
    )
)
@json_option
@url_option
def doctor(*, as_json: bool) -> None:
    """Check this installation."""
    url = given_url() or os.environ.get("LEASEHOLD_URL") or DEFAULT_URL
    findings = examine(url, this_process(), is_gone)
    if as_json:
        echo(json_document(to_builtins(findings)))
    else:
        _print(findings)
    if any(finding.grade is Grade.WRONG for finding in findings):
        click.get_current_context().exit(ExitCode.CHECK_FAILED)


def _print(findings: list[Finding]) -> None:
    head, *lines = format_table(COLUMNS, [[one.name, one.grade.value, one.text] for one in findings], terminal_width())
    echo(head)
    for line, finding in zip(lines, findings, strict=True):
        echo(line)
        if finding.advice:
            echo(f"  -> {printable(finding.advice)}")
