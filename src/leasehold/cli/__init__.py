"""The command `leasehold`: one module for each verb. It asks the façade and the read models, and never the database."""

from leasehold.cli.root import main

__all__ = ["main"]
