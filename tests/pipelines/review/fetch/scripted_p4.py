"""A `p4` that answers as the real one does, as far as it is asked here; there is no Perforce server in these tests.

It reads a depot from the JSON file that P4PORT names and appends each command to the file of that name with `.log`.
Without `-Mj` it prints tagged text as p4 does, in which a description can forge a field: `... depotFile1 //depot/x`.
"""

import difflib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Record = dict[str, Any]


def described(depot: Record, words: list[str]) -> Iterator[Record]:
    number = words[-1]
    change = depot["changes"].get(number)
    if change is None:
        yield {"data": f"{number} - no such changelist.\n", "generic": 17, "severity": 3}
        return
    record = {"change": number, "user": "ana", "client": "ws", "time": "1700000000", "desc": change["desc"]}
    record |= {"status": "pending" if "-S" in words else "submitted", "changeType": "public"}
    for at, file in enumerate(change["files"]):
        record |= {f"{name}{at}": file[name] for name in ("depotFile", "action", "type", "rev")}
        if file["action"] != "delete":
            content = depot["contents"].get(f"{file['depotFile']}#{file['rev']}", "")
            record |= {f"fileSize{at}": file.get("fileSize", str(len(content.encode()))), f"digest{at}": "0" * 32}
    yield record | change.get("more", {})


def printed(depot: Record, words: list[str]) -> Iterator[Record]:
    path, _, revision = words[-1].rpartition("#")
    yield {"depotFile": depot["lies"].get(words[-1], path), "rev": revision, "type": "text"}
    yield from ({"data": chunk} for chunk in depot["contents"][words[-1]].splitlines(keepends=True))


def compared(depot: Record, words: list[str]) -> Iterator[Record]:
    old, new = words[-2:]
    path = depot["lies"].get(new, old.rpartition("#")[0])
    yield {"depotFile": path, "depotFile2": path, "rev": old.rpartition("#")[2], "status": "content"}
    texts = [depot["contents"][name].splitlines(keepends=True) for name in (old, new)]
    yield {"data": "".join(list(difflib.unified_diff(*texts))[2:])}


def main() -> None:
    port = Path(os.environ["P4PORT"])
    words = sys.argv[1:]
    with port.with_suffix(".log").open("a") as log:
        log.write(json.dumps([words, sorted(set(os.environ) - {"LC_CTYPE"})]) + "\n")
    depot = json.loads(port.read_text())
    is_json = words[:2] == ["-Mj", "-ztag"]
    command = next(word for word in words if not word.startswith("-"))
    answers = {"describe": described, "print": printed, "diff2": compared}
    for record in answers[command](depot, words):
        tagged = "".join(f"... {name} {value}\n" for name, value in record.items())
        sys.stdout.write(json.dumps(record) + "\n" if is_json else tagged)


if __name__ == "__main__":
    main()
