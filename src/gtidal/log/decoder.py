"""A log as a stream of events: give it bytes, get events.

    decoder = LogDecoder("binlog.000024")
    decoder.receive_data(chunk)
    while (event := decoder.next_event()) is not None: ...
    decoder.end_of_data()          # a partial event that is left now is an error

``next_frame`` gives an event's bytes as they lie in the (decrypted) file, and ``decode`` the event: a
reader that filters can leave out the second step. The decoder holds what decoding depends on and nothing
else: the format in force, the table maps in force, the cipher, the position.

A frame with a bad checksum raises once and can be passed over by asking for the next. When a header makes
no sense the framing is lost: the same error comes for ever, and ``resync`` finds the next sound event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple
from zlib import crc32

from gtidal.errors import (
    ChecksumMismatch,
    DecodeError,
    GtidalError,
    KeyProblem,
    NotABinlog,
    Truncated,
    Unsupported,
)
from gtidal.events.control import Rotate
from gtidal.events.format import CRC32, MAGIC, NO_CHECKSUM, Format, FormatDescription, StartV3
from gtidal.events.frame import (
    HEADER_SIZE,
    V1_HEADER_SIZE,
    checksum_size,
    compute_checksum,
    decode_event,
    decode_header,
    header_length,
    initial_format,
)
from gtidal.events.header import IGNORABLE
from gtidal.events.mariadb import PartialRowData, StartEncryption
from gtidal.events.registry import EVENTS, Context, Event
from gtidal.events.rows import RowsEvent
from gtidal.events.table_map import TableMap
from gtidal.events.transaction import TransactionPayload
from gtidal.log.codecs import MariadbCipher, MysqlCipher, unpack_payload
from gtidal.log.encryption import ENCRYPTED_MAGIC, EncryptionHeader

MAX_EVENT_SIZE = 1 << 30
"""What a server accepts. A longer length is damage, not an event."""
IBB_MAGIC = b"\xfe\xfe\x0d\x01"
FIRST_EVENT = len(MAGIC)
_MOST_TABLE_MAPS, _MOST_COLUMNS = 1024, 1 << 16
"""What is kept of table maps seen before: so many, with so many columns in all."""
_MOST_TABLES = 4096
_TABLE_EVENTS = {code for code, cls in EVENTS.items() if issubclass(cls, TableMap | RowsEvent)}
_SWITCHES_STATE = {FormatDescription.code, StartV3.code, StartEncryption.code}


HOLDS_EVENTS = (TransactionPayload, PartialRowData)
"""Events with events inside them: ``LogDecoder.inner`` gives those."""


class Frame(NamedTuple):
    """One event's bytes and where they start in the (decrypted) file."""

    position: int
    data: bytes

    @property
    def type_code(self) -> int:
        return self.data[4]

    @property
    def end(self) -> int:
        return self.position + len(self.data)


_WHERE_TO_GIVE = "(key_file in Python, keyFile in Spark, --key-file of a command)"


class Keys:
    """Where a decoder asks for keys. The base knows none."""

    def mysql(self, key_id: str) -> bytes:
        raise KeyProblem(
            f"the log is encrypted with {key_id}: give the server's keyring file {_WHERE_TO_GIVE}"
        )

    def mariadb(self, key_version: int) -> bytes:
        raise KeyProblem(
            f"the log is encrypted (MariaDB, key version {key_version}): give the server's key file {_WHERE_TO_GIVE}"
        )


