"""The command: fetching, going on, and asking; on the database in the folder and on PostgreSQL."""

import json

import pytest
from click.testing import CliRunner

from leasehold.cli.root import root
from leasehold.pipelines.download import read_manifest, reconcile
from leasehold.pipelines.download.run_loop import read_status
from tests.pipelines.download.collection_folder import Folder, make_old, sha

CONTENT = b"all of it " * 5_000


@pytest.fixture
def fetch(folder, tmp_path):
    """Runs `leasehold download MANIFEST --out DIR` with lines for a manifest."""

    def run(*lines, words=(), env=None):
        manifest = tmp_path / "manifest"
        manifest.write_text("\n".join(lines))
        where = ["--url", folder.url] if folder.url else []
        given = ["download", str(manifest), "--out", str(folder.root), "--workers", "1", *where, *words]
        return CliRunner().invoke(root, given, env=env, prog_name="leasehold")

    return run


def test_a_manifest_is_fetched_once_and_again_there_is_nothing_to_do(folder, server, fetch):
    lines = [server.add(f"/{number}", CONTENT + bytes([number])) for number in range(3)]
    answer = fetch(*lines)
    assert (answer.exit_code, answer.output) == (0, "3 downloaded.\n")
    again = fetch(*lines)
    assert (again.exit_code, again.output) == (0, "Nothing to do: 3 downloaded.\n")
    assert len(server.log) == 6
    assert folder.command("status").output == "3 downloaded\n"
    assert json.loads(folder.command("status", "--json").output) == {"INDEXED": 3}


def test_what_is_on_disk_is_found_by_its_words(folder, server, fetch):
    fetch(server.add("/papers/Gr%C3%BC%C3%9Fe.pdf", CONTENT), server.add("/other", b"o"))
    assert folder.command("find", "grüße").output.split()[-1].endswith("/Grüße.pdf")
    (row,) = [json.loads(text) for text in folder.command("find", "grüße", "--json").output.splitlines()]
    assert (row["sha256"], row["reason"]) == (sha(CONTENT), None)
    assert folder.command("find", "nothing").output == ""


def test_failed_files_are_brought_back_by_class_and_run_again(folder, server, fetch):
    gone = server.add("/gone", CONTENT, head=404, statuses=[404])
    denied = server.add("/denied", b"d", head=405, statuses=[403, 403])
    answer = fetch(gone, denied)
    assert (answer.exit_code, answer.output) == (1, "2 failed.\n")
    unknown = folder.command("retry", "--class", "NETWORK_TIMEOUT")
    assert unknown.exit_code == 2
    assert "CLASS_UNKNOWN" in unknown.output
    assert "there are: AUTH_DENIED (1), NOT_FOUND (1)." in unknown.output
    server.resources["/gone"].head = 200
    back = folder.command("retry", "--class", "NOT_FOUND")
    assert back.output.splitlines()[0] == "1 failed and 0 missing files will be retried."
    assert f"leasehold download MANIFEST --out {folder.root}" in back.output
    assert fetch(gone, denied).output == "1 downloaded, 1 failed.\n"
    server.resources["/denied"].head = 200
    server.resources["/denied"].statuses.clear()
    assert folder.command("retry").exit_code == 0
    assert fetch(gone, denied).output == "2 downloaded.\n"
    assert folder.command("retry").output == "Nothing to retry.\n"


def test_missing_files_are_shown_and_fetched_again_as_often_as_they_go_missing(folder, server, fetch):
    line = json.dumps(
        {
            "work_id": "w",
            "artifact_id": "a",
            "url": server.add("/a", CONTENT),
            "filename": "my.bin",
            "sha256": sha(CONTENT),
        }
    )
    fetch(line, server.add("/b", b"b"))
    for asked in (2, 3):
        folder.object(CONTENT).unlink()
        answer = fetch(line)
        assert answer.exit_code == 1
        assert "files/w/my.bin  is in the index, but not on disk; use `retry` to download it again" in answer.stderr
        assert "Nothing to do: 1 downloaded, 1 missing from disk." in answer.stdout
        assert json.loads(folder.command("status", "--json").output) == {"INDEXED": 1, "final_missing": 1}
        back = folder.command("retry", "--class", "final_missing")
        assert back.output.splitlines()[0] == "0 failed and 1 missing files will be retried."
        assert folder.command("status").output == "1 planned, 1 downloaded\n"
        assert folder.command("retry").output == "Nothing to retry.\n"
        assert fetch(line).output == "2 downloaded.\n"
        assert len(server.gets("/a")) == asked
    assert (folder.root / "files" / "w" / "my.bin").read_bytes() == CONTENT


def test_a_start_repairs_what_a_crash_left_and_reports_it(folder, server, fetch):
    url = server.add("/a", CONTENT)
    fetch(url)
    part = folder.staging / f"{'f' * 64}.part"
    part.write_bytes(b"half")
    make_old(part)
    answer = fetch(url)
    assert answer.stdout == "Nothing to do: 1 downloaded.\n"
    assert answer.stderr == f"{part.name}  removed from staging: no attempt will resume it\n"
    assert not part.exists()
    assert fetch(url).stderr == ""


