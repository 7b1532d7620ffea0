"""The allow-list: what an entry may be, what it admits, and the record of its changes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.errors import LeaseholdError
from leasehold.pipelines.review.fetch import (
    AllowList,
    AllowListAudit,
    AllowListAuditDamaged,
    AllowListInvalid,
    PathDenied,
)
from leasehold.pipelines.review.fetch.allow_list_audit import WhoMissing

ALLOWED = AllowList.of(["//depot/project/...", "//depot/libs/security/..."])
GOOD = ("//depot/project/a.c", "//depot/project/a b/c.c", "//depot/libs/security/x", "//depot/project/a%40b",
        "//depot/project/...a".replace("...", "..a"), "//depot/project/\u00e9", "//depot/project/-r")  # fmt: skip
BAD = (
    "//depot/project-secret/a.c", "//depot/projectX/a.c", "//depot/project", "//depot/project/", "//depot/libs/a.c",
    "//depot/Project/a.c", "//depot/project/../secret/a.c", "//depot/project/./a.c", "//depot/project//a.c",
    "//depot/project/...", "//depot/project/*", "//depot/project/a#1", "//depot/project/a@2", "/depot/project/a.c",
    "depot/project/a.c", "", "//depot/project/a\nb", "//depot/project/a\0", "//depot\\project\\a.c",
    "//depot/project/%2e%2e/secret", "//depot/project/%2E%2E/x", "//depot/project/%", "//depot/project/%4",
    "//depot/project/a%00", "-//depot/project/a.c", " //depot/project/a.c", "//depot/project/\ufffd",
    "//depot/project/" + "x" * 5_000, "//depot/project/\u202ecod.exe",
)  # fmt: skip


@pytest.mark.parametrize("path", GOOD)
def test_a_file_below_an_entry_is_admitted(path):
    assert ALLOWED.check(path) == path


@pytest.mark.parametrize("path", BAD, ids=lambda path: path[:40].encode("unicode_escape").decode())
def test_every_other_path_is_denied_with_the_reason(path):
    with pytest.raises(PathDenied) as denied:
        ALLOWED.check(path)
    assert denied.value.path == path
    assert denied.value.reason


@pytest.mark.parametrize(
    "entries",
    [[], [""], ["//..."], ["//*"], ["//*/..."], ["//depot/project..."], ["//depot/project"], ["//depot/project/"],
     ["//depot/*/..."], ["//depot/project/*"], ["//depot/.../x/..."], ["//depot/../..."], ["//depot/./..."], ["///..."],
     ["/depot/project/..."], ["depot/..."], ["//depot/%2e%2e/..."], ["//depot/a@1/..."], [7], [None],
     ["//depot/project/...", "//..."]],
    ids=repr,
)  # fmt: skip
def test_an_allow_list_that_is_empty_not_canonical_or_too_broad_is_refused_whole(entries):
    with pytest.raises(AllowListInvalid):
        AllowList.of(entries)


def test_entries_are_sorted_and_those_inside_others_are_left_out():
    found = AllowList.of(["//depot/b/...", "//depot/a/x/...", "//depot/a/...", "//depot/b/...", "//depot/ab/..."])
    assert found.entries == ("//depot/a/...", "//depot/ab/...", "//depot/b/...")


def test_a_folder_that_is_asked_for_is_admitted_only_inside_an_entry():
    ALLOWED.check_asked("//depot/project/...")
    ALLOWED.check_asked("//depot/project/sub/...")
    for path in ("//depot/...", "//...", "//depot/project...", "//depot/project-secret/...", "//depot/project/*/..."):
        with pytest.raises(PathDenied):
            ALLOWED.check_asked(path)


@given(
    st.lists(st.sampled_from(["project", "project-secret", "..", ".", "", "a", "...", "%2e%2e", "\\.."]), max_size=6)
)
def test_no_path_is_admitted_that_an_operating_system_would_read_elsewhere(parts):
    path = "//depot/" + "/".join(parts)
    try:
        found = ALLOWED.check(path)
    except PathDenied:
        return
    assert found.startswith("//depot/project/")
    assert not {"..", ".", ""} & set(found[2:].split("/"))


def test_every_change_of_the_allow_list_is_recorded_with_who_when_and_what(tmp_path):
    audit = AllowListAudit(tmp_path / "allow-list.jsonl")
    audit.load(["//depot/a/...", "//depot/b/..."], "ana")
    assert audit.load(["//depot/b/...", "//depot/a/..."], "bob").entries == ("//depot/a/...", "//depot/b/...")
    audit.load(["//depot/b/...", "//depot/c/..."], "bob")
    first, second = audit.changes()
    assert (first.who, first.added, first.removed) == ("ana", ("//depot/a/...", "//depot/b/..."), ())
    assert (second.who, second.added, second.removed) == ("bob", ("//depot/c/...",), ("//depot/a/...",))
    assert second.entries == ("//depot/b/...", "//depot/c/...")
    assert first.at <= second.at
    assert second.at.endswith("+00:00")


def test_nothing_is_recorded_of_a_list_that_is_refused_or_of_nobody(tmp_path):
    audit = AllowListAudit(tmp_path / "allow-list.jsonl")
    with pytest.raises(AllowListInvalid):
        audit.load(["//..."], "ana")
    with pytest.raises(WhoMissing):
        audit.load(["//depot/a/..."], " ")
    assert audit.changes() == ()


def test_a_torn_line_is_cut_and_the_change_is_recorded_again(tmp_path):
    path = tmp_path / "allow-list.jsonl"
    audit = AllowListAudit(path)
    audit.load(["//depot/a/..."], "ana")
    whole = path.read_bytes()
    audit.load(["//depot/b/..."], "bob")
    for size in (len(whole) - 9, len(whole) + 9):
        path.write_bytes((whole + b'{"at":"torn' * 9)[:size])
        audit.load(["//depot/b/..."], "bob")
        assert audit.changes()[-1].entries == ("//depot/b/...",)
    assert [change.who for change in audit.changes()] == ["ana", "bob"]


@pytest.mark.parametrize("edit", ["remove", "change", "garbage"])
def test_a_record_that_was_changed_later_is_refused(tmp_path, edit):
    path = tmp_path / "allow-list.jsonl"
    audit = AllowListAudit(path)
    for entry in ("//depot/a/...", "//depot/b/...", "//depot/c/..."):
        audit.load([entry], "ana")
    lines = path.read_bytes().splitlines(keepends=True)
    changed = {"remove": b"", "change": lines[1].replace(b"ana", b"bob"), "garbage": json.dumps([1]).encode() + b"\n"}
    path.write_bytes(lines[0] + changed[edit] + lines[2])
    for read in (audit.changes, lambda: audit.load(["//depot/d/..."], "ana")):
        with pytest.raises(AllowListAuditDamaged):
            read()
    assert issubclass(AllowListAuditDamaged, LeaseholdError)
