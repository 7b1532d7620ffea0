"""Reports: what is here in numbers that add up, what failed and why, on a page that nothing can break out of."""

import json
import re
from html.parser import HTMLParser

from leasehold.pipelines import download
from leasehold.pipelines.download import reconcile
from tests.pipelines.download.collection_folder import sha

CONTENT = b"x" * 1_000


def line(url, work_id="w", artifact_id="a", **fields):
    return json.dumps({"work_id": work_id, "artifact_id": artifact_id, "url": url, **fields})


def refused(server, count):
    return [server.add(f"/no-{number:02}", head=404, statuses=[404] * 9) for number in range(count)]


def test_a_report_counts_what_is_here_and_gives_the_reason_for_all_that_failed(folder, server):
    wrong = line(server.add("/wrong", CONTENT), sha256="0" * 64)
    folder.fetch(
        server.add("/a", CONTENT), server.add("/b", CONTENT), server.add("/c", b"cc"), wrong, *refused(server, 25)
    )
    found = json.loads(folder.command("report", "--json").output)
    assert (found["planned"], found["left"], found["files"], found["bytes"]) == (29, 0, 3, 2_002)
    assert (found["contents"], found["bytes_saved"]) == (2, 1_000)
    assert found["counts"] == {"INDEXED": 2, "DEDUPED": 1, "FAILED": 26}
    assert found["first_at"] <= found["last_at"]
    by_class = {one["error_class"]: one for one in found["failed"]}
    assert by_class.keys() == {"NOT_FOUND", "HASH_MISMATCH"}
    assert "0" * 64 in by_class["HASH_MISMATCH"]["message"]
    assert by_class["HASH_MISMATCH"]["url"].endswith("/wrong")
    assert len([one for one in found["failed"] if one["error_class"] == "NOT_FOUND"]) == 25


def test_a_report_for_people_shows_the_first_twenty_of_each_class(folder, server):
    folder.fetch(server.add("/a", CONTENT), *refused(server, 25))
    printed = folder.command("report").output
    assert "planned    26 files" in printed
    assert "on disk    1 files, 1.0 kB" in printed
    assert "NOT_FOUND: 25 failed" in printed
    assert len(re.findall(r"/no-\d\d  ", printed)) == 20
    assert "… and 5 more; --json prints all" in printed


def test_a_report_lists_what_was_here_and_is_gone(folder, server):
    folder.fetch(server.add("/a", CONTENT), server.add("/b", b"b"))
    folder.object(CONTENT).unlink()
    with folder.opened() as collection:
        reconcile(collection)
    found = json.loads(folder.command("report", "--json").output)
    assert (found["planned"], found["files"]) == (2, 1)
    assert found["counts"] == {"INDEXED": 1, "final_missing": 1}
    assert [one["sha256"] for one in found["missing"]] == [sha(CONTENT)]
    assert "final_missing: 1 were downloaded and are missing from disk" in folder.command("report").output
    page = folder.command("report", "--html").output
    assert sha(CONTENT) in page
    assert "1 of 2 files on disk, 1 missing from disk." in page


class Tags(HTMLParser):
    """Gathers the tags of a page."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))


def test_the_page_stands_alone_and_nothing_in_it_can_become_a_tag(folder, server):
    evil = "<script>alert(1)</script><img src=x onerror='a'>&amp;"
    folder.fetch(line(server.add("/gone", head=404, statuses=[404] * 9), work_id=evil), server.add("/a", CONTENT))
    page = folder.command("report", "--html").output
    tags = Tags()
    tags.feed(page)
    assert {tag for tag, _ in tags.seen} == {
        "html", "head", "meta", "title", "style", "body", "header", "h1", "p", "i", "nav", "a", "main", "section",
        "h2", "div", "dl", "dt", "dd", "table", "thead", "tbody", "tr", "th", "td",
    }  # fmt: skip
    assert {name for _, attributes in tags.seen for name in attributes} == {
        "lang", "charset", "name", "http-equiv", "content", "class", "id", "href", "scope", "data-label",
        "aria-hidden", "aria-label", "aria-labelledby",
    }  # fmt: skip
    assert all(attributes["href"].startswith("#") for tag, attributes in tags.seen if tag == "a")
    assert "&lt;script&gt;alert(1)" in page
    assert "NOT_FOUND: 1 failed" in page


def test_json_and_html_at_once_are_refused(folder, server):
    folder.fetch(server.add("/a", CONTENT))
    answer = folder.command("report", "--json", "--html")
    assert answer.exit_code == 2
    assert "pass one" in answer.output


def test_the_index_is_exported_as_json_lines(folder, server):
    folder.fetch(server.add("/a/Gr%C3%BC%C3%9Fe.pdf", CONTENT), server.add("/b", b"b"))
    lines = [json.loads(text) for text in folder.command("export").output.splitlines()]
    assert [one["key"] for one in lines] == sorted(one["key"] for one in lines)
    assert {one["name"]: (one["sha256"], one["size"]) for one in lines} == {
        "Grüße.pdf": (sha(CONTENT), 1_000),
        "b": (sha(b"b"), 1),
    }


def test_the_same_report_is_had_from_python(folder, server):
    folder.fetch(server.add("/a", CONTENT), *refused(server, 1))
    found = download.report(folder.root, url=folder.url)
    assert (found.planned, found.files, found.is_well) == (2, 1, False)
    assert [one.error_class for one in found.failed] == ["NOT_FOUND"]
    assert json.loads(json.dumps(found.plain())) == json.loads(folder.command("report", "--json").output)