class LogDecoder:
    """One log, from its first byte or from a known state on."""

    def __init__(
        self,
        file: str | None = None,
        *,
        verify_checksum: bool = True,
        decode_rows: bool = True,
        keys: Keys | None = None,
    ) -> None:
        self.file = file
        self.position = 0
        self.verify_checksum = verify_checksum
        self.joined_files = False
        """Standard input may be several files one after the other: magic bytes between events are passed over."""
        self.context = Context(Format(), {}, decode_rows)
        self.encryption: EncryptionHeader | None = None
        self._keys = keys or Keys()
        self._stage: Callable[[], bool] = self._read_magic
        self._buffer = b""
        self._offset = 0
        self._waiting: list[bytes] = []
        self._waiting_size = 0
        self._ended = False
        self._lost: GtidalError | None = None
        self._stream_cipher: MysqlCipher | None = None
        self._event_cipher: MariadbCipher | None = None
        self._ciphers: list[MariadbCipher] = []
        self._table_maps: dict[bytes, TableMap] = {}
        self._kept_columns = 0
        self._fragments = Fragments()

    @property
    def format(self) -> Format:
        return self.context.format

    def start_at(self, position: int, format: Format, event_cipher: MariadbCipher | None = None) -> None:
        """Go on at an event boundary of a file whose format is known: what follows are events."""
        self.context.format = format
        self.position = position
        self._event_cipher = event_cipher
        self._stage = self._read_events
        self._drop_buffer()

    def _drop_buffer(self) -> None:
        self._buffer, self._offset = b"", 0
        self._waiting, self._waiting_size = [], 0
        self._ended = False
        self._lost = None

    @property
    def stream_cipher(self) -> MysqlCipher | None:
        return self._stream_cipher

    @property
    def encrypts_events(self) -> bool:
        """Whether each event is encrypted by itself, as MariaDB does."""
        return bool(self._ciphers) or self._event_cipher is not None

    @property
    def event_cipher(self) -> MariadbCipher | None:
        return self._event_cipher

    def receive_data(self, data: bytes) -> None:
        """More of the log. Pieces are joined only when the next event is complete."""
        self._waiting.append(data)
        self._waiting_size += len(data)

    def end_of_data(self) -> None:
        self._ended = True

    def next_event(self) -> Event | None:
        """The next event, or None: give more data, or all was read."""
        frame = self.next_frame()
        return None if frame is None else self.decode(frame)

    def __iter__(self) -> Iterator[Event]:
        while (event := self.next_event()) is not None:
            yield event

    def next_frame(self) -> Frame | None:
        """The next event's bytes, or None: give more data, or all was read."""
        return self._next_event_frame() if self.read_head() else None

    def read_head(self) -> bool:
        """Read what precedes the first event; False: give more data. For a caller that frames events itself."""
        if self._lost is not None:
            raise self._lost
        while self._stage != self._read_events:
            try:
                if not self._stage():
                    return False
            except GtidalError as error:
                self._lost = error.at(file=self.file, position=self.position)
                raise
        return True

    def accept(self, frame: Frame) -> None:
        """Take note of an event that a caller framed: its checksum is compared, its format holds from here on."""
        self.position = frame.end
        code = frame.type_code
        if code in _SWITCHES_STATE:
            self._switch_state(frame)
        elif code == Rotate.code and frame.position == FIRST_EVENT:
            self._guess_checksum(frame.data)
        if self.verify_checksum and (self.context.format.checksum or code == FormatDescription.code):
            self.check(frame)

    def buffered(self) -> tuple[bytes, int]:
        """What was received and not framed yet, from an offset on. A caller that frames these events itself says so
        with ``pass_over``."""
        if self._waiting:
            self._have(len(self._buffer) - self._offset + self._waiting_size)
        return self._buffer, self._offset

    def pass_over(self, size: int) -> None:
        """So many bytes of whole events, none of which changes the format, were framed by the caller."""
        self._offset += size
        self.position += size

    def _have(self, size: int) -> bool:
        """Whether ``size`` bytes are in the buffer at the offset; joins waiting pieces if that helps."""
        have = len(self._buffer) - self._offset
        if have >= size:
            return True
        if have + self._waiting_size < size:
            return False
        data = b"".join(self._waiting)
        if self._stream_cipher is not None:
            data = self._stream_cipher.update(data)
        self._buffer = self._buffer[self._offset :] + data
        self._offset = 0
        self._waiting, self._waiting_size = [], 0
        return True

    def _take(self, size: int) -> bytes:
        start = self._offset
        self._offset = start + size
        return self._buffer[start : start + size]

    def _read_magic(self) -> bool:
        if not self._have(len(MAGIC)):
            if self._ended and len(self._buffer) + self._waiting_size < len(MAGIC):
                raise NotABinlog("no binary log: fewer than four bytes")
            return False
        magic = self._take(len(MAGIC))
        if magic == ENCRYPTED_MAGIC and self.encryption is None:
            self._stage = self._read_encryption_header
        elif magic == MAGIC:
            self.position = FIRST_EVENT
            self._stage = self._read_first_format
        elif magic == IBB_MAGIC:
            raise NotABinlog(
                "a binlog of MariaDB's InnoDB engine (.ibb): pages, not events; read it from a running server"
            )
        elif self.encryption is not None:
            raise KeyProblem("the key does not decrypt this log")
        else:
            raise NotABinlog(f"no binary log: starts with {magic.hex(' ')}, not {MAGIC.hex(' ')}")
        return True

    def _read_encryption_header(self) -> bool:
        rest = EncryptionHeader.SIZE - len(ENCRYPTED_MAGIC)
        if not self._have(rest):
            if self._ended:
                raise Truncated("the file ends inside its encryption header")
            return False
        self.encryption = EncryptionHeader.decode(ENCRYPTED_MAGIC + self._take(rest))
        header = self.encryption
        self._stream_cipher = MysqlCipher(self._keys.mysql(header.key_id), header.password, header.iv)
        self._buffer = self._stream_cipher.update(self._buffer[self._offset :])
        self._offset = 0
        self._stage = self._read_magic
        return True

    def _read_first_format(self) -> bool:
        if not self._have(HEADER_SIZE):
            if not self._ended:
                return False
            if not self._have(1):
                self._stage = self._read_events  # a file of the magic bytes alone
                return True
        start = self._offset
        self.context.format = initial_format(self._buffer[start : start + HEADER_SIZE])
        self._stage = self._read_events
        return True

    def _read_events(self) -> bool:
        return False

    def _next_event_frame(self) -> Frame | None:
        start = self._offset
        buffer = self._buffer
        if len(buffer) - start < V1_HEADER_SIZE:
            if not self._have(V1_HEADER_SIZE):
                self._refuse_partial(V1_HEADER_SIZE)
                return None
            start = self._offset
            buffer = self._buffer
        while self.joined_files and buffer[start : start + 4] == MAGIC:
            self._take(len(MAGIC))
            self.position += len(MAGIC)
            if not self._have(V1_HEADER_SIZE):
                self._refuse_partial(V1_HEADER_SIZE)
                return None
            start = self._offset
            buffer = self._buffer
        size = int.from_bytes(buffer[start + 9 : start + 13], "little")
        if len(buffer) - start < size or size < HEADER_SIZE:
            self._check_size(size)
            if not self._have(size):
                self._refuse_partial(size)
                return None
            start = self._offset
            buffer = self._buffer
        data = buffer[start : start + size]
        position = self.position
        self._offset = start + size
        self.position = position + size
        if self._event_cipher is not None:
            data = self._event_cipher.decrypt(data, position)
        elif self._ciphers:
            data = self._choose_cipher(data, position)
        frame = Frame(position, data)
        self.accept(frame)
        return frame

    def _check_size(self, size: int) -> None:
        smallest = self.context.format.header_length
        if size < smallest or size > MAX_EVENT_SIZE:
            self._lost = DecodeError(
                f"an event of {size} bytes; it has at least {smallest} and at most {MAX_EVENT_SIZE}",
                file=self.file,
                position=self.position,
                event=event_name(self._buffer[self._offset + 4]),
                field="header.size",
            )
            raise self._lost

    def _refuse_partial(self, size: int) -> None:
        left = len(self._buffer) - self._offset + self._waiting_size
        if self._ended and left:
            raise Truncated(
                f"the log ends inside an event: {left} bytes of at least {size}",
                file=self.file,
                position=self.position,
                event=event_name(self._buffer[self._offset + 4]) if self._have(5) else None,
                field="header.size",
            )

    def _switch_state(self, frame: Frame) -> None:
        """Events that change how the following ones are read."""
        try:
            event = decode_event(frame.data, frame.position, self.context)
            if isinstance(event, FormatDescription | StartV3):
                self.context.format = event.format
                self.context.tables.clear()
                self._table_maps.clear()
            elif isinstance(event, StartEncryption) and not event.header.flags & IGNORABLE:
                # a server that sends its log sends this event too, ignorable, and the others decrypted
                if event.scheme != 1:
                    raise Unsupported(f"encryption scheme {event.scheme}; known is 1", field="scheme")
                key = self._keys.mariadb(event.key_version)
                self._event_cipher = None
                self._ciphers = [MariadbCipher(key, event.nonce, counter) for counter in (False, True)]
        except GtidalError as error:
            self._lost = error.at(file=self.file, position=frame.position, event=event_name(frame.type_code))
            raise self._lost from None

    def _choose_cipher(self, data: bytes, position: int) -> bytes:
        """The log does not tell the cipher's mode; the first encrypted event shows which one fits."""
        for cipher in self._ciphers:
            plain = cipher.decrypt(data, position)
            if self._is_sound(plain, position):
                self._event_cipher = cipher
                return plain
        self._lost = KeyProblem("the key does not decrypt this log", file=self.file, position=position)
        raise self._lost

    def _is_sound(self, data: bytes, position: int) -> bool:
        if self.context.format.has_checksums:
            return crc32(data[:-4]) == int.from_bytes(data[-4:], "little")
        log_pos = int.from_bytes(data[13:17], "little")
        return data[4] in EVENTS and log_pos in (0, (position + len(data)) & 0xFFFFFFFF)

    def _guess_checksum(self, data: bytes) -> None:
        """A captured stream begins with a ROTATE, before any format description tells of checksums."""
        sealed = len(data) > HEADER_SIZE + 4 and crc32(data[:-4]) == int.from_bytes(data[-4:], "little")
        self.context.format = replace(self.context.format, checksum=CRC32 if sealed else NO_CHECKSUM)

    def check(self, frame: Frame) -> None:
        """Compare a frame's checksum; one without has nothing to compare."""
        data = frame.data
        size = checksum_size(data, data[4], self.context.format)
        if not size or len(data) < header_length(data[4], self.context.format) + size:
            return
        stored = int.from_bytes(data[-size:], "little")
        computed = compute_checksum(data[:-size], data[4])
        if stored != computed:
            raise ChecksumMismatch(
                f"stored is 0x{stored:08x}, the bytes have 0x{computed:08x}",
                file=self.file,
                position=frame.position,
                event=event_name(data[4]),
                field="checksum",
            )

    def decode(self, frame: Frame) -> Event:
        """The event in a frame; keeps the table maps in force."""
        position, data = frame
        code = data[4]
        try:
            if code == TableMap.code:
                event: Event = self._decode_table_map(frame, self.context)
            else:
                event = decode_event(data, position, self.context)
            if code in _TABLE_EVENTS:
                self._keep_tables(event)
        except GtidalError as error:
            raise error.at(file=self.file, position=position, event=event_name(code)) from None
        return event

    def _decode_table_map(self, frame: Frame, context: Context) -> TableMap:
        """Each statement names its tables anew, so the same table maps come again and again: the columns
        worked out for one serve the others."""
        header = decode_header(frame.data, frame.position, context.format)
        end = header.size - checksum_size(frame.data, header.type_code, context.format)
        body = frame.data[header.length : end]
        known = self._table_maps.get(body)
        if known is None:
            event = decode_event(frame.data, frame.position, context)
            assert isinstance(event, TableMap)
            self._kept_columns += len(event.types)
            if len(self._table_maps) >= _MOST_TABLE_MAPS or self._kept_columns > _MOST_COLUMNS:
                self._table_maps.clear()
                self._kept_columns = len(event.types)
            self._table_maps[body] = event
            return event
        event = object.__new__(TableMap)
        checksum = int.from_bytes(frame.data[end:], "little") if end < header.size else None
        event.__dict__.update(known.__dict__, header=header, checksum=checksum)
        return event

    def _keep_tables(self, event: Event) -> None:
        if isinstance(event, RowsEvent):
            if event.ends_statement:
                self.context.tables.clear()
        elif isinstance(event, TableMap):
            tables = self.context.tables
            if len(tables) >= _MOST_TABLES:  # no statement has so many: statements that never ended left them
                tables.clear()
            tables[event.table_id] = event

    @property
    def inner_format(self) -> Format:
        return inner_format_of(self.context.format)

    def inner_data(self, event: TransactionPayload) -> Iterator[bytes]:
        """The bytes of the events inside a compressed payload, one after the other, in bounded memory."""
        try:
            announced = event.uncompressed_size
            yield from _split(unpack_payload(event.payload, event.compression), announced)
        except GtidalError as error:
            raise error.at(file=self.file, position=event.header.position, event=event.name) from None

    def inner(self, event: Event) -> Iterator[tuple[Frame, Event]]:
        """The events inside an event (``HOLDS_EVENTS``): those of a compressed payload, or the rows event
        that fragments make up, with the last of them. Their position is that of the event around them."""
        position = event.header.position
        try:
            if isinstance(event, TransactionPayload):
                pieces, inside = self.inner_data(event), self.inner_format
            elif isinstance(event, PartialRowData) and (whole := self._fragments.add(event)) is not None:
                pieces, inside = iter((whole,)), self.inner_format
                if crc32(whole[:-4]) == int.from_bytes(whole[-4:], "little"):
                    inside = replace(inside, checksum=CRC32)
            else:
                return
            context = Context(inside, self.context.tables, self.context.decode_rows)
            for data in pieces:
                frame = Frame(position, data)
                inner: Event
                if data[4] == TableMap.code:
                    inner = self._decode_table_map(frame, context)
                else:
                    inner = decode_event(data, position, context)
                self._keep_tables(inner)
                yield frame, inner
        except GtidalError as error:
            raise error.at(file=self.file, position=position, event=event.name) from None


