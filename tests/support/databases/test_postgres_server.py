"""The server that other tests rely on is itself reliable: it starts, dies, comes back and leaves nothing."""

import subprocess
import sys
from pathlib import Path

import psutil
import psycopg
import pytest

from tests.support.databases.postgres import PostgresServer, database_name
from tests.support.wait import until


def rows(url: str) -> list[tuple[int]]:
    with psycopg.connect(url) as connection:
        return connection.execute("SELECT number FROM kept").fetchall()


def keep(url: str, number: int) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS kept (number int)")
        connection.execute("INSERT INTO kept VALUES (%s)", [number])


def test_two_databases_of_one_server_do_not_see_each_other(postgres):
    first, second = postgres.create_database(), postgres.create_database()
    keep(first, 1)
    keep(second, 2)
    assert (rows(first), rows(second)) == ([(1,)], [(2,)])
    postgres.drop_database(first)
    postgres.drop_database(second)
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        rows(first)


def test_a_database_made_from_a_template_holds_its_rows(postgres):
    template = postgres.create_database()
    keep(template, 7)
    copy = postgres.create_database(template=database_name(template))
    assert rows(copy) == [(7,)]
    postgres.drop_database(copy)
    postgres.drop_database(template)


@pytest.mark.parametrize("end", ["stop", "stop immediate", "kill"])
def test_a_commit_survives_every_way_to_end_the_server(private_postgres, end):
    server = private_postgres()
    url = server.create_database()
    keep(url, 1)
    verb, *mode = end.split()
    getattr(server, verb)(*mode)
    with pytest.raises(psycopg.OperationalError):
        rows(url)
    server.start()
    assert rows(url) == [(1,)]


def test_a_server_listens_on_a_port_only_when_asked(private_postgres):
    server = private_postgres(tcp=True, durable=True)
    with psycopg.connect(server.url(tcp=True)) as connection:
        assert connection.execute("SHOW fsync").fetchone() == ("on",)
    with psycopg.connect(private_postgres().url()) as connection:
        assert connection.execute("SHOW listen_addresses").fetchone() == ("",)


def test_settings_changed_while_stopped_hold_after_the_start(private_postgres):
    server = private_postgres()
    server.stop()
    server.settings["enable_hashjoin"] = "off"
    server.start()
    with psycopg.connect(server.url()) as connection:
        assert connection.execute("SHOW enable_hashjoin").fetchone() == ("off",)


def test_a_closed_server_leaves_no_folder_and_no_process(postgres):
    server = PostgresServer(binaries=postgres.binaries).start()
    server.kill()
    server.close()
    assert not server.folder.exists()
    assert processes_inside(server.folder) == []


def test_a_server_whose_owner_was_killed_leaves_no_folder_and_no_process(postgres):
    script = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from tests.support.databases.postgres import PostgresServer\n"
        "server = PostgresServer(binaries=Path(sys.argv[1])).start()\n"
        "print(server.folder, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    root = Path(__file__).parents[3]
    command = [sys.executable, "-c", script, str(postgres.binaries)]
    owner = subprocess.run(command, check=False, cwd=root, stdout=subprocess.PIPE, text=True)
    folder = Path(owner.stdout.strip())
    assert folder.name.startswith("leasehold-pg-")
    until(lambda: not folder.exists())
    until(lambda: not processes_inside(folder))


def processes_inside(folder: Path) -> list[psutil.Process]:
    return [
        process
        for process in psutil.process_iter(["cwd"])
        if process.info["cwd"] and Path(process.info["cwd"]).is_relative_to(folder)
    ]
