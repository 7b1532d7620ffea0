"""Files become whole at once or not at all, once each; names for people are safe on every system."""

import hashlib
import os
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.pipelines.download.places import NAME_BYTES_MAX, Places, clean_name, hash_of

CONTENT = b"every byte of it"
SHA = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def places(tmp_path):
    made = Places(tmp_path)
    made.make()
    return made


def part(places, key, content=CONTENT):
    path = places.part(key)
    path.write_bytes(content)
    return path


def test_a_part_becomes_whole_under_its_hash_and_its_old_name_is_gone(places):
    kept = places.keep(part(places, "a"), SHA)
    assert kept.is_new
    assert places.object(SHA).read_bytes() == CONTENT
    assert places.object(SHA).relative_to(places.root).as_posix() == f"sha256/{SHA[:2]}/{SHA[2:]}"
    assert list(places.staging.iterdir()) == []


def test_the_same_content_again_is_kept_once_and_said_to_be_there(places):
    places.keep(part(places, "a"), SHA)
    before = places.object(SHA).stat()
    assert not places.keep(part(places, "b"), SHA).is_new
    assert places.object(SHA).stat().st_ino == before.st_ino
    assert list(places.staging.iterdir()) == []


def test_what_was_linked_but_not_unlinked_is_completed_and_counts_as_new(places):
    path = part(places, "a")
    places.object(SHA).parent.mkdir(parents=True)
    os.link(path, places.object(SHA))
    assert places.keep(path, SHA).is_new
    assert not path.exists()


def test_of_many_that_bring_the_same_content_at_once_one_is_first(places):
    found = []
    gate = threading.Barrier(8)

    def bring(number):
        path = part(places, str(number))
        gate.wait()
        found.append(places.keep(path, SHA).is_new)

    threads = [threading.Thread(target=bring, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [False] * 7 + [True]


def test_a_name_leads_to_its_content_also_after_the_folder_was_moved(places, tmp_path):
    places.keep(part(places, "a"), SHA)
    name = places.name("work-1", "Grüße v2.pdf", "a" * 64, SHA)
    assert name == "files/work-1/Grüße v2.pdf"
    moved = tmp_path.rename(tmp_path.with_name("moved"))
    assert (moved / name).read_bytes() == CONTENT
    moved.rename(tmp_path)


def test_a_name_that_is_taken_by_other_content_gets_a_suffix_and_stays_the_same_afterwards(places):
    other = hashlib.sha256(b"other").hexdigest()
    places.keep(part(places, "a"), SHA)
    places.keep(part(places, "b", b"other"), other)
    assert places.name("w", "a.pdf", "1" * 64, SHA) == "files/w/a.pdf"
    for _ in range(2):
        assert places.name("w", "a.pdf", "2" * 64, other) == "files/w/a-22222222.pdf"
        assert places.name("w", "a.pdf", "1" * 64, SHA) == "files/w/a.pdf"


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


def test_a_file_is_hashed_whole_or_up_to_a_byte(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(CONTENT)
    assert hash_of(path) == (SHA, len(CONTENT))
    assert hash_of(path, 5) == (hashlib.sha256(CONTENT[:5]).hexdigest(), 5)
