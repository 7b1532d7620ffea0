"""Report pages: what is a text stays a text, a patch is read as git wrote it, and charts hold any figures."""

import re
import xml.etree.ElementTree as ET

import pytest

from leasehold.pipelines.shell.html.charts import StepCurve, step_curve, tick_label, ticks
from leasehold.pipelines.shell.html.diff import patch_html, patch_summary, read_patch
from leasehold.pipelines.shell.html.markup import element, local_link
from leasehold.pipelines.shell.html.page import Tone
from leasehold.pipelines.shell.html.timeline import ROWS_MAX, TimelineSpan, time_line

PATCH = """diff --git a/one file.py b/one file.py
index 3b18e51..9daeafb 100644
--- a/one file.py
+++ b/one file.py
@@ -9,3 +9,4 @@ def f():
 kept
--- a line that begins with two more
+++ b/not a header
+\tadded <b>
\\ No newline at end of file
diff --git a/new.png b/new.png
new file mode 100644
GIT binary patch
literal 3
+abc
"""


def parsed(made):
    return ET.fromstring(made)  # noqa: S314 — made a line before


def test_texts_and_attributes_are_escaped_with_their_control_characters():
    made = element("a", "<b>\x1b[31m\u202e", title='"x" <y>\n', href=local_link("javascript:alert(1)"))
    expected = r"&lt;b&gt;\x1b[31m\u202e</a>"
    assert made == f'<a title="&quot;x&quot; &lt;y&gt;\\n" href="./javascript%3Aalert%281%29">{expected}'


def test_a_patch_is_shown_with_the_numbers_of_its_lines_and_counts_what_changed():
    text, picture = read_patch(PATCH)
    assert (text.name, text.added, text.removed, picture.name, picture.is_binary) == (
        "one file.py",
        2,
        1,
        "new.png",
        True,
    )
    rows = re.findall(r'<tr class="(\w+)">(.*?)</tr>', patch_html([text, picture]))
    cells = [(kind, *re.findall(r"<td[^>]*>(.*?)</td>", row)) for kind, row in rows]
    assert cells[1:] == [
        ("same", "9", "9", " kept"),
        ("removed", "10", "", "--- a line that begins with two more"),
        ("added", "", "10", "+++ b/not a header"),
        ("added", "", "11", "+   added &lt;b&gt;"),
        ("remark", "", "", "\\ No newline at end of file"),
    ]
    assert re.sub(r"<.*?>", "", patch_summary([text, picture])) == "2 files +2 −1"


@pytest.mark.parametrize("span", [0.0, 0.004, 1.0, 59.0, 119.0, 4_000.0, 9_000_000.0])
def test_an_axis_has_few_ticks_whatever_time_it_covers_and_no_label_twice(span):
    labels = [tick_label(tick, span) for tick in ticks(span)]
    assert 1 <= len(labels) <= 7
    assert len(set(labels)) == len(labels)


@pytest.mark.parametrize("count", [0, 1, ROWS_MAX + 60])
def test_charts_are_well_formed_for_nothing_for_a_moment_and_for_many(count):
    spans = [TimelineSpan(f"<{n}>", "& so on", f"#c{n}", Tone.GOOD, 0.0, float(n), n + 2.0) for n in range(count)]
    line = parsed(time_line(spans, count + 2.0, "a < b"))
    assert len(line.findall(".//rect")) == count
    rows = {bar.get("y") for bar in line.findall(".//rect")}
    assert len(rows) == (2 if count > ROWS_MAX else count)
    points = [(float(n), float(n)) for n in range(count)]
    for limit in (None, 0.0, 10.0):
        curve = StepCurve(points, [(1.0, 1.0, "<refused>")], float(max(0, count - 1)), limit, "limit", "spent & left")
        assert parsed(step_curve(curve)).get("aria-label") == "spent & left"