def inner_format_of(format: Format) -> Format:
    """The format of the events inside a payload: they have no checksums."""
    return replace(format, checksum=NO_CHECKSUM, header_length=HEADER_SIZE)


def largest_inner(announced: int | None) -> int:
    """The most bytes that an event inside a payload may have; the payload announces what it unpacks to."""
    return MAX_EVENT_SIZE if announced is None else min(MAX_EVENT_SIZE, max(announced, 1 << 26))


def _split(pieces: Iterator[bytes], announced: int | None) -> Iterator[bytes]:
    """The events in a payload's bytes. The announced size is informational, yet an inner event that is much
    larger than that is a lie, and not waited for."""
    buffer = bytearray()  # grows in place: an inner event may be as large as the payload
    largest = largest_inner(announced)
    for piece in pieces:
        buffer += piece
        start = 0
        while len(buffer) - start >= HEADER_SIZE:
            size = int.from_bytes(buffer[start + 9 : start + 13], "little")
            if not HEADER_SIZE <= size <= largest:
                raise DecodeError(f"an inner event of {size} bytes", field="payload")
            if len(buffer) - start < size:
                break
            yield bytes(buffer[start : start + size])
            start += size
        del buffer[:start]
    if buffer:
        raise Truncated(f"{len(buffer)} bytes of an inner event are left", field="payload")


