"""Wake-ups: a notification sent in one process is received in another; a lost one costs a poll, never more."""

import contextlib
import gc
import os
import subprocess
import sys
import threading
import warnings

import psycopg
import pytest

from leasehold.store import open_store
from leasehold.store.db.sqlite_wake import SocketListener, SocketNotifier, folder_of
from leasehold.store.db.wake import ATTENTION, DUE, Profile, profile_of
from tests.support.wait import until

WAKE = """
import sys
from leasehold.store import open_store
store = open_store(sys.argv[1])
store.wake(sys.argv[2:])
store.close()
"""


@pytest.fixture
def listener(store):
    with contextlib.closing(store.listener()) as listener:
        listener.wait(0.01)  # the first name is ATTENTION where listening begins with a connection
        yield listener


def wake_elsewhere(url: str, *words: str) -> None:
    subprocess.run([sys.executable, "-c", WAKE, url, *words], check=True)


def expect(listener, *words: str) -> None:
    """Wait until all these names were received."""
    received: set[str] = set()

    def listen() -> bool:
        received.update(listener.wait(1))
        return received >= set(words)

    until(listen)


def test_a_notification_sent_in_another_process_is_received(listener, url):
    wake_elsewhere(url, "mail")
    expect(listener, "mail")
    wake_elsewhere(url, "film", ATTENTION)
    expect(listener, "film", ATTENTION)


@pytest.fixture
def listeners(store):
    """Three of one group, and one of another that serves the queue "film" alone."""
    with contextlib.ExitStack() as stack:
        profiles = [Profile()] * 3 + [profile_of(["film"], ["film"])]
        listeners = [stack.enter_context(contextlib.closing(store.listener(profile))) for profile in profiles]
        for listener in listeners:
            listener.wait(0.01)
        yield listeners


def test_a_hint_for_everybody_is_received_by_every_listener(store, listeners):
    store.wake([ATTENTION])
    for listener in listeners:
        expect(listener, ATTENTION)


def received(listeners, hint):
    """Who gets a hint, once everybody has got what was sent to all after it."""
    found = []
    for number, listener in enumerate(listeners):
        words: set[str] = set()
        while ATTENTION not in words:
            words |= listener.wait(1)
        found += [number] if hint in words else []
    return found


def test_a_hint_for_a_queue_is_received_by_two_of_each_group_that_serves_it(store, listeners):
    for hint, others in (("mail", []), ("film", [3]), (DUE, [3])):
        store.wake([hint])
        store.wake([ATTENTION])
        found = received(listeners, hint)
        assert (len(found), found[2:]) == (2 + len(others), others)


def test_the_sender_of_a_hint_and_those_without_room_are_chosen_last(store, listeners):
    first, second, third, _ = listeners
    second.show(is_full=True)
    for _ in range(5):
        store.wake(["mail"], most=1, sender=first.address)
        store.wake([ATTENTION])
        assert received(listeners, "mail") == [2]
    third.show(is_full=True)
    store.wake(["mail"], most=1, sender=third.address)
    store.wake([ATTENTION])
    assert received(listeners, "mail") == [0]
    first.show(is_full=True)
    store.wake(["mail"], sender=third.address)
    store.wake([ATTENTION])
    assert received(listeners, "mail") == [0, 1]


def test_a_listener_that_receives_nothing_returns_an_empty_set(listener):
    assert listener.wait(0.01) == set()
    assert listener.wait(0) == set()


def test_many_names_at_once_are_received_or_replaced_by_one_for_all(store, listener):
    names = [f"queue-{number:04}-{'x' * 40}" for number in range(300)]
    store.wake(names)
    received: set[str] = set()

    def listen() -> bool:
        received.update(listener.wait(1))
        return ATTENTION in received or received >= set(names)

    until(listen)
    assert received <= {*names, ATTENTION}


def test_notifying_nobody_is_no_error(store):
    store.wake(["mail"])
    store.wake([])
    assert store.reports.health().ready == 0


def test_a_listening_connection_killed_alone_heals_by_itself(postgres, postgres_template):
    """L2: after the gap ATTENTION stands for whatever was sent in it, and later names are received again."""
    url = postgres.create_database(postgres_template)
    with contextlib.closing(open_store(url)) as store, contextlib.closing(store.listener()) as listener:
        expect(listener, ATTENTION)
        with psycopg.connect(url, autocommit=True) as connection:
            killed = connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND application_name LIKE 'leasehold-%' AND pid <> pg_backend_pid()"
            ).fetchall()
        assert killed == [(True,)]
        expect(listener, ATTENTION)
        store.wake(["mail"])
        expect(listener, "mail")
    postgres.drop_database(url)


def test_a_notifier_whose_connection_was_killed_reconnects(postgres, postgres_template):
    url = postgres.create_database(postgres_template)
    with contextlib.closing(open_store(url)) as store, contextlib.closing(store.listener()) as listener:
        expect(listener, ATTENTION)
        store.wake(["first"])
        expect(listener, "first")
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND query LIKE '%pg_notify%' AND pid <> pg_backend_pid()"
            )

        def is_received() -> bool:
            store.wake(["again"])
            return "again" in listener.wait(0.2)

        until(is_received)
    postgres.drop_database(url)


def test_a_listener_whose_server_is_away_waits_and_reconnects(private_postgres):
    server = private_postgres()
    url = server.create_database()
    with contextlib.closing(open_store(url)) as store, contextlib.closing(store.listener()) as listener:
        expect(listener, ATTENTION)
        server.stop("immediate")
        until(lambda: listener.wait(0.05) == set())
        server.start()
        expect(listener, ATTENTION)


def test_the_socket_of_a_process_that_was_killed_is_cleared_away(tmp_path):
    path = tmp_path / "x.db"
    listener = SocketListener(path)
    (place,) = folder_of(path).iterdir()
    listener._socket.close()  # noqa: SLF001 — as a SIGKILL would, without a word
    listener._poke.close()  # noqa: SLF001
    with contextlib.closing(SocketNotifier(path)) as notifier:
        notifier.send(["mail"])
    assert not place.exists()
    folder_of(path).rmdir()


def test_a_closed_listener_leaves_nothing_behind(tmp_path):
    path = tmp_path / "x.db"
    with contextlib.closing(SocketListener(path)):
        assert len(list(folder_of(path).iterdir())) == 1
    assert not folder_of(path).exists()


def test_a_folder_of_another_user_is_neither_notified_nor_listened_in(tmp_path):
    path = tmp_path / "x.db"
    folder = folder_of(path)
    folder.mkdir(mode=0o777)
    try:
        os.chown(folder, 12_345, -1)
    except PermissionError:  # a normal user cannot stage this; what then holds is that nobody else wrote there
        assert folder.stat().st_uid == os.getuid()
    else:
        with contextlib.closing(SocketListener(path)) as listener:
            assert list(folder.iterdir()) == []
            assert listener.wait(0) == set()
    folder.rmdir()


def test_the_wake_ups_of_a_sibling_end_with_the_store(url):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        store = open_store(url)
        sibling = store.sibling()
        sibling.wake(["mail"])
        store.close()
        assert "leasehold-notifier" not in {thread.name for thread in threading.enumerate()}
        del store, sibling
        gc.collect()
    assert [str(one.message) for one in found] == []
