"""Builds of the engine that are broken on purpose, each in one place: the suite is as good as what it finds in them."""

from __future__ import annotations

from typing import Final

from tests.saboteurs.build import Build
from tests.saboteurs.contracts import BUILDS as CONTRACTS
from tests.saboteurs.effects import BUILDS as EFFECTS
from tests.saboteurs.jobs import BUILDS as JOBS
from tests.saboteurs.leases import BUILDS as LEASES
from tests.saboteurs.runlocks import BUILDS as RUN_LOCKS
from tests.saboteurs.states import BUILDS as STATES
from tests.saboteurs.workers import BUILDS as WORKERS

BUILDS: Final[tuple[Build, ...]] = (*LEASES, *EFFECTS, *JOBS, *WORKERS, *STATES, *RUN_LOCKS, *CONTRACTS)
