"""Verification: every content is read again, and each way to differ has its name; nothing is changed by it."""

import json

import pytest

from leasehold.pipelines.download.repair.verify import verify
from tests.pipelines.download.collection_folder import Folder, folder_of, sha

CONTENTS = {name: name.encode() * 1_000 for name in ("right", "changed", "missing", "unlinked", "misled")}


@pytest.fixture
def damaged(server, tmp_path):
    """A collection with one file of each kind of damage."""
    folder = Folder(tmp_path / "out")
    folder.fetch(*[server.add(f"/{name}", content) for name, content in CONTENTS.items()])
    names = {row.name: folder.root / row.path for row in folder.rows()}
    folder.object(CONTENTS["changed"]).write_bytes(b"rotten")
    folder.object(CONTENTS["missing"]).unlink()
    names["unlinked"].unlink()
    names["misled"].unlink()
    names["misled"].symlink_to(names["right"])
    folder.put(b"nobody's")
    return folder


def test_what_is_as_it_should_be_is_verified_on_both_databases(dialect, request, server, tmp_path):
    folder = folder_of(dialect, request, tmp_path)
    folder.fetch(server.add("/a", b"same"), server.add("/b", b"same"), server.add("/c", b"other"))
    answer = folder.command("verify")
    assert answer.exit_code == 0
    assert answer.output == "3 files, 2 contents, 9 B read: no differences.\n"


def test_each_kind_of_difference_is_named_and_sets_the_exit_code(damaged):
    answer = damaged.command("verify", "--json")
    assert answer.exit_code == 1
    found = json.loads(answer.output)
    below = {name: str(damaged.object(content).relative_to(damaged.root)) for name, content in CONTENTS.items()}
    reported = {(one["what"], one["path"]) for one in found["differences"]}
    links = {path for what, path in reported if what == "link"}
    assert {path.rpartition("/")[2] for path in links} == {"unlinked", "misled"}
    assert reported - {("link", path) for path in links} == {
        ("changed", below["changed"]),
        ("missing", below["missing"]),
        ("unknown", str(damaged.object(b"nobody's").relative_to(damaged.root))),
    }
    assert [one["found"] for one in found["differences"] if one["what"] == "changed"] == [sha(b"rotten")]
    assert (found["files"], found["contents"], found["is_well"]) == (5, 5, False)


def test_differences_are_printed_as_text_and_nothing_is_touched(damaged):
    before = sorted(path for path in damaged.root.rglob("*") if ".leasehold" not in path.parts)
    answer = damaged.command("verify")
    assert answer.exit_code == 1
    lines = answer.output.splitlines()
    assert sorted(line.split()[0] for line in lines[:-1]) == ["changed", "link", "link", "missing", "unknown"]
    assert lines[-1].endswith("5 differences.")
    assert sorted(path for path in damaged.root.rglob("*") if ".leasehold" not in path.parts) == before


def test_a_content_of_many_artifacts_is_read_once_and_its_progress_reported(server, tmp_path):
    folder = Folder(tmp_path / "out")
    folder.fetch(*[server.add(f"/{number}", b"same") for number in range(5)], server.add("/x", b"other"))
    reported = []
    with folder.opened() as collection:
        found = verify(collection, lambda done, total: reported.append((done, total)))
    assert reported == [(1, 2), (2, 2)]
    assert (found.files, found.contents, found.bytes) == (6, 2, 9)
