"""The kernel's unpacking of a server's packets: against the reference layouts, compiled and interpreted, in any pieces."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gtidal.columnar import kernel
from gtidal.events.protocol import SEMI_SYNC, Piece, split_payload

DATA, FULL, OTHER, SEQUENCE, PLACE, SIZE, REPLY = range(7)
AT, FILLED, NUMBER, BEHIND, BEGUN = 0, 1, 4, 5, 8
IMPLEMENTATIONS: list[Any] = ["compiled", "interpreted"]
PLAIN_TYPES = (2, 16, 19, 30, 31, 32, 33, 36, 40, 42)
SPOKEN_TYPES = (4, 15, 27, 41)
ARTIFICIAL = 0x20


def event(kind: int, body: bytes, position: int, *, log_pos: int | None = None, flags: int = 0) -> bytes:
    size = 19 + len(body)
    place = (position + size) & 0xFFFFFFFF if log_pos is None else log_pos
    return struct.pack("<IBIIIH", 1, kind, 7, size, place, flags) + body


def packets(payloads: list[bytes], number: int = 1) -> bytes:
    data = b""
    for payload in payloads:
        pieces = split_payload(payload, number)
        data += b"".join(piece.encode() for piece in pieces)
        number = (number + len(pieces)) % 256
    return data


def new_state(position: int, number: int = 1) -> Any:
    state = np.zeros(9, np.int64)
    state[NUMBER], state[BEHIND] = number, position
    return state


def unpacked(
    data: bytes, state: Any, steps: list[int], room: int, semi_sync: bool = False
) -> tuple[bytes, int]:
    """What comes out if bytes come in such steps and there is so much room at a time; and the last code."""
    out = b""
    have = 0
    source = np.frombuffer(data, np.uint8)
    target = np.zeros(room, np.uint8)
    waiting = list(steps)
    while True:
        code = kernel.packets.unpack(
            memoryview(source), have, memoryview(target), int(semi_sync), memoryview(state)
        )
        out += target[: state[FILLED]].tobytes()
        filled, state[FILLED] = state[FILLED], 0
        if code == DATA and have < len(data):
            have = min(have + (waiting.pop(0) if waiting else len(data)), len(data))
        elif code == REPLY or (code == FULL and filled):
            continue
        else:
            return out, code


@st.composite
def plain_logs(draw: st.DrawFn) -> tuple[int, list[bytes]]:
    """Events one behind the other, from a position that may be near 4 GiB."""
    start = position = draw(st.sampled_from((4, 197, (1 << 32) - 60, (1 << 32) + 5)))
    events = []
    for kind, body, tells in draw(
        st.lists(
            st.tuples(st.sampled_from(PLAIN_TYPES), st.binary(max_size=60), st.booleans()),
            min_size=1,
            max_size=9,
        )
    ):
        # MariaDB leaves places out inside of transactions.
        made = event(kind, body, position, log_pos=None if tells else 0)
        events.append(made)
        position += len(made)
    return start, events


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@settings(max_examples=150, deadline=None)
@given(
    log=plain_logs(),
    number=st.sampled_from((1, 250, 255)),
    steps=st.lists(st.integers(1, 40), max_size=30),
    room=st.integers(1, 200),
    semi_sync=st.booleans(),
    replies=st.integers(0, 1),
)
def test_events_come_out_whole(
    implementation: Any,
    log: tuple[int, list[bytes]],
    number: int,
    steps: list[int],
    room: int,
    semi_sync: bool,
    replies: int,
) -> None:
    start, events = log
    before = bytes((0, SEMI_SYNC, replies)) if semi_sync else b"\0"
    data = packets([before + each for each in events], number)
    state = new_state(start, number)
    with kernel.use(implementation):
        out, code = unpacked(data, state, steps, room, semi_sync)
    assert (out, code) == (b"".join(events), DATA)
    assert state[BEHIND] == start + len(out)
    assert state[BEGUN] == start + len(out) - len(events[-1])
    assert state[NUMBER] == (number + len(events)) % 256


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("payload", [Piece.LARGEST - 1, Piece.LARGEST, Piece.LARGEST + 1, 2 * Piece.LARGEST])
def test_payloads_of_several_packets(implementation: Any, payload: int) -> None:
    large = event(30, bytes(range(256)) * (payload // 256 + 1), 4)[: payload - 1]
    large = event(30, large[19:], 4)
    small = event(16, b"12345678", 4 + len(large))
    data = packets([b"\0" + large, b"\0" + small])
    with kernel.use(implementation):
        out, code = unpacked(data, new_state(4), [5, 19, 1 << 20, 77], 3 << 20)
    assert code == DATA
    assert out == large + small


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("kind", SPOKEN_TYPES)
def test_what_the_server_says_is_left_in_place(implementation: Any, kind: int) -> None:
    first = event(16, b"x" * 8, 4)
    said = event(kind, b"binlog.000002", 4 + len(first), log_pos=0)
    artificial = event(163, b"abc", 4 + len(first), flags=ARTIFICIAL)
    for other in (said, artificial, event(164, b"", 31, log_pos=0)):
        data = packets([b"\0" + first, b"\0" + other])
        state = new_state(4)
        with kernel.use(implementation):
            out, code = unpacked(data, state, [], 1 << 10)
        assert (out, code) == (first, OTHER)
        assert data[state[AT] :] == packets([b"\0" + other], 2)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_errors_and_ends_are_left_in_place(implementation: Any) -> None:
    for payload in (
        b"\xfe\0\0\2\0",
        b"\xff\xd4\x04#HY000" + b"a long sentence of the server",
        b"\0" + b"short",
    ):
        with kernel.use(implementation):
            assert unpacked(packets([payload]), new_state(4), [], 100) == (b"", OTHER)


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_what_does_not_follow_is_told(implementation: Any) -> None:
    first = event(16, b"x" * 8, 4)
    gap = event(16, b"x" * 8, 300)
    longer = event(16, b"x" * 8, 4 + len(first)) + b"more"
    shorter = event(16, b"x" * 8, 4 + len(first))[:-1]
    cases = ((gap, PLACE), (longer, SIZE), (shorter, SIZE))
    with kernel.use(implementation):
        for second, expected in cases:
            data = packets([b"\0" + first, b"\0" + second])
            assert unpacked(data, new_state(4), [], 1000) == (first, expected)
        wrong_number = packets([b"\0" + first]) + packets([b"\0" + event(16, b"", 31)], 3)
        assert unpacked(wrong_number, new_state(4), [], 1000) == (first, SEQUENCE)


@settings(max_examples=300, deadline=None)
@given(
    log=plain_logs(),
    damage=st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=4),
    semi_sync=st.booleans(),
)
def test_damage_is_judged_alike(
    log: tuple[int, list[bytes]], damage: list[tuple[int, int]], semi_sync: bool
) -> None:
    start, events = log
    data = bytearray(packets([b"\0" + each for each in events]))
    for place, value in damage:
        data[place % len(data)] = value
    seen = []
    for implementation in IMPLEMENTATIONS:
        state = new_state(start)
        with kernel.use(implementation):
            seen.append((unpacked(bytes(data), state, [7, 30], 50, semi_sync), state.tolist()))
    assert seen[0] == seen[1]
