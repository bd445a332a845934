"""Events of group replication."""

from __future__ import annotations

from gtidal.events.registry import Event, event
from gtidal.gtid.binary import EncodedGtidSet
from gtidal.gtid.mysql import GtidSet
from gtidal.wire.layout import Fields, Record


class HashedKey(Record):
    """A row's hash in a write or read set."""

    data: bytes = b""

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.raw("data", f.size("data", 2))


@event(36, "TRANSACTION_CONTEXT")
class TransactionContext(Event):
    """What the group certifies a transaction by."""

    thread_id: int
    gtid_specified: int
    server_uuid: str
    snapshot_version: EncodedGtidSet | None
    write_set: tuple[HashedKey, ...]
    read_set: tuple[HashedKey, ...]

    @classmethod
    def walk(cls, f: Fields) -> None:
        uuid = f.size("server_uuid", 1)
        f.u32("thread_id")
        f.u8("gtid_specified")
        snapshot = f.size("snapshot_version", 4)
        writes = f.count("write_set", 4)
        reads = f.count("read_set", 4)
        f.text("server_uuid", uuid)
        f.sized_record("snapshot_version", EncodedGtidSet, snapshot)
        f.records("write_set", lambda _: HashedKey, count=writes)
        f.records("read_set", lambda _: HashedKey, count=reads)

    def summary(self) -> str:
        return f"server {self.server_uuid}, thread {self.thread_id}, {len(self.write_set)} writes"


class CertificationItem(Record):
    """A row's hash and the GTIDs that changed it last."""

    key: bytes = b""
    value: bytes = b""

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.raw("key", f.size("key", 2))
        f.raw("value", f.size("value", 4))

    @property
    def gtids(self) -> GtidSet:
        """The value as what it is. The group also certifies by keys whose values are none."""
        return EncodedGtidSet.decode(self.value).to_set()


@event(37, "VIEW_CHANGE")
class ViewChange(Event):
    """The group's membership changed."""

    view_id: str
    sequence_number: int
    certification: tuple[CertificationItem, ...]

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.padded_text("view_id", 40)
        f.u64("sequence_number")
        items = f.count("certification", 4)
        f.records("certification", lambda _: CertificationItem, count=items)

    def summary(self) -> str:
        return f"view {self.view_id}, {len(self.certification)} certified rows"
