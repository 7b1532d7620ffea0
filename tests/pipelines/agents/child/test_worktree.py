"""Work trees of real repositories: the diff of a child is complete, and nothing is left of what crashed."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from leasehold.pipelines.agents.child.git import GitFailed, git
from leasehold.pipelines.agents.child.worktree import DiffTooLarge, Repository, RepositoryMissing

WHO = ("-c", "user.name=t", "-c", "user.email=t@example.org")


def commit(folder: Path, message: str = "x") -> None:
    git(folder, "add", "--all")
    git(folder, *WHO, "commit", "--quiet", "-m", message)


@pytest.fixture
def repository(tmp_path):
    top = tmp_path / "repository"
    (top / "inner").mkdir(parents=True)
    git(top, "init", "--quiet")
    (top / "a.txt").write_text("one\ntwo\n")
    (top / "inner" / "b.txt").write_text("b\n")
    (top / "gone.txt").write_text("gone\n")
    (top / ".gitignore").write_text("*.log\n")
    commit(top)
    return Repository.of(top)


def changed(folder: Path) -> None:
    (folder / "a.txt").write_text("one\nthree\n")
    (folder / "gone.txt").unlink()
    (folder / "new file.txt").write_text("new\n")
    (folder / "binary").write_bytes(bytes(range(256)) * 10)
    (folder / "empty").write_bytes(b"")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("a.txt")
    (folder / "noise.log").write_text("ignored")


def contents(folder: Path) -> dict[str, object]:
    names = [
        path for path in folder.rglob("*") if ".git" not in path.parts[len(folder.parts) :][:1] and not path.is_dir()
    ]
    return {
        str(path.relative_to(folder)): path.readlink()
        if path.is_symlink()
        else (path.read_bytes(), os.access(path, os.X_OK))
        for path in names
        if path.suffix != ".log"
    }


def applied(repository: Repository, patch: Path, tmp_path: Path) -> dict[str, object]:
    """Return what a fresh copy of the base becomes by a patch."""
    copy = tmp_path / "copy"
    git(tmp_path, "clone", "--quiet", str(repository.top), str(copy))
    if patch.stat().st_size:
        git(copy, "apply", str(patch))
    return contents(copy)


def test_the_diff_has_changed_deleted_new_and_binary_files_and_can_be_applied(repository, tmp_path):
    worktree = repository.add(tmp_path / "session" / "one")
    changed(worktree.folder)
    diff = worktree.collect(tmp_path / "out" / "one.patch")
    assert applied(repository, diff.path, tmp_path) == contents(worktree.folder)
    assert b"noise" not in diff.path.read_bytes()
    assert (diff.bytes, len(diff.sha256), diff.base) == (diff.path.stat().st_size, 64, repository.base)
    assert [path.name for path in diff.path.parent.iterdir()] == ["one.patch"]
    assert git(repository.top, "status", "--porcelain") == ""


def test_what_the_child_committed_or_staged_is_in_the_diff(repository, tmp_path):
    worktree = repository.add(tmp_path / "one")
    changed(worktree.folder)
    commit(worktree.folder, "by the child")
    (worktree.folder / "later.txt").write_text("later\n")
    git(worktree.folder, "add", "later.txt")
    diff = worktree.collect(tmp_path / "one.patch")
    assert applied(repository, diff.path, tmp_path) == contents(worktree.folder)


def test_a_child_that_changed_nothing_has_an_empty_diff(repository, tmp_path):
    diff = repository.add(tmp_path / "one").collect(tmp_path / "one.patch")
    assert diff.bytes == 0


def test_a_folder_of_the_plan_has_its_place_in_the_work_tree(repository, tmp_path):
    worktree = repository.add(tmp_path / "one")
    assert (worktree.inside(repository.top / "inner") / "b.txt").read_text() == "b\n"


def test_collecting_leaves_no_object_and_no_index_behind(repository, tmp_path):
    worktree = repository.add(tmp_path / "one")
    before = git(repository.top, "count-objects")
    changed(worktree.folder)
    worktree.collect(tmp_path / "one.patch")
    assert git(repository.top, "count-objects") == before
    assert git(worktree.folder, "diff", "--cached", "--name-only") == ""


def test_ten_work_trees_at_once_do_not_disturb_each_other(repository, tmp_path):
    def one(number: int) -> bytes:
        worktree = repository.add(tmp_path / "session" / f"child-{number}")
        (worktree.folder / "a.txt").write_text(f"{number}\n")
        diff = worktree.collect(tmp_path / f"{number}.patch")
        worktree.remove()
        return diff.path.read_bytes()

    with ThreadPoolExecutor(10) as pool:
        patches = list(pool.map(one, range(10)))
    assert all(f"+{number}\n".encode() in patch for number, patch in enumerate(patches))
    assert git(repository.top, "worktree", "list").count("\n") == 0


def test_removing_leaves_neither_folder_nor_record(repository, tmp_path):
    worktree = repository.add(tmp_path / "one")
    changed(worktree.folder)
    worktree.remove()
    worktree.remove()
    assert not worktree.folder.exists()
    assert not worktree.own.exists()
    assert repository.add(tmp_path / "one").folder.is_dir()


def test_hooks_and_monitors_of_the_repository_are_not_run(repository, tmp_path):
    mark = tmp_path / "ran"
    script = tmp_path / "evil"
    script.write_text(f"#!/bin/sh\ntouch {mark}\n")
    script.chmod(0o755)
    for hook in ("post-checkout", "post-index-change", "pre-commit"):
        (repository.common / "hooks").mkdir(exist_ok=True)
        (repository.common / "hooks" / hook).symlink_to(script)
    for name in ("core.fsmonitor", "diff.external", "core.pager", "diff.x.textconv", "diff.x.command"):
        git(repository.top, "config", name, str(script))
    (repository.top / ".git" / "info" / "attributes").write_text("* diff=x\n")
    worktree = repository.add(tmp_path / "one")
    changed(worktree.folder)
    worktree.collect(tmp_path / "one.patch")
    worktree.remove()
    assert not mark.exists()


def test_a_child_that_points_its_work_tree_elsewhere_does_not_lead_git_there(repository, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "--quiet")
    worktree = repository.add(tmp_path / "one")
    (worktree.folder / "a.txt").write_text("mine\n")
    (worktree.folder / ".git").write_text(f"gitdir: {other / '.git'}\n")
    diff = worktree.collect(tmp_path / "one.patch")
    assert b"+mine" in diff.path.read_bytes()
    (worktree.folder / ".git").unlink()
    assert b"+mine" in worktree.collect(tmp_path / "two.patch").path.read_bytes()
    worktree.remove()
    assert not worktree.own.exists()


def test_variables_of_this_process_do_not_lead_git_elsewhere(repository, tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "nowhere"))
    assert Repository.of(repository.top) == repository
    repository.add(tmp_path / "one").remove()


CRASH = """
import os, signal, sys
from pathlib import Path
from leasehold.pipelines.agents.child.worktree import Repository
repository = Repository.of(Path(sys.argv[1]))
for name in ("one", "two"):
    repository.add(Path(sys.argv[2]) / name)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_crashed_coordinator_left_is_removed_and_nothing_else(repository, tmp_path):
    session, mine = tmp_path / "session", tmp_path / "mine"
    kept = repository.add(mine)
    lost = repository.add(tmp_path / "lost")
    lost.folder.rename(tmp_path / "moved")  # a person's own, on a disk that is away just now
    subprocess.run([sys.executable, "-c", CRASH, str(repository.top), str(session)], check=False)
    assert len(list(session.iterdir())) == 2
    # What a crash between two steps of git leaves: a record without a folder, a folder without a record.
    half = repository.add(session / "half")
    (half.own / "gitdir").unlink()
    gone = repository.add(session / "gone")
    gone.folder.rename(tmp_path / "elsewhere")
    assert len(repository.remove_leftovers(session)) == 4
    assert list(session.iterdir()) == []
    assert (kept.own.exists(), lost.own.exists(), gone.own.exists()) == (True, True, False)
    assert repository.remove_leftovers(session) == []


