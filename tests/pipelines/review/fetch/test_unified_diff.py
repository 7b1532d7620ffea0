"""Plain diffs: every file with its hunks, whatever its lines look like, or a refusal."""

import pytest

from leasehold.pipelines.review.fetch import DiffInvalid, FileAction, LeftOut, LeftOutReason, fetch_diff

FORGING = "--- a/x.sql\n+++ b/x.sql\n@@ -1,2 +1,2 @@\n--- a/secret\n+++ b/secret\n @@ -1 +1 @@\n"


def read(text):
    return [(file.path, file.action, file.hunks) for file in fetch_diff(text).files]


def test_diffs_of_git_are_read_with_renames_modes_quotes_and_binaries(repository):
    repository.commit({"old.txt": "1\n2\n3\n4\n", "gone.txt": "x\n", "mode.sh": "x\n", "pic": b"\0a"})
    (repository.top / "mode.sh").chmod(0o755)
    changed = {"old.txt": None, "new.txt": "1\n2\n3\nX\n", "gone.txt": None, "pic": b"\0b", "a b/c": "y"}
    repository.commit({**changed, 'n\u00e4m"e\t': "-- a\n++ b\n"})
    text = repository.git("format-patch", "--stdout", "-1")
    assert set(read(text)) == {
        ("new.txt", FileAction.RENAMED, "@@ -1,4 +1,4 @@\n 1\n 2\n 3\n-4\n+X\n"),
        ("gone.txt", FileAction.DELETED, "@@ -1 +0,0 @@\n-x\n"),
        ("mode.sh", FileAction.MODIFIED, ""),
        ("a b/c", FileAction.ADDED, "@@ -0,0 +1 @@\n+y\n\\ No newline at end of file\n"),
        ('n\u00e4m"e\t', FileAction.ADDED, "@@ -0,0 +1,2 @@\n+-- a\n+++ b\n"),
    }
    assert fetch_diff(text).left_out == (LeftOut("pic", LeftOutReason.BINARY),)
    fetched = fetch_diff(text + "garbage\n" + text).files
    assert len(fetched) == 10


def test_plain_diffs_are_read_with_times_after_their_names_and_without_a_last_line_end():
    text = "Only in x: y\n--- old/a.c\t2026-01-01\n+++ a.c\t2026-01-02\n@@ -1 +1 @@ f()\n-a\r\n+b\r"
    assert read(text) == [("a.c", FileAction.MODIFIED, "@@ -1 +1 @@ f()\n-a\r\n+b\r\n")]
    assert read(text.replace("old/a.c", "/dev/null"))[0][1] is FileAction.ADDED


def test_a_line_of_a_file_is_never_taken_for_the_name_of_another():
    assert [file[0] for file in read(FORGING + "-x\n+y\n".replace("-x\n+y\n", ""))] == ["x.sql"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "No file"),
        ("hello\n", "No file"),
        ("--- a/x\n+++ b/x\n@@ -1,9 +1 @@\n-a\n", "line 3 is cut off"),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\ngarbage\n", "line 3 is cut off"),
        ("--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-a\n-b\n+c\n+d\n", "other lines"),
        ("diff --cc x\n@@@ -1,1 -1,1 +1,1 @@@\n", "combined diff"),
        ("--- a/x\n+++ \t\n@@ -1 +1 @@\n-a\n+b\n", "no name"),
    ],
)
def test_what_is_no_whole_diff_is_refused(text, reason):
    with pytest.raises(DiffInvalid, match=reason):
        fetch_diff(text)


def test_a_diff_beyond_its_limit_is_refused():
    with pytest.raises(DiffInvalid, match="the limit is"):
        fetch_diff("x" * 40_000_000)
