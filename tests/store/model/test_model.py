"""Any operations in any order, found by Hypothesis: both databases answer alike, and as a dictionary would."""

import contextlib

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from leasehold.store import open_store
from tests.conftest import sqlite_url
from tests.store import work
from tests.store.model.rules_outside import Carrying
from tests.store.model.sides import Side


@pytest.fixture
def sides(tmp_path, postgres, postgres_template):
    urls = [sqlite_url(tmp_path), postgres.create_database(template=postgres_template)]
    with contextlib.ExitStack() as stack:
        stores = [stack.enter_context(contextlib.closing(open_store(url))) for url in urls]
        stores[0].migrate()
        yield [Side(store, stack.enter_context(work.connect(store))) for store in stores]
    postgres.drop_database(urls[1])


def check_machine(sides, examples: int, steps: int) -> None:
    options = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )
    run_state_machine_as_test(lambda: Carrying(sides), settings=options)  # type: ignore[arg-type]


def test_both_databases_do_what_a_dictionary_would(sides):
    """S1 to S14 and L1, whatever is asked of them in whatever order."""
    check_machine(sides, 15, 50)


@pytest.mark.soak
def test_both_databases_do_what_a_dictionary_would_at_length(sides):
    check_machine(sides, 2_000, 80)
