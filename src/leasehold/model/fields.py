"""Which fields a payload has: what a handler's arguments ask for, kept as data for processes without the handler."""

from collections.abc import Mapping

from msgspec import Struct

from leasehold.errors import ArgumentsInvalid, did_you_mean

UNKNOWN_LENGTH_MAX = 200


class Fields(Struct, frozen=True):
    """The fields that a payload must have (`required`) and may have (`accepted`; None: any), each in order."""

    required: tuple[str, ...] = ()
    accepted: tuple[str, ...] | None = None

    def check(self, payload: Mapping[str, object], route: str) -> None:
        """Raise `ArgumentsInvalid` unless a payload has these fields; `route` names the handler in the error."""
        if tuple(payload) == self.accepted:  # the usual case
            return
        missing = [name for name in self.required if name not in payload]
        unknown = [] if self.accepted is None else sorted(payload.keys() - set(self.accepted))
        if missing or unknown:
            problems = [f"missing: {', '.join(missing)}"] if missing else []
            problems += [f"unknown: {', '.join(unknown)}"[:UNKNOWN_LENGTH_MAX]] if unknown else []
            hint = did_you_mean(unknown[0], self.accepted or ()) if unknown else ""
            raise ArgumentsInvalid(f"Handler '{route}': {'; '.join(problems)}.{hint}")
