"""Room that batches leave is taken again, within a bound."""

from __future__ import annotations

import numpy as np

from gtidal.columnar import memory

MB = 1 << 20


def test_room_that_is_free_is_taken_again_for_what_is_a_little_smaller() -> None:
    with memory.keeping():
        first = memory.room(8 * MB)
        held = memory.room(8 * MB)
        assert not np.shares_memory(first, held)
        place = first.ctypes.data
        del first
        assert memory.room(6 * MB).ctypes.data == place
        assert memory.room(2 * MB).ctypes.data != place  # too small for so much
        assert not np.shares_memory(memory.room(7 * MB), held)


def test_room_is_bounded_and_old_sizes_make_way_for_new_ones() -> None:
    with memory.keeping():
        for megabytes in range(1, 60):
            memory.room(megabytes * MB)
            assert memory._kept_bytes <= memory.MOST_KEPT
            assert memory._kept_bytes == sum(len(each) for arrays in memory._kept.values() for each in arrays)
        place = memory.room(59 * MB).ctypes.data
        assert memory.room(59 * MB).ctypes.data == place  # the newest is kept
        held = [memory.room(40 * MB) for _ in range(5)]  # more than is kept: all is given all the same
        assert len({each.ctypes.data for each in held}) == 5
        assert memory._kept_bytes <= memory.MOST_KEPT
    assert memory._kept_bytes == 0


def test_nothing_is_kept_while_nobody_reads() -> None:
    memory.room(8 * MB)
    assert memory._kept_bytes == 0
