"""Private keys: whole, cut off at either end, quoted, in a diff, escaped on one line."""

import json

from tests.redact.checks import LETTERS, check_left_alone, clean, clean_and_counted
from tests.support.rows import every_row

LINE = (LETTERS + LETTERS)[:64]
BODY = [LINE, LINE[::-1], LINE[7:] + LINE[:7], LETTERS[:22] + "=="]
KINDS = ["", "RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED "]


def key(kind: str = "RSA ") -> list[str]:
    return [f"-----BEGIN {kind}PRIVATE KEY-----", *BODY, f"-----END {kind}PRIVATE KEY-----"]


def survivors(text: str) -> list[str]:
    return [line for line in BODY if line[:20] in text]


@every_row("kind", KINDS)
def test_a_private_key_becomes_one_placeholder_and_blank_lines(kind):
    text = "\n".join(["before", *key(kind), "after"])
    assert clean(text) == "before\n[REDACTED:private_key#1]\n\n\n\n\n\nafter"


def test_line_ends_of_windows_are_kept():
    text = "\r\n".join(["before", *key(), "after"])
    assert clean(text) == "before\r\n[REDACTED:private_key#1]\r\n\r\n\r\n\r\n\r\n\r\nafter"


@every_row("margin", ["+", "-", " ", "> ", "    ", "# ", "| "])
def test_the_margin_of_a_diff_or_a_quotation_stays(margin):
    text = "\n".join(margin + line for line in key())
    assert clean(text).split("\n") == [margin + "[REDACTED:private_key#1]", *[margin] * 5]


@every_row("kept", [1, 2, 3, 4])
def test_a_key_that_a_hunk_cuts_off_below_is_hidden_as_far_as_it_goes(kept):
    text = "\n".join("+" + line for line in key()[: 1 + kept]) + "\n@@ -1,2 +3,4 @@\n context here"
    found = clean(text)
    assert survivors(found) == []
    assert found.endswith("\n@@ -1,2 +3,4 @@\n context here")


@every_row("kept", [1, 2, 3, 4])
def test_a_key_that_a_hunk_cuts_off_above_is_hidden_up_to_its_end(kept):
    text = "@@ -1,2 +3,4 @@\n" + "\n".join("+" + line for line in key()[-1 - kept :]) + "\n context here"
    found = clean(text)
    assert survivors(found) == []
    assert "END RSA" not in found
    assert found.startswith("@@ -1,2 +3,4 @@\n+[REDACTED:private_key#1]\n")
    assert found.endswith("\n context here")


def test_the_middle_of_a_key_is_hidden_even_without_its_markers():
    assert survivors(clean("@@ -1 +1 @@\n+" + "\n+".join(BODY[:3]) + "\n@@ -9 +9 @@")) == []


def test_a_key_cut_off_within_its_first_line_is_hidden():
    assert clean("-----BEGIN PRIVATE KEY-----\nMIIEv") == "[REDACTED:private_key#1]\n"


def test_a_key_escaped_inside_json_leaves_valid_json():
    text = json.dumps({"type": "service_account", "private_key": "\n".join(key()) + "\n", "id": 1})
    assert json.loads(clean(text)) == {"type": "service_account", "private_key": "[REDACTED:private_key#1]", "id": 1}


def test_a_key_in_json_inside_json_is_hidden():
    text = json.dumps({"body": json.dumps({"key": "\n".join(key())})})
    assert survivors(clean(text)) == []
    json.loads(clean(text))


@every_row("length", [40, 60, 120])
def test_an_escaped_key_that_was_cut_off_is_hidden(length):
    text = 'message "' + "\\n".join(key())[:length]
    assert clean(text) == 'message "[REDACTED:private_key#1]'


def test_an_escaped_key_that_lost_its_beginning_is_hidden():
    assert survivors(clean("..." + "\\n".join(key())[60:] + '\\n", "id": 1')) == []


def test_a_key_as_lines_of_a_program_is_hidden():
    text = "KEY = (\n" + "\n".join(f'    "{line}\\n"' for line in key()) + "\n)\n"
    assert survivors(clean(text)) == []
    assert clean(text).endswith("\n)\n")


def test_an_encrypted_key_with_headers_and_a_blank_line_is_hidden():
    lines = key()
    lines[1:1] = ["Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,0123456789ABCDEF", ""]
    assert survivors(clean("\n".join(lines))) == []


def test_a_pgp_block_and_a_putty_file_are_hidden():
    pgp = [
        "-----BEGIN PGP PRIVATE KEY BLOCK-----",
        "Version: 1",
        "",
        *BODY,
        "=aB3d",
        "-----END PGP PRIVATE KEY BLOCK-----",
    ]
    assert clean("\n".join(pgp)).startswith("[REDACTED:private_key#1]\nVersion: 1\n\n\n")
    assert survivors(clean("\n".join(["Private-Lines: 4", *BODY, "Private-MAC: 0123"]))) == []


def test_two_keys_get_two_numbers_and_are_counted_once_each():
    other = [line.swapcase() if "KEY" not in line else line for line in key()]
    found = clean_and_counted("\n".join([*key(), *other, *key()]))
    assert found.counts == {"private_key": 3}
    assert found.text.count("[REDACTED:private_key#1]") == 2
    assert found.text.count("[REDACTED:private_key#2]") == 1


@every_row(
    "text",
    [
        'if line == "-----BEGIN RSA PRIVATE KEY-----":\n    found = True\n',
        'BEGIN = "-----BEGIN PRIVATE KEY-----"\nEND = "-----END PRIVATE KEY-----"\n',
        "The file starts with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY-----.",
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
        "the PRIVATE KEY of the door",
        "-----BEGIN CERTIFICATE REQUEST-----",
    ],
)
def test_a_marker_without_a_key_is_left_alone(text):
    check_left_alone(text)
