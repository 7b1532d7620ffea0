"""A fixture `stop_gate.fixture@1`: a session's terms and the steps that coordinators take, with explicit ids and times.

`ends` states how each child ends: `passed`, the code of its failure, or the phase that it is left in.
"""

from typing import Annotated, Any, Final, Literal

import msgspec

from leasehold.pipelines.agents.errors import StopGateInputInvalid
from leasehold.pipelines.agents.stop_gate.run import FixtureSession
from leasehold.pipelines.agents.stop_gate.steps import AnyStep
from leasehold.shapes import Shape


class StopGateFixture(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    schema: Literal["stop_gate.fixture@1"]
    fixture_id: str
    description: str
    session: FixtureSession
    steps: Annotated[list[AnyStep], msgspec.Meta(min_length=1)]
    ends: dict[str, str]


_fixture: Final = Shape[StopGateFixture](StopGateFixture)


def read_fixture(plain: dict[str, Any], path: str) -> StopGateFixture:
    """Read a fixture; `StopGateInputInvalid` names the field that is wrong."""
    try:
        return _fixture.convert(plain)
    except msgspec.ValidationError as error:
        raise StopGateInputInvalid(f"{path}: {error}.", file=path) from None
