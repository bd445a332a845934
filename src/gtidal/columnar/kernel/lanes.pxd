cimport cython

cimport gtidal.columnar.kernel.json_keys as json_keys
cimport gtidal.columnar.kernel.machine as machine

cdef long long LOW_HALF

@cython.locals(i=cython.longlong)
cdef inline void put(unsigned char[::1] out, long long at, long long number, long long size) noexcept nogil

@cython.locals(nulls=cython.longlong, i=cython.longlong, cell=cython.longlong, number=cython.longlong, good=cython.int)
cpdef long long numbers(
    const long long[::1] slots, const unsigned char[::1] states, const int[::1] image_cell, long long slot,
    long long count, long long size, unsigned char[::1] out, long long at, unsigned char[::1] valid
) noexcept

@cython.locals(
    nulls=cython.longlong, i=cython.longlong, cell=cython.longlong, low=cython.longlong, high=cython.longlong,
    good=cython.int,
)
cpdef long long wide(
    const long long[::1] slots, const unsigned char[::1] states, const int[::1] image_cell, long long slot,
    long long count, int kind, long long[::1] out, long long at, unsigned char[::1] valid
) noexcept

@cython.locals(
    used=cython.longlong, room=cython.longlong, end=cython.longlong, heap_end=cython.longlong, nulls=cython.longlong,
    i=cython.longlong, cell=cython.longlong, state=cython.int, size=cython.longlong, start=cython.longlong,
)
cpdef long long spans(
    const unsigned char[::1] data, const unsigned char[::1] heap, const long long[::1] slots,
    const unsigned char[::1] states, const int[::1] image_cell, long long slot, long long count,
    unsigned char[::1] out, int[::1] offsets, long long at, unsigned char[::1] valid
) noexcept

@cython.locals(
    used=cython.longlong, room=cython.longlong, end=cython.longlong, nulls=cython.longlong, i=cython.longlong,
    cell=cython.longlong, size=cython.longlong, start=cython.longlong, srid=cython.longlong,
)
cpdef long long geometries(
    const unsigned char[::1] data, const long long[::1] slots, const unsigned char[::1] states,
    const int[::1] image_cell, long long slot, long long count, int[::1] srids, unsigned char[::1] out,
    int[::1] offsets, long long at, unsigned char[::1] valid
) noexcept

@cython.locals(
    data="const unsigned char *", end=cython.longlong, i=cython.longlong, start=cython.longlong, size=cython.longlong
)
cpdef long long first_untext(const unsigned char[::1] out, const int[::1] offsets, long long count) noexcept
