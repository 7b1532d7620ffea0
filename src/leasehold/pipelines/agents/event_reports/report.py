"""Reports on streams: `urm-events-validate@1`, `urm-events-summary@1`, and the tokens that they replay to."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from leasehold.pipelines.agents.errors import ReplayOrderInvalid
from leasehold.pipelines.agents.event_reports.checks import check_session
from leasehold.pipelines.agents.event_reports.histories import ChildHistory, SessionHistory, replayed, sessions_of
from leasehold.pipelines.agents.event_reports.issues import EventIssue
from leasehold.pipelines.agents.event_reports.reading import EventReader, ReadEvent
from leasehold.pipelines.agents.event_reports.streams import StreamLine

VALIDATE_SCHEMA: Final = "urm-events-validate@1"
SUMMARY_SCHEMA: Final = "urm-events-summary@1"
ISSUES_SHOWN: Final = 100


@dataclass(frozen=True, slots=True)
class EventReport:
    """What was read, and everything that is wrong with it."""

    streams: int
    events: Sequence[ReadEvent]
    sessions: Sequence[SessionHistory]
    issues: Sequence[EventIssue]

    @property
    def is_valid(self) -> bool:
        return not self.issues

    def children(self) -> Iterator[ChildHistory]:
        return (child for session in self.sessions for child in session.children.values())

    def validation(self) -> dict[str, Any]:
        """Return `urm-events-validate@1`; all issues are counted, the first are listed."""
        return {
            "schema": VALIDATE_SCHEMA,
            "valid": self.is_valid,
            "streams": self.streams,
            "events": len(self.events),
            "sessions": [session.session_id for session in self.sessions],
            "issue_count": len(self.issues),
            "issues": [issue.plain() for issue in self.issues[:ISSUES_SHOWN]],
        }

    def summary(self) -> dict[str, Any]:
        """Return `urm-events-summary@1`: counts only, the same for the same events wherever they were read from."""
        return {
            "schema": SUMMARY_SCHEMA,
            "valid": self.is_valid,
            "streams": self.streams,
            "events": len(self.events),
            "sessions": [self._session(session) for session in self.sessions],
        }

    def _session(self, session: SessionHistory) -> dict[str, Any]:
        mine = [event for event in self.events if event.session_id == session.session_id]
        children = list(session.children.values())
        ends = [child.end for child in children]
        times = sorted(event.ts for event in mine)
        return {
            "parent_session_id": session.session_id,
            "events": _counts(event.name for event in mine),
            "first_ts": times[0],
            "last_ts": times[-1],
            "children": len(children),
            "dispatched": sum(child.is_dispatched for child in children),
            "cancelled": sum(child.is_cancelled for child in children),
            "ends": _counts("passed" if end.letter == "P" else "failed" for end in ends if end),
            "codes": _counts(end.detail["code"] for end in ends if end and end.letter == "F"),
        }

    def replay(self) -> str:
        """Return the dispatch tokens as lines, from the events alone; streams that are not sound are refused."""
        for issue in self.issues[:1]:
            raise ReplayOrderInvalid(f"{issue}", **issue.plain() | {"issue_count": len(self.issues)})
        return "".join(replayed(self.sessions))


def _counts(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


def read_report(lines: Iterable[StreamLine]) -> EventReport:
    """Read streams whole and check them."""
    reader = EventReader()
    events = list(reader.read(lines))
    found = sessions_of(events)
    sessions = [found[session_id] for session_id in sorted(found)]
    issues = [*reader.issues, *(issue for session in sessions for issue in check_session(session))]
    return EventReport(len(reader.last_seq), events, sessions, issues)