def test_reconciling_by_command_prints_what_was_done(folder, server, fetch):
    fetch(server.add("/a", CONTENT))
    assert folder.command("reconcile").output == "Nothing to repair.\n"
    part = folder.staging / f"{'f' * 64}.part"
    part.write_bytes(b"half")
    assert json.loads(folder.command("reconcile", "--json").output)["removed"] == []
    assert json.loads(folder.command("reconcile", "--part-age", 0, "--json").output)["removed"] == [part.name]


def test_a_folder_on_postgresql_asks_for_its_address_and_keeps_no_password(postgres, server, tmp_path):
    folder = Folder(tmp_path / "out", postgres.create_database())
    manifest = tmp_path / "manifest"
    manifest.write_text(server.add("/a", CONTENT))
    words = ["download", str(manifest), "--out", str(folder.root), "--workers", "1"]
    run = CliRunner().invoke
    assert run(root, [*words, "--url", folder.url]).output == "1 downloaded.\n"
    assert json.loads((folder.root / ".leasehold" / "collection.json").read_text()) == {"database": "postgresql"}
    for verb in ("status", "report", "verify", "retry", "reconcile", "export"):
        answer = Folder(folder.root).command(verb, env={"LEASEHOLD_URL": None})
        assert answer.exit_code == 2
        assert "Pass --url postgresql://… or set LEASEHOLD_URL" in answer.output
    assert "--url postgresql" in run(root, words, env={"LEASEHOLD_URL": None}).output
    assert not (folder.root / ".leasehold" / "download.db").exists()
    assert Folder(folder.root).command("status", env={"LEASEHOLD_URL": folder.url}).output == "1 downloaded\n"


def test_an_invalid_address_is_reported_without_its_password_and_not_remembered(server, tmp_path):
    folder = Folder(tmp_path / "out")
    folder.fetch(server.add("/a", CONTENT))
    for verb, words in (("status", ()), ("find", ("a",))):
        answer = Folder(folder.root, "postgresql://me:hush%zz@127.0.0.1:1/x").command(verb, *words)
        assert answer.exit_code == 2
        assert answer.output.startswith("error ")
        assert "hush" not in answer.output
    assert folder.command("status").output == "1 downloaded\n"


def test_the_address_may_stand_before_the_verb_as_well(postgres, server, tmp_path):
    folder = Folder(tmp_path / "out", postgres.create_database())
    folder.fetch(server.add("/a", CONTENT))
    for words in (
        ["--url", folder.url, "download", "status", str(folder.root)],
        ["download", "--url", folder.url, "status", str(folder.root)],
        ["download", f"--url={folder.url}", "status", str(folder.root)],
    ):
        assert CliRunner().invoke(root, words).output == "1 downloaded\n"


def test_options_may_stand_before_the_manifest_and_a_dry_run_makes_nothing(server, tmp_path):
    manifest = tmp_path / "manifest"
    manifest.write_text(f"{server.add('/a')}\n{server.add('/b')}\n")
    words = ["download", "--out", str(tmp_path / "out"), "--dry-run", str(manifest)]
    assert CliRunner().invoke(root, words).output.startswith("2 files from 1 host\n")
    assert not (tmp_path / "out").exists()
    assert server.log == []


def test_a_folder_with_its_own_database_ignores_the_address_of_others(server, tmp_path):
    folder = Folder(tmp_path / "out")
    folder.fetch(server.add("/a", CONTENT))
    assert folder.command("status", env={"LEASEHOLD_URL": "postgresql://nowhere.invalid/x"}).output == "1 downloaded\n"


def test_a_folder_with_its_own_database_is_not_given_another(postgres, server, tmp_path):
    """Its jobs could not be reached any more, and its files would be nobody's."""
    folder = Folder(tmp_path / "out")
    folder.fetch(server.add("/a", CONTENT))
    answer = Folder(folder.root, postgres.create_database()).command("status")
    assert (answer.exit_code, "DATABASE_IN_FOLDER" in answer.output) == (2, True)
    assert folder.command("status").output == "1 downloaded\n"


def test_the_error_for_a_folder_that_is_no_collection_explains_how_to_make_one(tmp_path):
    answer = Folder(tmp_path).command("status")
    assert answer.exit_code == 2
    assert "COLLECTION_MISSING" in answer.output
    assert f"leasehold download MANIFEST --out {tmp_path}" in answer.output
    assert list(tmp_path.iterdir()) == []


def test_called_off_files_are_counted_as_such_and_not_as_planned(folder, server):
    folder.fetch(server.add("/a", CONTENT))
    with folder.opened() as collection:
        jobs = collection.plan(read_manifest(server.add(f"/{number}") for number in range(3)))
        jobs[0].cancel()
        assert read_status(collection).counts == {"PLANNED": 2, "INDEXED": 1, "CANCELLED": 1}
        assert read_status(collection).left == 2
        assert reconcile(collection).is_quiet