def event_name(code: int) -> str:
    """The name of a type code."""
    cls = EVENTS.get(code)
    return cls.name if cls else f"UNKNOWN_{code}"


class Fragments:
    """Puts MariaDB's PARTIAL_ROW_DATA pieces together: the rows event they hold, once it is complete."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0

    def add(self, piece: PartialRowData) -> bytes | None:
        if piece.number == 1:
            self._pieces, self._size = [], 0
        if piece.number != len(self._pieces) + 1:
            got, self._pieces = len(self._pieces), []
            raise DecodeError(f"piece {piece.number} follows {got} pieces", field="number")
        self._pieces.append(piece.data)
        self._size += len(piece.data)
        if self._size > MAX_EVENT_SIZE:
            self._pieces = []
            raise DecodeError(f"pieces of more than {MAX_EVENT_SIZE} bytes", field="data")
        if piece.number < piece.fragments:
            return None
        data, self._pieces = b"".join(self._pieces), []
        size = int.from_bytes(data[9:13], "little")
        if len(data) < HEADER_SIZE or size != len(data):
            raise DecodeError(f"the pieces make {len(data)} bytes, their event has {size}", field="data")
        if not issubclass(EVENTS.get(data[4], Event), RowsEvent):
            raise DecodeError(f"the pieces make an event of type {data[4]}, not rows", field="data")
        return data
