"""Which transactions are printed: ``--include-gtids``, ``--exclude-gtids``, ``--skip-gtids``."""

from __future__ import annotations

from gtidal.events.control import PreviousGtids
from gtidal.events.registry import Event
from gtidal.events.statement import Query
from gtidal.events.transaction import GtidEvent, Xid
from gtidal.text.options import DumpOptions
from gtidal.text.statements import ends_group

_NEVER_FILTERED = {3, 4, 7, 15, 26, 28}
"""STOP, ROTATE, SLAVE, FORMAT_DESCRIPTION, INCIDENT, IGNORABLE: a relay log may have them inside a transaction."""


class GtidFilter:
    """Leaves out the events from an unwanted GTID to the end of its transaction."""

    def __init__(self, options: DumpOptions) -> None:
        self.included = options.include_gtids
        self.excluded = options.exclude_gtids
        self.no_gtids = options.skip_gtids
        self.inside_unwanted = False

    @property
    def active(self) -> bool:
        return self.no_gtids or self.included is not None or self.excluded is not None

    def skips(self, event: Event) -> bool:
        """Ask once for every event, in order."""
        unwanted = self.inside_unwanted
        match event:
            case GtidEvent():
                key = (event.uuid, event.tag or "", event.gno)
                unwanted = self.included is not None and not self.included.has(*key)
                unwanted = unwanted or (self.excluded is not None and self.excluded.has(*key))
                self.inside_unwanted = unwanted
                return unwanted or self.no_gtids
            case PreviousGtids():
                return self.no_gtids
            case Xid():
                self.inside_unwanted = False
            case Query():
                if ends_group(event.query):
                    self.inside_unwanted = False
            case _:
                return unwanted and event.type_code not in _NEVER_FILTERED
        return unwanted
