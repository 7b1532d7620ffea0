"""`leasehold export`: everything on record of one job, as lines of canonical JSON."""

import shutil
import sys
import tempfile

import click

from leasehold.cli.options import JOB_ID, help_with_examples, open_app, url_option
from leasehold.insight.record.export import export as write_record

SPOOL_BYTES = 16 * 1024 * 1024


@click.command(
    help=help_with_examples(
        "Export the complete record of a job.\n\nLines of canonical JSON: its tasks, events, effects, outcomes, letters"
        " and deliveries, as they are at one moment. No byte depends on the machine or the database, and each line's"
        " hash covers all before it. The record holds payloads, results and messages as they are: protect it as you"
        " protect them.",
        ["leasehold export 4711 > job.ndjson"],
    )
)
@click.argument("job_id", metavar="JOB", type=JOB_ID)
@url_option
def export(job_id: int) -> None:
    """Write a job's record."""
    with tempfile.SpooledTemporaryFile(SPOOL_BYTES) as spool:
        with open_app() as app:
            write_record(app.store, job_id, spool)
        spool.seek(0)
        shutil.copyfileobj(spool, sys.stdout.buffer)
        sys.stdout.buffer.flush()
