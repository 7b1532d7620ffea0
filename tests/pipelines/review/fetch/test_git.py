"""Changes of real git repositories: whole, within limits, and without running anything that a repository brings."""

import os
from pathlib import Path

import pytest

from leasehold.pipelines.review.fetch import (
    ChangeFetcher,
    ChangeTooLarge,
    FetchLimits,
    FileAction,
    LeftOut,
    LeftOutReason,
    RevisionInvalid,
)
from leasehold.pipelines.review.fetch.git_changes import RepositoryUnreadable

LINES = "".join(f"line {number}\n" for number in range(9))


def fetch(repository, revisions="HEAD", **limits):
    return ChangeFetcher(limits=FetchLimits(**limits)).fetch_git(repository.top, revisions)


def test_a_range_of_commits_is_fetched_with_the_hunks_of_its_files(repository):
    repository.commit(
        {"a b.txt": "one\r\ntwo\r\n", "gone.txt": "x\n", "old/name.txt": LINES, "mode.sh": "x\n"}, "first"
    )
    (repository.top / "mode.sh").chmod(0o755)
    renamed = LINES.replace("line 8", "last")
    changed = {"a b.txt": "one\r\nTWO\r\n", "gone.txt": None, "old/name.txt": None, "new/n\u00e4me.txt": renamed}
    repository.commit({**changed, "added.txt": "no end"}, "second")
    change = fetch(repository, "HEAD~1..HEAD")
    assert (change.name, change.description) == ("HEAD~1..HEAD", "second")
    assert {file.path: (file.action, file.hunks) for file in change.files} == {
        "a b.txt": (FileAction.MODIFIED, "@@ -1,2 +1,2 @@\n one\r\n-two\r\n+TWO\r\n"),
        "added.txt": (FileAction.ADDED, "@@ -0,0 +1 @@\n+no end\n\\ No newline at end of file\n"),
        "gone.txt": (FileAction.DELETED, "@@ -1 +0,0 @@\n-x\n"),
        "mode.sh": (FileAction.MODIFIED, ""),
        "new/n\u00e4me.txt": (
            FileAction.RENAMED,
            "@@ -6,4 +6,4 @@ line 4\n line 5\n line 6\n line 7\n-line 8\n+last\n",
        ),
    }
    assert fetch(repository, "HEAD") == change.__class__("HEAD", "second", change.files, ())
    assert fetch(repository, "HEAD~1").changed_files == ("a b.txt", "gone.txt", "mode.sh", "old/name.txt")


def test_three_dots_compare_with_where_the_branches_parted(repository):
    repository.commit({"a.txt": "a\n"})
    repository.git("branch", "topic")
    repository.commit({"main.txt": "m\n"})
    repository.git("switch", "--quiet", "topic")
    repository.commit({"topic.txt": "t\n"}, "on topic")
    assert fetch(repository, "main...topic").changed_files == ("topic.txt",)
    assert fetch(repository, "main..topic").changed_files == ("main.txt", "topic.txt")
    assert fetch(repository, "main...topic").description == "on topic"


@pytest.mark.parametrize(
    "revisions",
    ["", "-h", "--output=x", "HEAD..-h", "--help..HEAD", "HEAD HEAD", "nothing", "HEAD..", "..HEAD", "a..b..c",
     "HEAD\n", "HEAD:a.txt", "a" * 300],
)  # fmt: skip
def test_revisions_that_are_none_are_refused(repository, revisions):
    repository.commit({"a.txt": "a\n"})
    with pytest.raises(RevisionInvalid):
        fetch(repository, revisions)
    assert list(Path.cwd().glob("x")) == []


def test_a_folder_without_a_repository_is_refused(tmp_path):
    with pytest.raises(RepositoryUnreadable):
        ChangeFetcher().fetch_git(tmp_path, "HEAD")


def test_nothing_that_a_repository_brings_is_run_or_obeyed(repository, tmp_path, monkeypatch):
    mark = tmp_path / "ran"
    touch = tmp_path / "touch.sh"
    touch.write_text(f'#!/bin/sh\necho $0 >> {mark}\ncat "$1" 2>/dev/null\nexit 0\n')
    touch.chmod(0o755)
    repository.commit({"a.txt": "a\nb\n", ".gitattributes": "*.txt diff=evil filter=evil\n"})
    repository.commit({"a.txt": "a\nc\n"}, "second")
    for name in ("diff.external", "diff.evil.command", "diff.evil.textconv", "core.pager", "pager.log",
                 "core.fsmonitor", "filter.evil.smudge", "filter.evil.clean", "core.sshCommand",
                 "core.alternateRefsCommand", "gpg.program", "core.editor", "diff.evil.process"):  # fmt: skip
        repository.git("config", name, str(touch))
    for name, value in (("diff.noprefix", "true"), ("diff.context", "0"), ("color.ui", "always"), ("log.showSignature",
                        "true"), ("diff.orderFile", str(touch)), ("core.bigFileThreshold", "1"),
                        ("remote.evil.url", f"ext::{touch}"), ("protocol.ext.allow", "always"),
                        ("extensions.partialClone", "evil")):  # fmt: skip
        repository.git("config", name, value)
    for hook in ("post-index-change", "reference-transaction", "post-checkout"):
        (repository.top / ".git" / "hooks" / hook).symlink_to(touch)
    mark.unlink(missing_ok=True)
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(touch))
    monkeypatch.setenv("GIT_DIR", str(tmp_path))
    [file] = fetch(repository).files
    assert file.hunks == "@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
    assert not mark.exists()
    monkeypatch.delenv("GIT_DIR")
    repository.git("diff", "HEAD~1")
    assert mark.exists()


def test_binary_huge_generated_files_and_submodules_are_named_and_left_out(repository, tmp_path):
    repository.commit({"a.txt": "a\n"})
    repository.git("-C", str(tmp_path), "init", "--quiet", "other")
    repository.git("-C", str(tmp_path / "other"), "commit", "--quiet", "--allow-empty", "-m", "x")
    repository.git("submodule", "--quiet", "add", str(tmp_path / "other"), "sub")
    strange = os.fsdecode(b"latin-\xe9.txt")
    repository.commit({
        "logo.png": b"\x89PNG\0\0", "web/app.min.js": "x\n", "huge.txt": "x" * 301, "line\nbreak.txt": "x\n",
        strange: "x\n", "gen.py": "# Code generated by a tool. DO NOT EDIT.\nx\n", "b.txt": "b\n", ":(top)c.txt": "c\n",
        "x.txt": "x" * 250, "y.txt": "y" * 250,
    })  # fmt: skip
    change = fetch(repository, file_bytes=300, change_bytes=500)
    assert change.changed_files == (".gitmodules", ":(top)c.txt", "b.txt", "x.txt")
    assert set(change.left_out) == {
        LeftOut("logo.png", LeftOutReason.BINARY),
        LeftOut("web/app.min.js", LeftOutReason.GENERATED),
        LeftOut("gen.py", LeftOutReason.GENERATED),
        LeftOut("huge.txt", LeftOutReason.HUGE),
        LeftOut("line\nbreak.txt", LeftOutReason.UNREADABLE_PATH),
        LeftOut("latin-\\xe9.txt", LeftOutReason.UNREADABLE_PATH),
        LeftOut("sub", LeftOutReason.SUBMODULE),
        LeftOut("y.txt", LeftOutReason.CHANGE_LIMIT),
    }
    with pytest.raises(ChangeTooLarge):
        fetch(repository, files=5)
