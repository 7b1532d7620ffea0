"""Letters as files: there completely or not at all, once, and for their owner's eyes only."""

import json
import os
import stat
import threading

import pytest

from leasehold.model.delivery import Absent, Message, NotSent, Refused, Sent, Unknown
from leasehold.providers import Folder, MaybeSent
from tests.providers.messages import sample_message

NAME = f"{sample_message().token}.json"


def modes(path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_message_becomes_one_file_named_by_its_token(tmp_path):
    assert Folder(tmp_path / "out").send(sample_message()) == Sent(NAME)
    [file] = (tmp_path / "out").iterdir()
    assert file.name == NAME
    fields = json.loads(file.read_text())
    assert fields["recipient"] == "ada@example.org"
    assert fields["message"] == sample_message().message
    assert fields["token"] == sample_message().token


def test_a_message_sent_twice_is_one_file_that_is_not_touched_again(tmp_path):
    """S14: exactly-once, by a name that can be taken once."""
    folder = Folder(tmp_path)
    folder.send(sample_message())
    before = (tmp_path / NAME).read_bytes()
    assert folder.send(sample_message(text="changed since")) == Sent(NAME)
    assert (tmp_path / NAME).read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_many_who_send_the_same_message_at_once_make_one_file(tmp_path):
    start, answers = threading.Barrier(8), []

    def send():
        start.wait(60)
        answers.append(Folder(tmp_path).send(sample_message()))

    threads = [threading.Thread(target=send) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert answers == [Sent(NAME)] * 8
    assert [file.name for file in tmp_path.iterdir()] == [NAME]


def test_a_folder_always_knows_whether_it_has_a_message(tmp_path):
    """S14: a look-up is certain either way."""
    folder = Folder(tmp_path / "out")
    assert folder.find(sample_message(), None) == Absent()
    folder.send(sample_message(subject="another"))
    assert folder.find(sample_message(), None) == Absent()
    folder.send(sample_message())
    assert folder.find(sample_message(), NAME) == Sent(NAME)


def test_what_a_crash_left_half_written_is_not_a_message(tmp_path):
    """S14: the file has its name only when it is whole."""
    (tmp_path / f".{NAME}.0011223344556677.tmp").write_text('{"mess')
    folder = Folder(tmp_path)
    assert folder.find(sample_message(), None) == Absent()
    folder.send(sample_message())
    assert json.loads((tmp_path / NAME).read_text())["version"] == 3


def test_messages_are_for_their_owner_only_whatever_the_umask_is(tmp_path):
    before = os.umask(0)
    try:
        Folder(tmp_path / "a" / "b").send(sample_message())
    finally:
        os.umask(before)
    assert modes(tmp_path / "a" / "b") == 0o700
    assert modes(tmp_path / "a" / "b" / NAME) == 0o600


def test_a_folder_that_cannot_take_it_has_certainly_not_taken_it(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(NotSent):
        Folder(tmp_path / "file").send(sample_message())
    with pytest.raises(NotSent):
        Folder(tmp_path / "file" / "below").send(sample_message())
    with pytest.raises(NotSent):
        Folder("/proc/self/out").send(sample_message())
    assert isinstance(Folder(tmp_path / "file").find(sample_message(), None), Unknown)


def test_a_full_disk_has_certainly_not_taken_it(tmp_path):
    """The system's limit on file sizes stands for a disk that is full: the write fails half-way."""
    import resource
    import signal

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    previous = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(NotSent, match="too large"):
            Folder(tmp_path).send(sample_message(text="x" * 100_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, previous)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("oddity", ["link to a file", "link to nothing", "folder"])
def test_what_has_the_name_but_is_no_file_is_left_alone_and_in_doubt(tmp_path, oddity):
    (tmp_path / "elsewhere").write_text("precious")
    target = tmp_path / "out" / NAME
    target.parent.mkdir()
    if oddity == "folder":
        target.mkdir()
    else:
        target.symlink_to(tmp_path / ("elsewhere" if oddity == "link to a file" else "nothing"))
    with pytest.raises(MaybeSent):
        Folder(target.parent).send(sample_message())
    assert isinstance(Folder(target.parent).find(sample_message(), None), Unknown)
    assert (tmp_path / "elsewhere").read_text() == "precious"
    assert not (tmp_path / "nothing").exists()


@pytest.mark.parametrize("token", ["", "../up", "a/b", ".hidden", "a\0b", "x" * 200])
def test_a_token_cannot_lead_out_of_the_folder(tmp_path, token):
    strange = Message("s", "r", 1, {}, token)
    with pytest.raises(Refused):
        Folder(tmp_path / "out").send(strange)
    assert Folder(tmp_path / "out").find(strange, None) == Absent()
    assert list(tmp_path.rglob("*")) == []


def test_a_message_that_is_no_json_is_refused(tmp_path):
    with pytest.raises(Refused):
        Folder(tmp_path).send(sample_message(text=float("inf")))
    assert list(tmp_path.iterdir()) == []
