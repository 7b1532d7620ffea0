"""The index on both databases: rows are kept once each, found by any word of theirs, and returned in pages."""

import asyncio
import threading
from dataclasses import replace

import pytest

from leasehold.pipelines.download.index.backends import PostgresIndex, SqliteIndex
from leasehold.pipelines.download.index.index import Index, Row
from tests.pipelines.download.collection_folder import add_row

ROW = Row(
    key="1",
    work_id="work-7",
    artifact_id="arxiv-2024-001",
    url="https://api.arxiv.org/pdf/2024.00001v1",
    host="api.arxiv.org",
    name="Über die Grüße.pdf",
    path="files/work-7/Über die Grüße.pdf",
    media_type="application/pdf",
    size=5,
    sha256="a" * 64,
    state="INDEXED",
    fetched_at=1.5,
)


@pytest.fixture
def make_index(dialect, request, tmp_path):
    if dialect == "postgres":
        url = request.getfixturevalue("postgres").create_database()
        return lambda: Index(PostgresIndex(url))
    return lambda: Index(SqliteIndex(tmp_path / "index.db"))


@pytest.fixture
def index(make_index):
    made = make_index()
    yield made
    made.close()


def test_a_row_is_there_once_committed_and_a_second_time_replaces_it(index):
    assert not index.state_of("1")
    add_row(index, ROW)
    add_row(index, replace(ROW, size=6))
    assert index.state_of("1")
    assert list(index.rows()) == [replace(ROW, size=6)]


@pytest.mark.parametrize(
    "text", ["Grüße", "grüße über", "api.arxiv.org", "arxiv 2024", "work-7", "2024.00001", "die pdf"]
)
def test_a_row_is_found_by_any_of_its_words(index, text):
    add_row(index, ROW)
    add_row(
        index, replace(ROW, key="2", work_id="w", artifact_id="a", url="https://b.test/", host="b.test", name="b.txt")
    )
    assert [row.key for row in index.find(text)] == ["1"]


@pytest.mark.parametrize(
    "text", ["", "  ", '"', "'", "* OR", "NOT", "a:b", "( )", "%", "\\", "x' OR '1'='1", "NEAR(a b)"]
)
def test_nothing_that_is_searched_for_breaks_the_search(index, text):
    add_row(index, ROW)
    assert index.find(text) in ([], [ROW])


def test_the_same_content_of_another_artifact_is_known(index):
    add_row(index, ROW)
    assert not index.has_content("a" * 64, other_than="1")
    assert index.has_content("a" * 64, other_than="2")


@pytest.mark.parametrize("state", ["INDEXED", "DEDUPED"])
def test_the_first_row_of_a_content_is_indexed_and_others_are_deduped_whatever_they_were_called(index, state):
    for key in ("1", "2", "1", "3"):
        add_row(index, replace(ROW, key=key, state=state))
    assert [row.state for row in index.rows()] == ["INDEXED", "DEDUPED", "DEDUPED"]
    assert [index.state_of(key) for key in ("1", "2", "4")] == ["INDEXED", "DEDUPED", None]


def test_of_many_that_bring_one_content_at_once_one_is_indexed(make_index):
    indexes = [make_index() for _ in range(3)]

    rows = [replace(ROW, key=f"{number:05}", sha256=f"{number % 20:064}") for number in range(300)]

    async def add_all():
        return await asyncio.gather(*(indexes[number % 3].add(row) for number, row in enumerate(rows)))

    states = asyncio.run(add_all())
    assert states.count("INDEXED") == 20
    stored = {row.key: row.state for row in indexes[0].rows()}
    assert stored == {row.key: state for row, state in zip(rows, states, strict=True)}
    for index in indexes:
        index.close()


def test_many_threads_and_two_processes_worth_of_indexes_write_at_once(make_index):
    first, second = make_index(), make_index()

    def write(index, start):
        for number in range(start, start + 100):
            add_row(index, replace(ROW, key=f"{number:05}"))

    threads = [
        threading.Thread(target=write, args=(index, start))
        for index, start in [(first, 0), (first, 50), (second, 100), (second, 0)]
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [row.key for row in first.rows()] == [f"{number:05}" for number in range(200)]
    first.close()
    second.close()
