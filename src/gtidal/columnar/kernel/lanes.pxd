cimport cython

cimport gtidal.columnar.kernel.machine as machine

cdef long long LOW_HALF

@cython.locals(
    nulls=cython.longlong, bits=cython.int, i=cython.longlong, cell=cython.longlong, good=cython.longlong,
    number=cython.longlong,
)
cdef inline long long put_numbers(
    const long long *slots, const unsigned char *states, const int *image_cell, long long slot, long long first,
    long long last, long long size, unsigned char *out, long long at, long long bitmap
) noexcept nogil

@cython.locals(
    nulls=cython.longlong, bits=cython.int, i=cython.longlong, cell=cython.longlong, good=cython.longlong,
    low=cython.longlong, high=cython.longlong,
)
cdef inline long long put_wide(
    const long long *slots, const unsigned char *states, const int *image_cell, long long slot, long long first,
    long long last, long long kind, unsigned char *out, long long at, long long bitmap
) noexcept nogil

@cython.locals(
    slot=cython.longlong, offsets=cython.longlong, bitmap=cython.longlong, text=cython.longlong, end=cython.longlong,
    used=cython.longlong, begun=cython.longlong, bits=cython.int, i=cython.longlong, cell=cython.longlong,
    state=cython.int, good=cython.int, start=cython.longlong, size=cython.longlong,
)
cdef inline int put_spans(
    const unsigned char *data, long long limit, const unsigned char *heap, long long heap_limit,
    const long long *slots, const unsigned char *states, const int *image_cell, long long first, long long last,
    long long *way, long long at, unsigned char *out, long long[::1] progress
) noexcept nogil

@cython.locals(whole=cython.int, i=cython.longlong, start=cython.longlong, size=cython.longlong)
cdef inline long long first_untext(
    const unsigned char *out, long long text, long long begun, long long used, long long offsets, long long first,
    long long last
) noexcept nogil

@cython.locals(
    slot=cython.longlong, offsets=cython.longlong, bitmap=cython.longlong, text=cython.longlong, end=cython.longlong,
    used=cython.longlong, bits=cython.int, i=cython.longlong, cell=cython.longlong, good=cython.int,
    number=cython.longlong, span=cython.longlong, size=cython.longlong,
)
cdef inline int put_labels(
    const long long *labels, const unsigned char *label_heap, long long label_limit, const long long *slots,
    const unsigned char *states, const int *image_cell, long long first, long long last, long long *way,
    long long at, unsigned char *out, long long[::1] progress
) noexcept nogil

@cython.locals(
    source="const unsigned char *", more="const unsigned char *", cells="const long long *",
    conditions="const unsigned char *", image_cells="const int *", way="long long *", target="unsigned char *",
    spans="const long long *", names="const unsigned char *", at=cython.longlong, first=cython.longlong,
    last=cython.longlong, kind=cython.longlong, code=cython.int, size=cython.longlong, nulls=cython.longlong,
)
cpdef int columns(
    const unsigned char[::1] data, const unsigned char[::1] heap, const long long[::1] slots,
    const unsigned char[::1] states, const int[::1] image_cell, long long count, long long[::1] ways,
    const long long[::1] labels, const unsigned char[::1] label_heap, unsigned char[::1] out, long long[::1] progress
) noexcept

@cython.locals(
    used=cython.longlong, room=cython.longlong, end=cython.longlong, nulls=cython.longlong, i=cython.longlong,
    cell=cython.longlong, size=cython.longlong, start=cython.longlong, srid=cython.longlong,
)
cpdef long long geometries(
    const unsigned char[::1] data, const long long[::1] slots, const unsigned char[::1] states,
    const int[::1] image_cell, long long slot, long long count, int[::1] srids, unsigned char[::1] out,
    int[::1] offsets, unsigned char[::1] valid
) noexcept
