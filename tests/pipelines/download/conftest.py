"""What these tests share: a script's own connection to a migrated file."""

from tests.pipelines.download.scripts import conn, connect

__all__ = ["conn", "connect"]
