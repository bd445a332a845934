"""Whole files examined, summed up, and searched for tables: ordinary stretches at the kernel's speed, all else by the
reference decoder, event by event. What comes out is what the reference decoder alone would have said."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import BinaryIO

import numpy as np

from gtidal.columnar.flat import distinct
from gtidal.columnar.surveying import Feed, Ordinary, Survey
from gtidal.errors import GtidalError, KeyProblem, NotABinlog, Truncated
from gtidal.events.registry import EVENTS
from gtidal.events.rows import RowsEvent
from gtidal.log.audit import FileAudit
from gtidal.log.decoder import Frame, Keys, LogDecoder
from gtidal.log.facts import Ending, FactsBuilder, FileFacts
from gtidal.log.findings import Finding
from gtidal.log.tables import TableCatalog


def examine(
    stream: BinaryIO, audit: FileAudit, size: int, *, keys: Keys | None = None, advance: Callable[[int], None]
) -> Iterator[Finding]:
    """What is found in the first ``size`` bytes of a file; ``audit`` tells the rest afterwards. ``advance`` is told
    how many bytes more are done."""
    decoder = audit.decoder
    feed = Feed(stream, size)
    survey = Survey(stream, audit.name, keys=keys, lengths=True)
    done = 0
    while True:
        if decoder.position > done:
            advance(decoder.position - done)
            done = decoder.position
        found = _ordinary(survey, audit)
        if found is not None:
            passed = found.summary()
            if passed is not None and audit.pass_over(passed):
                feed.go_behind(found, decoder)
                continue
            survey.refuse(found)
        findings = audit.next_findings()
        if findings is not None:
            yield from findings
        elif data := feed.next():
            audit.receive_data(data)
        elif feed.ended:
            return
        else:
            feed.ended = True
            audit.end_of_data()


def _ordinary(survey: Survey, audit: FileAudit) -> Ordinary | None:
    whole, within = audit.takes_transactions, audit.takes_rows
    if not whole and not within:
        return None
    decoder = audit.decoder
    survey.reader.stop = decoder.log_size
    return survey.stretch(decoder, whole=whole, within=within, positions=decoder.own_positions)


class Stepper:
    """Reads one log for a caller who wants frames, and takes stretches where there are some."""

    def __init__(
        self,
        stream: BinaryIO,
        decoder: LogDecoder,
        *,
        keys: Keys | None = None,
        verify_checksum: bool = True,
        rows: bool = True,
    ) -> None:
        self.decoder = decoder
        self.survey = Survey(
            stream, decoder.file or "", keys=keys, verify_checksum=verify_checksum, rows=rows
        )
        self._feed = Feed(stream)

    def frames(self, take: Callable[[Ordinary], bool]) -> Iterator[Frame]:
        """All events but those of stretches, which ``take`` is given. If it returns False they come as frames, too."""
        while True:
            found = self.survey.stretch(self.decoder)
            if found is not None:
                if take(found):
                    self.go_behind(found)
                    continue
                self.survey.refuse(found)
            frame = self.next_frame()
            if frame is None:
                return
            yield frame

    def go_behind(self, found: Ordinary) -> None:
        self._feed.go_behind(found, self.decoder)

    def next_frame(self) -> Frame | None:
        """The next event's bytes, or None at the end of the file."""
        while (frame := self.decoder.next_frame()) is None:
            if data := self._feed.next():
                self.decoder.receive_data(data)
            else:
                self.decoder.end_of_data()
                return self.decoder.next_frame()
        return frame


def read_facts(stream: BinaryIO, name: str, size: int, keys: Keys | None = None) -> FileFacts:
    """What a file says of itself. Checksums are not compared; what is damaged ends it."""
    builder = FactsBuilder(name, size)
    decoder = LogDecoder(name, verify_checksum=False, decode_rows=False, keys=keys)
    stepper = Stepper(stream, decoder, keys=keys, verify_checksum=False, rows=False)

    def take(found: Ordinary) -> bool:
        passed = found.summary()
        return passed is not None and builder.pass_over_many(passed)

    try:
        for frame in stepper.frames(take):
            builder.read(decoder, frame)
            decoder.context.tables.clear()  # rows are not decoded, so nothing else would
    except (KeyProblem, NotABinlog):
        raise
    except Truncated:
        builder.stop_at(decoder.position, Ending.PARTIAL)
    except GtidalError as error:
        builder.stop_at(error.position if error.position is not None else decoder.position, Ending.DAMAGED)
    return builder.finish()


def read_tables(catalog: TableCatalog, stream: BinaryIO, name: str, keys: Keys | None = None) -> None:
    """Feed one file's events to ``catalog``. Rows that do not decode are counted there as such; anything
    else that is wrong raises."""
    decoder = LogDecoder(name, keys=keys)
    stepper = Stepper(stream, decoder, keys=keys)

    def take(found: Ordinary) -> bool:
        note_tables(catalog, stepper.survey, found, name)
        return True

    for frame in stepper.frames(take):
        catalog.read(decoder, frame, name)


_COUNTERS = {
    code: f"rows_{cls.operation}{'d' if cls.operation.endswith('e') else 'ed'}"
    for code, cls in EVENTS.items()
    if issubclass(cls, RowsEvent)
}


def note_tables(catalog: TableCatalog, survey: Survey, found: Ordinary, file: str) -> None:
    """A stretch's table maps and rows, added up for each version of each table."""
    index, plan_of = found.window.index, found.followed.lanes.event_plan
    rows = found.rows
    places = np.sort(np.concatenate((found.table_maps, rows)))
    if not len(places):
        return
    plans = distinct(plan_of[places])
    numbers = np.searchsorted(plans, plan_of[places])
    firsts, lasts = np.zeros_like(plans), np.zeros_like(plans)
    order = np.arange(len(places))
    firsts[numbers[::-1]], lasts[numbers] = order[::-1], order
    sizes = np.bincount(numbers, index.sizes[places])
    versions = {}
    for number in np.argsort(firsts).tolist():
        place = int(places[firsts[number]])
        payload = int(index.payloads[place])
        position = int(index.positions[place]) if payload < 0 else payload
        table = survey.book.plans[int(plans[number])].table
        version = catalog.version(table, file, position, int(index.timestamps[place]))
        version.bytes += int(sizes[number])
        versions[int(plans[number])] = table, version
    for number in np.argsort(lasts).tolist():  # the latest version is the one seen last
        catalog.version(versions[int(plans[number])][0], file, 0, 0)
    counted = survey.count_rows(found.followed, rows)
    for code in distinct(index.types[rows]).tolist():
        of_type = index.types[rows] == code
        sums = np.bincount(plan_of[rows[of_type]], counted[of_type])
        for plan in np.flatnonzero(sums).tolist():
            version = versions[plan][1]
            setattr(version, _COUNTERS[code], getattr(version, _COUNTERS[code]) + int(sums[plan]))