def test_a_diff_above_its_limit_is_refused_and_leaves_no_file(repository, tmp_path):
    worktree = repository.add(tmp_path / "one")
    (worktree.folder / "large").write_bytes(os.urandom(200_000))
    with pytest.raises(DiffTooLarge) as refused:
        worktree.collect(tmp_path / "out" / "one.patch", limit=100_000)
    assert refused.value.code == "URM_WORKTREE_DIFF_TOO_LARGE"
    assert not (tmp_path / "out" / "one.patch").exists()


def test_a_work_tree_that_the_child_removed_is_an_error_with_a_code(repository, tmp_path):
    worktree = repository.add(tmp_path / "one")
    repository.forget(worktree.folder)
    with pytest.raises(GitFailed) as refused:
        worktree.collect(tmp_path / "one.patch")
    assert refused.value.code == "URM_WORKTREE_GIT_FAILED"


def test_a_folder_without_a_repository_and_a_repository_without_a_commit_are_refused(tmp_path):
    with pytest.raises(RepositoryMissing):
        Repository.of(tmp_path)
    git(tmp_path, "init", "--quiet")
    with pytest.raises(RepositoryMissing) as refused:
        Repository.of(tmp_path)
    assert refused.value.code == "URM_WORKTREE_REPOSITORY_MISSING"
    with pytest.raises(RepositoryMissing):
        Repository.of(tmp_path / "gone")
