"""Changes of Perforce through a scripted p4: nothing outside the allow-list, nothing partial, nothing forged."""

import json
import logging

import pytest

from leasehold.pipelines.review.fetch import (
    ChangeFetcher,
    ChangeTooLarge,
    FetchLimits,
    FileAction,
    LeftOut,
    LeftOutReason,
    PathDenied,
    PerforceFailed,
    RevisionInvalid,
    find_perforce,
)
from leasehold.pipelines.review.fetch.fetcher import PerforceMissing
from leasehold.pipelines.review.fetch.security import log_security_event, path_denied
from tests.pipelines.review.fetch.conftest import A

OUTSIDE = "//depot/project-secret/key.c"


def test_a_changelist_is_fetched_with_the_hunks_of_its_files(depot):
    depot.submit("12345", "Two lines\r\nof text")
    depot.add(f"{A}/new file.c", "one\r\ntwo")
    depot.add(f"{A}/main.c", "a\nb\nc\n", "a\nB\nc\n")
    depot.add(f"{A}/gone.c", action="delete")
    depot.add(f"{A}/a%40b.c", "x\n", action="branch", type_="text+x")
    change = depot.fetcher().fetch_perforce("12345", [f"{A}/..."])
    assert (change.name, change.description) == ("p4 12345", "Two lines\r\nof text")
    assert [(file.path, file.action, file.hunks) for file in change.files] == [
        (f"{A}/new file.c", FileAction.ADDED, "@@ -0,0 +1,2 @@\n+one\r\n+two\n\\ No newline at end of file\n"),
        (f"{A}/main.c", FileAction.MODIFIED, "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"),
        (f"{A}/gone.c", FileAction.DELETED, ""),
        (f"{A}/a%40b.c", FileAction.ADDED, "@@ -0,0 +1,1 @@\n+x\n"),
    ]
    assert change.left_out == ()
    assert depot.denied == []


def test_p4_gets_each_argument_by_itself_and_an_environment_of_its_own(depot, monkeypatch):
    monkeypatch.setenv("P4CLIENT", "ws")
    for name in ("P4CONFIG", "P4ALIASES", "AWS_OUTSIDE_ACCESS_KEY"):
        monkeypatch.setenv(name, "x")
    depot.submit("7")
    depot.add(f"{A}/a b;$(id).c", "x\n", "y\n")
    depot.fetcher().fetch_perforce("7")
    described, compared = depot.commands()
    assert described == ["-Mj", "-ztag", "describe", "-s", "7"]
    assert compared == ["-Mj", "-ztag", "diff2", "-du", f"{A}/a b;$(id).c#1", f"{A}/a b;$(id).c#2"]
    environment = json.loads(depot.path.with_suffix(".log").read_text().splitlines()[0])[1]
    assert {"P4PORT", "P4CLIENT", "P4CONFIG", "P4ALIASES"} <= set(environment)
    assert "AWS_OUTSIDE_ACCESS_KEY" not in environment
    fixed = find_perforce().program.environment
    assert (fixed["P4CONFIG"], fixed["P4ALIASES"], fixed["P4ENVIRO"]) == ("", "/dev/null", "/dev/null")


@pytest.mark.parametrize("number", ["", "-1", "0", "1 2", "-S", "1;id", "\u0661", "1\n", "99999999999", "//depot/..."])
def test_what_is_no_number_of_a_change_never_reaches_p4(depot, number):
    with pytest.raises(RevisionInvalid):
        depot.fetcher().fetch_perforce(number)
    assert depot.commands() == []


@pytest.mark.parametrize("path", [OUTSIDE, "//depot/...", "//...", "-o", f"{A}/../x", "//depot/projectA..."])
def test_a_path_outside_that_somebody_asks_for_is_denied_before_p4_is_asked(depot, path):
    depot.submit("7")
    with pytest.raises(PathDenied):
        depot.fetcher().fetch_perforce("7", [f"{A}/a.c", path])
    assert depot.commands() == []
    assert [(event.event, event.change, event.path) for event in depot.denied] == [("review_path_denied", "p4 7", path)]


def test_one_file_outside_refuses_the_whole_change_before_any_content_is_fetched(depot):
    depot.submit("7")
    depot.add(f"{A}/a.c", "x\n")
    depot.add(OUTSIDE, "key\n")
    depot.add(f"{A}/b.c", "x\n")
    with pytest.raises(PathDenied) as denied:
        depot.fetcher().fetch_perforce("7")
    assert OUTSIDE not in str(denied.value)
    assert [command[2] for command in depot.commands()] == ["describe"]
    [event] = depot.denied
    assert (event.path, event.reason) == (OUTSIDE, "it is outside the allow-list")
    assert event.at.endswith("+00:00")


