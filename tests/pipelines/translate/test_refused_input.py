"""Input that cannot be translated: refused with a sentence on what to do, before anything is written."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pipelines.translate.workspace import (
    CHURCH,
    DOOR,
    HOUSE,
    SHY,
    STREET,
    TABLE,
    WINDOW,
    Workspace,
    command,
    known,
    spanish,
    traces,
)
from tests.support.disks.small_disk import small_disk
from tests.support.processes.fork_server import ROOT

NOBODY = 65_534
MAY_MOUNT = 21  # the bit of CAP_SYS_ADMIN


def sparse(path):
    with path.open("wb") as file:
        file.truncate(200 * 1024 * 1024)


DOCUMENTS = {
    "binary": (lambda path: path.write_bytes(b"\x7fELF\0\1\2"), "holds no text"),
    "200 MB": (sparse, "larger than its limit"),
    "not UTF-8": (lambda path: path.write_bytes(b"one\n\ncaf\xe9\n"), "Byte 8 (line 3)"),
    "UTF-16": (lambda path: path.write_text(HOUSE, encoding="utf-16"), "byte order mark of UTF-16"),
    "empty": (lambda path: path.touch(), "no paragraph to translate"),
    "without text": (lambda path: path.write_text("\n\n```\ncode\n```\n"), "no paragraph to translate"),
    "one long paragraph": (lambda path: path.write_text("word " * 200_000), "divide it"),
    "folder": (lambda path: path.mkdir(), "Only regular files are read"),
    "pipe": (os.mkfifo, "Only regular files are read"),
    "not there": (lambda path: None, "No such file or directory"),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_that_cannot_be_translated_is_refused_and_nothing_is_written(workspace, name):
    make, message = DOCUMENTS[name]
    make(workspace.document)
    answer = workspace.translate()
    assert answer.exit_code == 2, answer.output
    assert re.match(r"error (DOCUMENT|PARAGRAPH)_[A-Z0-9_]+: ", answer.stderr)
    assert message in answer.stderr
    assert not workspace.out.exists()


@pytest.mark.parametrize("name", ["x" * 230 + ".md", "new\nline.md", "bad\udcff.md", "é" * 110 + ".md", "pages.odt"])
def test_a_document_whose_name_no_row_could_hold_is_refused_and_nothing_is_written(workspace, name):
    workspace.document = workspace.document.with_name(name)
    workspace.write(HOUSE)
    answer = workspace.translate()
    assert answer.exit_code == 2, answer.output
    assert re.match("error DOCUMENT_(NAME_INVALID|UNSUPPORTED): ", answer.stderr)
    assert not workspace.out.exists()


@pytest.mark.parametrize("words", [["--from", "en_US"], ["--to", "x"], ["--from", "en\n"], ["--to", "../es"]])
def test_a_language_that_no_row_could_hold_is_refused_and_nothing_is_written(workspace, words):
    workspace.write(HOUSE)
    answer = workspace.translate(*words)
    assert answer.exit_code == 2
    assert "is no language tag; write en, es, pt-BR" in answer.stderr
    assert not workspace.out.exists()


def test_a_pair_that_is_not_installed_is_refused_with_those_that_are_and_how_to_get_more(workspace, apertium):
    workspace.write(HOUSE)
    answer = workspace.translate("--translator", apertium.name, "--to", "fi")
    assert answer.exit_code == 2
    assert answer.stderr.startswith("error PAIR_UNSUPPORTED: ")
    assert "no en→fi here. Installed: " in answer.stderr
    assert "en→es" in answer.stderr
    assert "apt install apertium apertium-eng-spa" in answer.stderr
    assert not workspace.out.exists()


@pytest.mark.parametrize("run_id", ["a/b", "..", ".hidden", "a b", "x" * 101, "a\n", "end."])
def test_a_run_id_that_is_no_name_of_a_folder_is_refused(workspace, run_id):
    workspace.write(HOUSE)
    answer = workspace.translate("--run-id", run_id)
    assert answer.exit_code == 2
    assert "RUN_ID_INVALID" in answer.stderr
    assert not workspace.out.exists()


@pytest.mark.parametrize("text", ["adequacy=nan", "adequacy=1.5", "adequacy=x", "adequacy", "beauty=0.5", "=0.5"])
def test_a_threshold_that_is_none_is_refused(workspace, text):
    workspace.write(HOUSE)
    answer = workspace.translate("--threshold", text)
    assert answer.exit_code == 2
    assert not workspace.out.exists()


@pytest.mark.parametrize("count", ["1", "0", "-3", "11", "many"])
def test_a_number_of_attempts_that_cannot_be_is_refused(workspace, count):
    workspace.write(HOUSE)
    answer = workspace.translate("--max-attempts", count)
    assert answer.exit_code == 2
    assert "--max-attempts" in answer.stderr
    assert not workspace.out.exists()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run that others are not to touch."""
    made = Workspace(tmp_path_factory.mktemp("run"))
    made.write(HOUSE, TABLE, WINDOW)
    assert made.translate().exit_code == 0
    return made


