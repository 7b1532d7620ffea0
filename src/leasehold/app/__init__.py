"""The façade: `Leasehold` and the handles it gives out."""

from leasehold.app.facade import Leasehold
from leasehold.app.job import Job

__all__ = ["Job", "Leasehold"]
