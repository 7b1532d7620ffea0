"""What a child printed is kept: clean, capped, durable, and only whole under its name."""

import hashlib
import json
import subprocess
import sys
import tracemalloc

import pytest

from leasehold.pipelines.agents.child import evidence
from leasehold.pipelines.agents.child.evidence import EvidenceUnwritable, EvidenceWriter
from leasehold.pipelines.agents.child.lines import OutputLine
from leasehold.pipelines.agents.child.process import ChildStarter
from leasehold.pipelines.agents.child.redaction import RedactedLines, redactor_for
from leasehold.pipelines.agents.child.stopping import StopReason, StopRequest
from leasehold.pipelines.agents.child.supervisor import ChildConversation, Supervisor
from leasehold.redact import Redacted, RedactionFailed, Redactor
from tests.pipelines.agents.child.children import python

TOKEN = "sk-ant-api03-" + "aB3dE5fG7h" * 9 + "AA"
KEY = "\n".join(
    [
        "-----BEGIN PRIVATE KEY-----",
        *(f"MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7{number:06}" for number in range(30)),
        "-----END PRIVATE KEY-----",
    ]
)


def fed(folder, chunks, secrets=(), **options):
    writer = EvidenceWriter(folder, redactor_for(secrets), **options)
    for chunk in chunks:
        writer.stdout(chunk)
    return writer.publish()


def chunked(content: bytes, size: int):
    return (content[start : start + size] for start in range(0, len(content), size))


def test_output_is_kept_with_its_hash_and_the_list_comes_last(tmp_path):
    writer = EvidenceWriter(tmp_path / "child", redactor_for())
    writer.stdout(b"one\ntwo")
    writer.stderr(b"bad \xff\x00 byte\n")
    assert not (tmp_path / "child" / "stdout.txt").exists()
    kept = writer.publish()
    content = (tmp_path / "child" / "stdout.txt").read_bytes()
    assert content == b"one\ntwo\n"
    assert kept.stdout.sha256 == hashlib.sha256(content).hexdigest()
    assert (tmp_path / "child" / "stderr.txt").read_text() == "bad \\xff\\x00 byte\n"
    listed = json.loads((tmp_path / "child" / "evidence.json").read_text())
    assert [file["sha256"] for file in listed["files"]] == [kept.stdout.sha256, kept.stderr.sha256]
    assert (kept.is_truncated, kept.output()) == (False, "one\ntwo\n")
    assert sorted(path.name for path in (tmp_path / "child").iterdir()) == ["evidence.json", "stderr.txt", "stdout.txt"]


@pytest.mark.parametrize("size", [1, 7, 50, 4096])
def test_s16_a_secret_on_the_border_of_chunks_is_hidden(tmp_path, size):
    kept = fed(tmp_path, chunked(f"before\nkey is {TOKEN} here\nafter\n".encode(), size))
    text = kept.output()
    assert "REDACTED" in text
    assert TOKEN[20:40] not in text
    assert text.startswith("before\n")
    assert text.endswith("after\n")


