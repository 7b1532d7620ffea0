"""FINALIZE for many files at once: each is linked under its hash and named, and the disk is synced for all of them."""

from dataclasses import dataclass
from typing import Final

from msgspec import Struct

from leasehold.batching import Batcher, UncancellableFuture
from leasehold.pipelines.download.files.content_store import AnonymousFile, ContentStore, PublishResult
from leasehold.pipelines.download.files.part import LockedPart, Part
from leasehold.pipelines.download.index.index import Index
from leasehold.pipelines.download.manifest import Artifact

GROUP_MAX: Final = 200


@dataclass(frozen=True, slots=True)
class CompleteFile:
    """All bytes of a file, their hash, and the name that people shall find them by.

    They are in a part or in memory; without either they should be published already.
    """

    part: Part
    part_file: LockedPart | None
    sha256: str
    artifact: Artifact
    filename: str
    content: bytes | None = None


class Published(Struct, frozen=True, omit_defaults=True):
    """A published file. `is_part_missing`: it is not, since somebody removed its part."""

    is_new: bool = False
    name: str = ""
    is_part_missing: bool = False


class Publisher:
    def __init__(self, content_store: ContentStore, index: Index) -> None:
        self._content_store = content_store
        self._index = index
        # Nobody who waits is cancelled before a file is published: the part is in use.
        batcher = Batcher("leasehold-publisher", self._publish, GROUP_MAX, UncancellableFuture)
        self.publish = batcher.submit
        self.close = batcher.close

    def _publish(self, batch: list[CompleteFile]) -> list[Published | Exception]:
        staging = self._content_store.staging
        sources = [one.part_file if one.content is None else AnonymousFile(one.content, staging) for one in batch]
        try:
            pairs = [(source, ready.sha256) for source, ready in zip(sources, batch, strict=True) if source is not None]
            results = iter(self._content_store.publish_all(pairs))
            both = zip(sources, batch, strict=True)
            return [self._name(ready, None if source is None else next(results)) for source, ready in both]
        finally:
            for source in sources:
                if isinstance(source, AnonymousFile):
                    source.close()

    def _name(self, ready: CompleteFile, result: PublishResult | None) -> Published | Exception:
        """Name a file. One whose part is missing was published before, if its content is there."""
        artifact = ready.artifact
        try:
            if isinstance(result, bool):
                is_new = result
            elif result is not None and not isinstance(result, FileNotFoundError):
                return result
            elif self._content_store.has(ready.sha256):
                self._content_store.ensure_durable(ready.sha256)
                is_new = not self._index.has_content(ready.sha256, artifact.key)
            else:
                return Published(is_part_missing=True)
            if ready.content is None:
                ready.part.remove()
            name = self._content_store.name(artifact.work_id, ready.filename, artifact.key, ready.sha256)
            return Published(is_new=is_new, name=name)
        except Exception as error:  # noqa: BLE001 — it is this file's alone
            return error
