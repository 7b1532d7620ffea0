"""A fork after the store was used: the child works on connections of its own, and the parent keeps its own."""

import contextlib
import subprocess
import sys

from leasehold.store import open_store
from tests.conftest import sqlite_url
from tests.store.work import ending, look

PREAMBLE = """
import os, sys
from leasehold.store import open_store
from leasehold.model.task import Submission, Terms

def submit(who, count):
    for number in range(count):
        store.tasks.submit([Submission("a", f"{who}-{number}", "{}", Terms())])

def fork(act):
    child = os.fork()
    if child:
        return child
    try:
        act()
        os._exit(0)
    finally:
        os._exit(1)

def ended_well(children):
    return all(os.waitpid(child, 0)[1] == 0 for child in children)

store = open_store(sys.argv[1])
submit("before", 1)
store.wake(["before"])
"""
MANY = """
children = [fork(lambda: submit(f"child-{number}", 50)) for number in range(4)]
submit("parent", 50)
print(ended_well(children))
submit("after", 1)
store.close()
"""
WAKING = """
def speak():
    store.wake(["child"])
    store.close()

print(ended_well([fork(speak)]))
store.wake(["parent"])
store.close()
"""
LOOKING = """
def look():
    opened = [os.path.realpath(f"/proc/self/fd/{entry}") for entry in os.listdir("/proc/self/fd")]
    assert not [name for name in opened if name.startswith(sys.argv[1].removeprefix("sqlite:///"))], opened

print(ended_well([fork(look)]))
submit("after", 1)
store.close()
"""
ADOPTING = """
import psycopg

def adopt():
    with psycopg.connect(sys.argv[1], autocommit=True) as own, store.transaction(own):
        submit("child", 1)

with psycopg.connect(sys.argv[1], autocommit=True) as own:
    with store.transaction(own):
        submit("parent", 1)
    print(ended_well([fork(adopt)]))
    with store.transaction(own):
        submit("after", 1)
store.close()
"""


def run(program: str, url: str) -> str:
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", PREAMBLE + program, url]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def keys(store) -> set[str]:
    return {row[0] for row in look(store, "SELECT key FROM task")}


def test_forked_children_and_their_parent_write_at_the_same_time(store, url):
    """S3: all that was acknowledged is there."""
    assert run(MANY, url) == "True\n"
    children = {f"child-{child}-{number}" for child in range(4) for number in range(50)}
    assert keys(store) == {"before-0", "after-0"} | children | {f"parent-{number}" for number in range(50)}


def test_the_wake_ups_of_a_forked_child_and_of_its_parent_are_received(store, url):
    with contextlib.closing(store.listener()) as listener, ending() as over:
        listener.wait(0.1)
        assert run(WAKING, url) == "True\n"
        received: set[str] = set()
        while not {"before", "child", "parent"} <= received and not over.is_set():
            words = listener.wait(2)
            received |= words
            if not words:
                break
    assert {"before", "child", "parent"} <= received


def test_a_forked_child_inherits_no_open_database_file(tmp_path):
    """SQLite would take the locks of an inherited connection for the child's own."""
    url = sqlite_url(tmp_path)
    with contextlib.closing(open_store(url)) as store:
        store.migrate()
    assert run(LOOKING, url) == "True\n"


def test_a_forked_child_takes_part_in_transactions_of_its_own_connection(postgres, postgres_template):
    url = postgres.create_database(postgres_template)
    assert run(ADOPTING, url) == "True\n"
    with contextlib.closing(open_store(url)) as store:
        assert keys(store) == {"before-0", "parent-0", "child-0", "after-0"}
    postgres.drop_database(url)
