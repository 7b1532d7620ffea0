"""The line of a field is found also where values span several lines and look like fields."""

import tomllib

from leasehold.pipelines.agents.plan.lines import PlanLines

TEXT = '''\
# a comment with name = "x"
[session]
budget.tokens = 3
id = "a # b"

[[child]]
name = "one"
input = """
name = "not this"
[[child]]
\\""" still inside
"""
after = [  # with [brackets
  "two",
]
timeout = 1

[[child]]
"name" = \'\'\'two
x = 1\'\'\'
  command = ["a", "]"]

[[child]]
input = { prompt = """a
b""", other = 1 }
env = []
'''


def test_fields_are_found_behind_values_of_several_lines():
    assert len(tomllib.loads(TEXT)["child"]) == 3
    lines = PlanLines(TEXT)
    assert [lines.of("session"), lines.of("session", "budget", "tokens"), lines.of("session", "id")] == [2, 3, 4]
    assert [lines.of("child", 0), lines.of("child", 0, "name"), lines.of("child", 0, "input")] == [6, 7, 8]
    assert [lines.of("child", 0, "after"), lines.of("child", 0, "timeout")] == [13, 16]
    assert [lines.of("child", 1), lines.of("child", 1, "name"), lines.of("child", 1, "command")] == [18, 19, 21]
    assert [lines.of("child", 2, "input", "other"), lines.of("child", 2, "env")] == [24, 26]


def test_a_field_that_was_not_found_has_the_line_of_its_table():
    lines = PlanLines(TEXT)
    assert lines.of("child", 1, "folder") == 18
    assert lines.of("nowhere") == 1


def test_a_text_of_many_megabytes_is_scanned_in_one_pass():
    text = "".join(('a = "', "x" * 2_000_000, '"\nb = """', "y\n" * 500_000, '"""\nc = 1\n'))
    assert PlanLines(text).of("c") == 500_003
