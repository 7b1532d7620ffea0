"""What the tests of the functional interface share: a file opened with either library, and short helpers."""

import sqlite3
from typing import Any

import apsw
import pytest

from leasehold import Leasehold
from leasehold.pipelines.download.job_leasing import lease_next_job
from leasehold.pipelines.download.job_planning import plan_job_if_absent
from leasehold.pipelines.download.job_state import advance_state
from leasehold.pipelines.download.schema_migration import apply_migration
from leasehold.testing import Clock

URL = "https://example.org/paper.pdf"
LIBRARIES: dict[str, Any] = {"apsw": apsw.Connection, "sqlite3": sqlite3.connect}
FORWARD = (
    ("HEAD_DONE", ("LEASED",)),
    ("RESUME_OK", ("HEAD_DONE",)),
    ("STREAMING", ("HEAD_DONE", "RESUME_OK")),
    ("FINALIZED", ("STREAMING",)),
)


@pytest.fixture(params=LIBRARIES)
def connect(request, tmp_path):
    """Open the file again and again, with one of the libraries."""
    made = []

    def connect():
        made.append(LIBRARIES[request.param](str(tmp_path / "manifest.sqlite3")))
        return made[-1]

    yield connect
    for one in made:
        one.close()


@pytest.fixture
def conn(connect):
    made = connect()
    apply_migration(made)
    return made


def clock_of(conn):
    app = Leasehold(connection=conn)
    return Clock(app)


def plan(conn, number=1, url=URL):
    return plan_job_if_absent(conn, work_id=f"work-{number}", artifact_id="a", canonical_url=url)


def lease(conn, owner="worker-1", **options):
    job = lease_next_job(conn, owner=owner, **options)
    assert job is not None
    return job


def go(conn, job_id, *states):
    for state, allowed in FORWARD:
        if not states or state in states:
            advance_state(conn, job_id=job_id, to_state=state, allowed_from=allowed)


def table(conn, what, columns="*"):
    cursor = conn.cursor()
    found = cursor.execute(f"SELECT {columns} FROM {what}").fetchall()  # noqa: S608
    return [tuple(row) for row in found]