@pytest.mark.parametrize("before", [262_000, 262_140, 230_000, 229_300, 524_000])
def test_s16_a_private_key_on_the_border_of_blocks_is_hidden(tmp_path, before):
    filler = "some ordinary words of a log\n" * (before // 29)
    kept = fed(tmp_path, [f"{filler}{KEY}\n{filler}".encode()])
    text = (tmp_path / kept.stdout.name).read_text()
    assert "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7" not in text
    assert text.count("some ordinary words of a log\n") == 2 * (before // 29)


def test_s16_the_values_of_allowed_variables_are_hidden(tmp_path):
    kept = fed(
        tmp_path,
        [b"my value is plain-looking words here\n"],
        secrets=["plain-looking words", "abc", "", "not utf-8 \udcff"],
    )
    assert "plain-looking" not in kept.output()
    assert "my value is" in kept.output()


def test_s16_half_a_secret_at_the_end_of_a_cut_line_is_dropped(tmp_path):
    secret = "wordsthatlookplain" * 3
    line = b"y " * ((2 * 1024 * 1024 - 60) // 2) + secret.encode() * 2 + b" z" * 500_000
    kept = fed(tmp_path, [line + b"\nnext\n"], secrets=[secret])
    text = (tmp_path / kept.stdout.name).read_text()
    assert "words" not in text
    assert text.endswith("bytes of this line were cut]\nnext\n")
    assert kept.stdout.lines_cut == 1


def test_lines_come_back_once_and_in_order_however_long_they_are():
    lines = [f"{number} " + "word " * (number * 37 % 4000) for number in range(600)]
    clean = RedactedLines(redactor_for())
    found = [text for line in lines for text in clean.feed(OutputLine(line.encode()))] + list(clean.end())
    assert found == lines


class Failing(Redactor):
    """A redactor that meets a text it cannot clean."""

    def redact(self, text: str) -> Redacted:
        raise RedactionFailed(f"{len(text)} characters.")


def test_s16_lines_that_cannot_be_cleaned_are_withheld():
    clean = RedactedLines(Failing())
    found = [*clean.feed(OutputLine(b"raw " * 100_000)), *clean.feed(OutputLine(b"raw")), *clean.end()]
    assert len(found) == 2
    assert all("withheld" in text and "raw" not in text for text in found)


def test_the_cap_holds_over_both_streams_and_is_recorded(tmp_path):
    writer = EvidenceWriter(tmp_path, redactor_for(), limit=100_000)
    for _ in range(100):
        writer.stdout(b"a line of output\n" * 100)
        writer.stderr(b"a line of errors\n" * 100)
    kept = writer.publish()
    sizes = [(tmp_path / file.name).stat().st_size for file in (kept.stdout, kept.stderr)]
    assert sizes == [kept.stdout.bytes, kept.stderr.bytes]
    assert 90_000 < sum(sizes) <= 100_000
    assert (kept.stdout.is_truncated, kept.stderr.is_truncated) == (True, True)
    assert kept.stdout.read == kept.stderr.read == 170_000


def test_what_grows_while_it_is_cleaned_stays_below_the_cap(tmp_path):
    kept = fed(tmp_path, [b"\xff\xfe\xfd\n" * 20_000], limit=100_000)
    assert kept.stdout.bytes <= 100_000
    assert kept.is_truncated


def test_a_gigabyte_takes_no_more_memory_and_disk_than_the_cap(tmp_path):
    chunk = b"a line of output of some length\n" * 8192
    tracemalloc.start()
    try:
        writer = EvidenceWriter(tmp_path, redactor_for(), limit=4_000_000)
        for _ in range(1_000_000_000 // len(chunk)):
            writer.stdout(chunk)
        kept = writer.publish()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert kept.stdout.bytes <= 4_000_000
    assert kept.is_truncated
    assert peak < 30_000_000


def test_evidence_that_cannot_be_written_ends_the_child(tmp_path):
    folder = tmp_path / "child"
    writer = EvidenceWriter(folder, redactor_for())
    writer.close()
    (tmp_path / "file").write_text("")
    with pytest.raises(EvidenceUnwritable) as refused:
        EvidenceWriter(tmp_path / "file" / "child", redactor_for())
    assert refused.value.code == "URM_CHILD_EVIDENCE_UNWRITABLE"
    stop = StopRequest()
    with ChildStarter() as starter:
        child = starter.start(python("import signal; print('x', flush=True); signal.pause()"))
        with pytest.raises(EvidenceUnwritable):
            Supervisor(child, ChildConversation(), Full(tmp_path), stop).run()
    stop.close()
    assert stop.reason is StopReason.FAILURE


class Full:
    """A sink on a device that is full."""

    def __init__(self, folder):
        self._folder = folder

    def stdout(self, chunk):
        with evidence._writing(self._folder), open("/dev/full", "wb", buffering=0) as device:  # noqa: PTH123, SLF001
            device.write(chunk)

    stderr = stdout


KILLED = """
import os, signal, sys
from pathlib import Path
from leasehold.pipelines.agents.child.evidence import EvidenceWriter
from leasehold.pipelines.agents.child.redaction import redactor_for
writer = EvidenceWriter(Path(sys.argv[1]), redactor_for())
for _ in range(12):
    writer.stdout(b"password=hunter2hunter2 and words\\n" * 1000)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_s16_a_writer_that_is_killed_leaves_clean_drafts_and_nothing_published(tmp_path):
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".stderr.txt.part", ".stdout.txt.part"]
    draft = (tmp_path / ".stdout.txt.part").read_text()
    assert draft
    assert "hunter2" not in draft
    assert (tmp_path / ".stdout.txt.part").stat().st_mode & 0o777 == 0o600
    assert fed(tmp_path, [b"again\n"]).output() == "again\n"
