"""The pytest plugin in a real pytest of a user: a module-level app is tested on a database of the test's own."""

import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import psycopg
import pytest

from tests.support.wait import until

SHOP = Path(__file__).parent / "shop.py"
PAGE = Path(__file__).parents[2] / "docs" / "howto" / "test.md"

ADOPTED = """
from datetime import timedelta

import pytest

import shop
from leasehold.testing import drain, elsewhere


def test_handlers_of_a_module_submit_to_the_database_of_the_test(leasehold_app, leasehold_clock):
    assert leasehold_app.adopt(shop.app) is shop.app
    job = shop.welcome.submit({"user": 7}, delay=86400)
    assert [found.id for found in leasehold_app.jobs()] == [job.id]
    drain(shop.app, leasehold_clock)
    assert job.output == "welcome 7"
    assert job.finished_at - job.created_at >= timedelta(days=1, hours=1)
    assert shop.film.submit().wait is not None
    shop.app.drain()
    assert {found.status for found in leasehold_app.jobs()} == {"DONE"}


def test_that_fails_after_it_adopted(leasehold_app):
    leasehold_app.adopt(shop.app)
    shop.welcome.submit({"user": 8})
    raise RuntimeError("fails")


def test_the_app_is_back_after_a_test_that_failed():
    assert shop.app.url == "sqlite:///production.db"
    assert shop.app.store.url == shop.app.url


def test_adopting_twice_is_adopting_once_and_a_close_by_the_app_itself_harms_nothing(leasehold_app):
    leasehold_app.adopt(shop.app)
    leasehold_app.adopt(shop.app)
    shop.welcome.submit({"user": 9})
    shop.app.close()  # as the end of a web application does
    assert len(leasehold_app.jobs()) == 1


def test_one_test_may_adopt_into_several_databases_one_inside_the_other(leasehold_app, tmp_path):
    leasehold_app.adopt(shop.app)
    shop.welcome.submit({"user": 1})
    with elsewhere(shop.app, f"sqlite:///{tmp_path}/inner.db") as inner:
        shop.welcome.submit({"user": 2})
        shop.welcome.submit({"user": 3})
        assert len(inner.jobs()) == 2
    assert len(shop.app.jobs()) == len(leasehold_app.jobs()) == 1


@pytest.mark.parametrize("number", range(4))
def test_every_test_has_a_database_of_its_own(leasehold_app, number):
    leasehold_app.adopt(shop.app)
    shop.welcome.submit({"user": number}, key="one")
    assert len(shop.app.jobs()) == 1
"""

ISOLATED = """
import shop


def test_isolated(leasehold_app):
    leasehold_app.adopt(shop.app)
    job = shop.forward.submit({"user": 5})
    shop.app.drain(wait_for_due=False)
    assert shop.app.get(job.output).payload == {"user": 5}
"""

POSTGRES = """
import pytest

import shop
from leasehold.testing import Clock


@pytest.fixture
def leasehold_url(leasehold_postgres_url):
    return leasehold_postgres_url


@pytest.mark.parametrize("number", range(2))
def test_on_postgresql(leasehold_app, leasehold_clock, number):
    leasehold_app.adopt(shop.app)
    assert shop.app.url.startswith("postgresql://")
    job = shop.welcome.submit({"user": 1}, delay=60)
    leasehold_clock.advance(61)
    shop.app.drain(wait_for_due=False)
    leasehold_clock.advance(3600)
    shop.app.drain(wait_for_due=False)
    assert job.output == "welcome 1"
    assert len(shop.app.jobs()) == 1
"""

KILLED = """
import os
import signal


def test_killed(leasehold_postgres_url):
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def pytest_run(tmp_path):
    """Runs a user's tests in a folder of their own: `pytest_run(text, *options, **environment)`."""

    def run(text: str, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "shop.py").write_text(SHOP.read_text())
        (tmp_path / "test_sample.py").write_text(text)
        command = [sys.executable, "-m", "pytest", "-q", "-rs", "-W", "error", "-p", "no:cacheprovider", *options]
        unset = {name: value for name, value in os.environ.items() if not name.startswith(("LEASEHOLD_", "PYTEST_"))}
        env = {**unset, **environment}
        return subprocess.run(command, check=False, capture_output=True, text=True, cwd=tmp_path, env=env)

    return run


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_a_module_level_app_is_adopted_for_a_test_and_put_back_also_when_the_test_fails(pytest_run, tmp_path, options):
    done = pytest_run(ADOPTED, *options)
    assert "1 failed, 8 passed" in done.stdout, done.stdout
    assert "RuntimeError: fails" in done.stdout
    assert not (tmp_path / "production.db").exists()


def test_the_examples_of_the_how_to_page_pass_in_pytest(pytest_run):
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (sample,) = [block for block in blocks if "def test(" in block]
    (override,) = [block for block in blocks if "def leasehold_url(" in block]
    assert "1 passed" in pytest_run(sample).stdout
    assert "1 skipped" in pytest_run(override + sample, LEASEHOLD_TEST_PG_BIN="/nowhere").stdout


def test_an_isolated_handler_submits_to_the_database_of_the_test_although_its_module_names_another(
    pytest_run, tmp_path
):
    """It runs in another process, which imports the module again."""
    done = pytest_run(ISOLATED)
    assert "1 passed" in done.stdout, done.stdout
    assert not (tmp_path / "production.db").exists()


def test_a_database_of_postgresql_is_made_on_the_server_that_is_named_and_dropped_afterwards(pytest_run, postgres):
    url = postgres.url()
    before = names_of(url)
    done = pytest_run(POSTGRES, LEASEHOLD_TEST_POSTGRES_URL=url)
    assert "2 passed" in done.stdout, done.stdout
    assert names_of(url) == before


@pytest.fixture
def temporary():
    """A folder that the server's account can reach."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


def test_a_server_is_started_from_programs_that_are_installed_and_gone_afterwards(pytest_run, postgres, temporary):
    done = pytest_run(POSTGRES, PATH=f"{postgres.binaries}:{os.environ['PATH']}", TMPDIR=str(temporary))
    assert "2 passed" in done.stdout, done.stdout
    assert list(temporary.iterdir()) == []


def test_a_server_that_was_started_ends_also_when_pytest_is_killed(pytest_run, postgres, temporary):
    done = pytest_run(KILLED, LEASEHOLD_TEST_PG_BIN=str(postgres.binaries), TMPDIR=str(temporary))
    assert done.returncode == -signal.SIGKILL
    until(lambda: not list(temporary.iterdir()))


def test_without_a_server_the_test_is_skipped_with_a_reason(pytest_run):
    done = pytest_run(POSTGRES, LEASEHOLD_TEST_PG_BIN="/nowhere")
    assert "2 skipped" in done.stdout, done.stdout
    assert "no server was found (/nowhere); install one, or let LEASEHOLD_TEST_POSTGRES_URL name one" in done.stdout


def test_a_server_that_is_named_and_away_is_an_error_and_not_skipped(pytest_run):
    done = pytest_run(POSTGRES, LEASEHOLD_TEST_POSTGRES_URL="postgresql://nobody@127.0.0.1:1/none")
    assert "2 errors" in done.stdout, done.stdout


def names_of(url: str) -> set[str]:
    with psycopg.connect(url) as connection:
        return {row[0] for row in connection.execute("SELECT datname FROM pg_database")}
