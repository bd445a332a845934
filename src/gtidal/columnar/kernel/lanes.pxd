cimport cython

cimport gtidal.columnar.kernel.machine as machine

cdef long long LOW_HALF

@cython.locals(nulls=cython.longlong, i=cython.longlong, bits=cython.int, k=cython.int, state=cython.int)
cdef inline long long put_bitmap(
    const unsigned char *states, long long first, long long last, int is_text, unsigned char *out, long long bitmap
) noexcept nogil

@cython.locals(i=cython.longlong, number=cython.longlong)
cdef inline void put_numbers(
    const long long *slots, const unsigned char *states, long long first, long long last, long long size,
    int has_nulls, unsigned char *out, long long at
) noexcept nogil

@cython.locals(i=cython.longlong, there=cython.longlong, low=cython.longlong, high=cython.longlong)
cdef inline void put_wide(
    const long long *slots, const long long *high_slots, const unsigned char *states, long long first, long long last,
    int kind, unsigned char *out, long long at
) noexcept nogil

@cython.locals(
    offsets=cython.longlong, text=cython.longlong, end=cython.longlong, used=cython.longlong, begun=cython.longlong,
    i=cython.longlong, state=cython.int, start=cython.longlong, size=cython.longlong,
)
cdef inline int put_spans(
    const unsigned char *data, long long limit, const unsigned char *heap, long long heap_limit,
    const long long *slots, const unsigned char *states, long long first, long long last, long long *way, long long at,
    unsigned char *out, long long[::1] progress
) noexcept nogil

@cython.locals(whole=cython.int, i=cython.longlong, start=cython.longlong, size=cython.longlong)
cdef inline long long first_untext(
    const unsigned char *out, long long text, long long begun, long long used, long long offsets, long long first,
    long long last
) noexcept nogil

@cython.locals(
    offsets=cython.longlong, text=cython.longlong, end=cython.longlong, used=cython.longlong, i=cython.longlong,
    number=cython.longlong, span=cython.longlong, size=cython.longlong,
)
cdef inline int put_labels(
    const long long *labels, const unsigned char *label_heap, long long label_limit, const long long *slots,
    const unsigned char *states, long long first, long long last, long long *way, long long at, unsigned char *out,
    long long[::1] progress
) noexcept nogil

@cython.locals(
    source="const unsigned char *", more="const unsigned char *", cells="const long long *",
    high_cells="const long long *", conditions="const unsigned char *", way="long long *", target="unsigned char *",
    spans="const long long *", names="const unsigned char *", at=cython.longlong, first=cython.longlong,
    last=cython.longlong, kind=cython.longlong, code=cython.int, size=cython.longlong, nulls=cython.longlong,
)
cpdef int columns(
    const unsigned char[::1] data, const unsigned char[::1] heap, const long long[::1] slots,
    const unsigned char[::1] states, long long stride, long long count, long long[::1] ways,
    const long long[::1] labels, const unsigned char[::1] label_heap, unsigned char[::1] out, long long[::1] progress
) noexcept

@cython.locals(
    used=cython.longlong, room=cython.longlong, end=cython.longlong, nulls=cython.longlong, i=cython.longlong,
    size=cython.longlong, start=cython.longlong, srid=cython.longlong,
)
cpdef long long geometries(
    const unsigned char[::1] data, const long long[::1] slots, const unsigned char[::1] states, long long cell,
    long long count, int[::1] srids, unsigned char[::1] out, int[::1] offsets, unsigned char[::1] valid
) noexcept
