"""The owner of a lease: enough to know, on the same boot and PID namespace, that its process is gone."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Owner:
    """A worker process. `birth` is the kernel's start time of `pid`, so a reused pid is another owner."""

    host: str
    boot: str
    namespace: str
    pid: int
    birth: int

    def shares_kernel_with(self, other: Owner) -> bool:
        """Whether one can look up the other's pid; unknown boots or namespaces never match."""
        return bool(self.boot and self.namespace) and (self.boot, self.namespace) == (other.boot, other.namespace)

    def __str__(self) -> str:
        return f"{self.host}:{self.pid}"