def check_untouched(run, *words, message, document=None):
    before = traces(run.run_folder)
    own = run.document
    run.document = document or own
    answer = run.translate("--run-id", run.run_folder.name, *words)
    run.document = own
    assert answer.exit_code == 2, answer.output
    assert "RUN_FOREIGN" in answer.stderr
    assert message in answer.stderr
    assert traces(run.run_folder) == before


def test_the_run_of_another_document_is_refused_and_left_as_it_is(run):
    other = run.folder / "other.md"
    other.write_text(f"{HOUSE}\n")
    check_untouched(run, document=other, message="is of story.md, and this is other.md")
    check_untouched(run, "--to", "pt", message="translates from en to es, and not from en to pt")
    strange = run.folder / "elsewhere" / "story.md"
    strange.parent.mkdir(exist_ok=True)
    strange.write_text(f"{DOOR}\n\n{STREET}\n\n{CHURCH}\n")
    check_untouched(run, document=strange, message="has no paragraph in common with this one")


def test_a_folder_whose_manifest_nobody_remembers_is_not_written_over(workspace):
    workspace.write(HOUSE)
    workspace.run_folder.mkdir(parents=True)
    (workspace.run_folder / "manifest.json").write_text("{}")
    check_untouched(workspace, message="has a manifest, and nothing shows that it is of story.md")


@pytest.mark.parametrize("verb", [["status"], ["project"], ["approve", "--all"], ["reject", "1", "--note", "n"]])
def test_the_error_for_a_folder_that_is_no_run_explains_how_to_make_one(tmp_path, verb):
    answer = command("translate", verb[0], str(tmp_path), *verb[1:])
    assert answer.exit_code == 2
    assert "leasehold translate DOCUMENT --from en --to es" in answer.stderr
    assert list(tmp_path.iterdir()) == []
    assert command("translate", verb[0], str(tmp_path / "none"), *verb[1:]).exit_code == 2


def test_what_a_run_remembers_is_not_guessed_if_it_cannot_be_read(workspace):
    workspace.write(HOUSE)
    memory = workspace.run_folder / ".leasehold" / "run.json"
    memory.parent.mkdir(parents=True)
    for content in ("", "{", "[]", json.dumps({"identity": {}}), json.dumps({"identity": 7, "options": {}})):
        memory.write_text(content)
        answer = workspace.translate()
        assert answer.exit_code == 2, answer.output
        assert "RUN_MISSING" in answer.stderr
        assert memory.read_text() == content


# Root may write everywhere; without its powers it is a user like others. What is not root's own is closed to it then.
WITHOUT_POWERS = """
from tests.pipelines.download.crash.killed_worker import give_up_power
give_up_power()
import leasehold.cli.root
leasehold.cli.root.main()
"""


@pytest.mark.parametrize("user", [NOBODY] if os.geteuid() == 0 else [])
def test_a_user_without_permission_gets_an_error_and_leaves_nothing(workspace, user):
    workspace.write(HOUSE)
    workspace.out.mkdir()
    hidden = workspace.folder / "terms.csv"
    hidden.write_text("house,hogar\n")
    hidden.chmod(0o600)
    for path in (workspace.out, hidden):
        os.chown(path, user, user)
    for more, code, message in (
        ([], 4, "Failed to acquire RUNNING.lock: Permission denied"),
        (["--glossary", str(hidden)], 2, "is not readable"),
        (["--style", str(hidden)], 2, "is not readable"),
        (["--translator", f"dictionary:{hidden}"], 2, "TRANSLATOR_INVALID"),
    ):
        words = [sys.executable, "-c", WITHOUT_POWERS, *workspace.order(*more)]
        ended = subprocess.run(words, env=known(), cwd=ROOT, capture_output=True, text=True, check=False)
        assert ended.returncode == code, ended.stderr
        assert message in ended.stderr
        assert "Traceback" not in ended.stderr
        assert list(workspace.out.iterdir()) == []


def disks():
    """Return the sizes of disks that can be made here: none without the right to mount."""
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("CapEff")]
    return [8] if int(line.split()[1], 16) >> MAY_MOUNT & 1 else []


@pytest.mark.parametrize("megabytes", disks())
def test_a_full_disk_is_reported_and_the_run_continues_once_there_is_room(megabytes, tmp_path):
    workspace = Workspace(tmp_path)
    with small_disk(megabytes) as disk:
        workspace.out = disk.folder / "runs"
        workspace.run_folder = workspace.out / "story-en-es"
        workspace.write(HOUSE, SHY)
        assert workspace.translate().exit_code == 1
        before = {path: path.read_bytes() for path in workspace.run_folder.glob("[fmrs]*/*.*")}
        workspace.write(HOUSE, TABLE, SHY)
        disk.fill()
        answer = workspace.translate()
        assert answer.exit_code in (3, 4), answer.output
        assert "No space left on device" in answer.stderr or "FULL" in answer.stderr.upper()
        assert {path: path.read_bytes() for path in before} == before
        disk.clear()
        assert workspace.translate().exit_code == 1
        assert workspace.final() == [spanish(HOUSE), spanish(TABLE), SHY]
