"""Files become whole at once or not at all, once each; names for people are safe on every system."""

import hashlib
import os
import threading
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.pipelines.download.files.content_store import NAME_BYTES_MAX, clean_name, hash_of
from leasehold.pipelines.download.files.part import LockedPart

CONTENT = b"every byte of it"
SHA = hashlib.sha256(CONTENT).hexdigest()


def part(content_store, key, content=CONTENT):
    path = content_store.part(key)
    path.write_bytes(content)
    return path


def publish(content_store, path, sha256):
    with closing(LockedPart(path)) as part_file:
        return content_store.publish(part_file, sha256)


def test_a_part_becomes_whole_under_its_hash_and_its_old_name_is_gone(content_store):
    kept = publish(content_store, part(content_store, "a"), SHA)
    assert kept
    assert content_store.object(SHA).read_bytes() == CONTENT
    assert content_store.object(SHA).relative_to(content_store.root).as_posix() == f"sha256/{SHA[:2]}/{SHA[2:]}"
    assert list(content_store.staging.iterdir()) == []


def test_the_same_content_again_is_kept_once_and_reported_as_present(content_store):
    publish(content_store, part(content_store, "a"), SHA)
    before = content_store.object(SHA).stat()
    assert not publish(content_store, part(content_store, "b"), SHA)
    assert content_store.object(SHA).stat().st_ino == before.st_ino
    assert list(content_store.staging.iterdir()) == []


def test_what_was_linked_but_not_unlinked_is_completed_and_never_written_to_again(content_store):
    path = part(content_store, "a")
    content_store.object(SHA).parent.mkdir(parents=True)
    os.link(path, content_store.object(SHA))
    with pytest.raises(FileNotFoundError):
        LockedPart(path, make=False)
    assert not path.exists()
    os.link(content_store.object(SHA), path)
    with closing(LockedPart(path)) as part_file:
        part_file.begin(0)
        assert (path.read_bytes(), content_store.object(SHA).read_bytes()) == (b"", CONTENT)
    assert not path.exists(), "nothing was written to it"


def test_a_damaged_content_is_replaced_by_what_was_just_fetched(content_store):
    publish(content_store, part(content_store, "a"), SHA)
    content_store.object(SHA).chmod(0o644)
    content_store.object(SHA).write_bytes(b"rot")
    assert publish(content_store, part(content_store, "b"), SHA)
    assert content_store.object(SHA).read_bytes() == CONTENT
    assert list(content_store.staging.iterdir()) == []


def test_a_part_that_was_taken_away_or_replaced_becomes_no_file(content_store):
    for spoil in (lambda path: path.unlink(), lambda path: part(content_store, "other", b"other").replace(path)):
        path = part(content_store, "a")
        with closing(LockedPart(path)) as part_file:
            spoil(path)
            with pytest.raises(FileNotFoundError):
                content_store.publish(part_file, SHA)
        assert not content_store.has(SHA)


def test_a_part_is_open_to_the_next_attempt_until_it_is_whole(content_store):
    """A user who is not root cannot open a read-only file for writing, even their own."""
    path = part(content_store, "a")
    with closing(LockedPart(path)) as part_file:
        part_file.start_writeback()
        assert part_file.fsync() is None
        assert path.stat().st_mode & 0o200


def test_a_part_that_could_not_be_synced_is_removed_since_the_next_sync_would_succeed(content_store):
    path = part(content_store, "a")
    end, other = os.pipe()  # what no kernel can sync
    with closing(LockedPart(path)) as part_file:
        os.dup2(end, part_file.descriptor)
        assert isinstance(part_file.fsync(), OSError)
    for descriptor in (end, other):
        os.close(descriptor)
    assert not path.exists()


def test_a_whole_file_is_read_only(content_store):
    publish(content_store, part(content_store, "a"), SHA)
    assert content_store.object(SHA).stat().st_mode & 0o777 == 0o444


def test_of_many_that_bring_the_same_content_at_once_one_is_first(content_store):
    found = []
    gate = threading.Barrier(8)

    def bring(number):
        path = part(content_store, str(number))
        gate.wait()
        found.append(publish(content_store, path, SHA))

    threads = [threading.Thread(target=bring, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [False] * 7 + [True]


def test_a_name_leads_to_its_content_also_after_the_folder_was_moved(content_store, tmp_path):
    publish(content_store, part(content_store, "a"), SHA)
    name = content_store.name("work-1", "Grüße v2.pdf", "a" * 64, SHA)
    assert name == "files/work-1/Grüße v2.pdf"
    moved = tmp_path.rename(tmp_path.with_name("moved"))
    assert (moved / name).read_bytes() == CONTENT
    moved.rename(tmp_path)


def test_a_name_that_is_taken_by_other_content_gets_a_suffix_and_stays_the_same_afterwards(content_store):
    other = hashlib.sha256(b"other").hexdigest()
    publish(content_store, part(content_store, "a"), SHA)
    publish(content_store, part(content_store, "b", b"other"), other)
    assert content_store.name("w", "a.pdf", "1" * 64, SHA) == "files/w/a.pdf"
    for _ in range(2):
        assert content_store.name("w", "a.pdf", "2" * 64, other) == "files/w/a-22222222.pdf"
        assert content_store.name("w", "a.pdf", "1" * 64, SHA) == "files/w/a.pdf"


def test_an_artifact_whose_content_changed_again_and_again_has_a_name_for_each(content_store):
    contents = [b"first", b"second", b"third", b"fourth"]
    names = set()
    for content in contents:
        sha256 = hashlib.sha256(content).hexdigest()
        publish(content_store, part(content_store, "a", content), sha256)
        name = content_store.name("w", "a.pdf", "1" * 64, sha256)
        assert (content_store.root / name).read_bytes() == content
        names.add(name)
    assert len(names) == len(contents)


@pytest.mark.parametrize(
    ("given", "clean"),
    [
        ("../../etc/passwd", "_.._etc_passwd"),
        ("..", "file"),
        ("", "file"),
        (".bashrc", "bashrc"),
        ("a/b\\c:d*e", "a_b_c_d_e"),
        ("con\x00trol\n", "con_trol_"),
        ("  spaced  ", "spaced"),
    ],
)
def test_no_name_leads_out_of_its_folder_or_hides(given, clean):
    assert clean_name(given, "file") == clean


@given(st.text(), st.text())
def test_any_text_makes_a_name_that_a_file_can_have(text, suffix):
    name = clean_name(f"{text}.{suffix}", "file")
    assert name not in ("", ".", "..")
    assert "/" not in name
    assert len(name.encode()) <= NAME_BYTES_MAX
    assert clean_name(name, "file") == name


def test_a_file_is_hashed_whole(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(CONTENT)
    assert hash_of(path) == (SHA, len(CONTENT))