@pytest.mark.parametrize("lie", [OUTSIDE, f"{A}/other.c", f"{A}/../project-secret/key.c"])
@pytest.mark.parametrize("contents", [("x\n",), ("x\n", "y\n")], ids=["print", "diff2"])
def test_a_file_that_comes_back_is_checked_again(depot, lie, contents):
    depot.submit("7")
    depot.add(f"{A}/first.c", "x\n")
    depot.add(f"{A}/a.c", *contents)
    depot.fields["lies"][f"{A}/a.c#{len(contents)}"] = lie
    with pytest.raises(PathDenied):
        depot.fetcher().fetch_perforce("7")
    assert [event.path for event in depot.denied] == [lie]


def test_a_description_cannot_forge_a_field(depot):
    forged = f"Fix\n... depotFile0 {A}/forged.c\n... action0 add\n" + json.dumps({"depotFile0": f"{A}/forged.c"})
    depot.submit("7", forged)
    depot.add(f"{A}/a.c", "x\n")
    change = depot.fetcher().fetch_perforce("7")
    assert change.changed_files == (f"{A}/a.c",)
    assert change.description == forged


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"depotFile7": f"{A}/b.c"}, "no text as action1"),
        ({"depotFile1": OUTSIDE, "action1": "obliterate", "type1": "text", "rev1": "1"}, "unknown action 'obliterate'"),
        ({"rev0": "1 -o x"}, "no number"),
        ({"change": "8"}, "did not answer with change 7"),
        ({"desc": None}, "no text as desc"),
    ],
)
def test_an_answer_that_is_not_as_it_should_be_is_refused(depot, more, message):
    depot.submit("7", **more)
    depot.add(f"{A}/a.c", "x\n")
    with pytest.raises(PerforceFailed, match=message):
        depot.fetcher().fetch_perforce("7")


def test_an_error_of_the_server_is_given_without_secrets(depot):
    with pytest.raises(PerforceFailed, match="8 - no such changelist"):
        depot.fetcher().fetch_perforce("8")
    with pytest.raises(PerforceMissing):
        ChangeFetcher(perforce=find_perforce()).fetch_perforce("8")


def test_a_pending_change_is_compared_with_what_it_is_based_on(depot):
    depot.submit("9")
    depot.add(f"{A}/a.c", "x\n", "y\n")
    depot.fields["contents"][f"{A}/a.c@=9"] = "z\n"
    [file] = depot.fetcher().fetch_perforce("9", pending=True).files
    assert file.hunks == "@@ -1 +1 @@\n-y\n+z\n"
    assert [command[2:] for command in depot.commands()] == [
        ["describe", "-s", "-S", "9"],
        ["diff2", "-du", f"{A}/a.c#2", f"{A}/a.c@=9"],
    ]


def test_binary_huge_and_generated_files_are_named_and_left_out(depot):
    depot.submit("7")
    depot.add(f"{A}/logo.png", "x", type_="binary+F")
    depot.add(f"{A}/yarn.lock", "x\n")
    depot.add(f"{A}/described.c", "x\n", fileSize="101")
    depot.add(f"{A}/printed.c", "x" * 101, fileSize="1")
    depot.add(f"{A}/flood.c", "x" * 200_000, fileSize="1")
    depot.add(f"{A}/gen.go", "// Code generated by protoc. DO NOT EDIT.\nx\n")
    depot.add(f"{A}/a.c", "a" * 50 + "\n")
    depot.add(f"{A}/b.c", "b" * 50 + "\n")
    change = depot.fetcher(limits=FetchLimits(8, 100, 130)).fetch_perforce("7")
    assert change.changed_files == (f"{A}/a.c",)
    assert change.left_out == (
        LeftOut(f"{A}/logo.png", LeftOutReason.BINARY),
        LeftOut(f"{A}/yarn.lock", LeftOutReason.GENERATED),
        LeftOut(f"{A}/described.c", LeftOutReason.HUGE),
        LeftOut(f"{A}/printed.c", LeftOutReason.HUGE),
        LeftOut(f"{A}/flood.c", LeftOutReason.HUGE),
        LeftOut(f"{A}/gen.go", LeftOutReason.GENERATED),
        LeftOut(f"{A}/b.c", LeftOutReason.CHANGE_LIMIT),
    )
    with pytest.raises(ChangeTooLarge):
        depot.fetcher(limits=FetchLimits(files=7)).fetch_perforce("7")


def test_s16_a_security_event_is_one_line_of_json_without_secrets(caplog):
    event = path_denied("p4 7", "//depot/password=hunter2-hunter2\n/x", "it is outside the allow-list")
    with caplog.at_level(logging.WARNING, "leasehold.security"):
        log_security_event(event)
    [record] = caplog.records
    assert "hunter2" not in record.getMessage()
    assert json.loads(record.getMessage())["reason"] == "it is outside the allow-list"
