cimport cython

cimport gtidal.columnar.kernel.machine as machine

cdef long long NONE
cdef long long LOW_HALF
cdef long long NULL

@cython.locals(k=cython.longlong)
cdef inline void mark_nulls(unsigned char *out, long long bitmap, long long row, long long count) noexcept nogil

@cython.locals(k=cython.longlong)
cdef inline void clear(unsigned char *out, long long bitmap, long long rows) noexcept nogil

@cython.locals(
    row=cython.longlong, nulls=cython.longlong, r=cython.longlong, number=cython.longlong, count=cython.longlong,
    k=cython.longlong,
)
cdef inline long long put_numbers(
    const long long *source, const int *codes, const long long *counts, long long runs, long long rows,
    long long factor, unsigned char *out, long long values, long long bitmap
) noexcept nogil

@cython.locals(
    row=cython.longlong, r=cython.longlong, number=cython.longlong, half=cython.int, k=cython.longlong,
)
cdef inline void put_own_numbers(
    const long long *firsts, const int *operations, const long long *counts, long long runs, int paired,
    unsigned char *out, long long values
) noexcept nogil

@cython.locals(
    offsets=cython.longlong, text=cython.longlong, end=cython.longlong, used=cython.longlong, row=cython.longlong,
    nulls=cython.longlong, r=cython.longlong, size=cython.longlong, start=cython.longlong, count=cython.longlong,
    k=cython.longlong,
)
cdef inline int put_texts(
    const long long *starts, const long long *sizes, const int *codes, const long long *counts, long long runs,
    long long rows, const unsigned char *heap, long long limit, long long *way, long long at, unsigned char *out
) noexcept nogil

@cython.locals(
    offsets=cython.longlong, text=cython.longlong, end=cython.longlong, used=cython.longlong, row=cython.longlong,
    nulls=cython.longlong, r=cython.longlong, code=cython.longlong, count=cython.longlong, span=cython.longlong,
    second=cython.longlong, start=cython.longlong, size=cython.longlong, k=cython.longlong,
)
cdef inline int put_labels(
    long long kind, const long long *numbers, const int *codes, const long long *counts, long long runs,
    long long rows, const long long *labels, const unsigned char *label_heap, long long limit, long long *way,
    long long at, unsigned char *out
) noexcept nogil

@cython.locals(
    there=cython.longlong, fields=cython.longlong, total=cython.longlong, r=cython.longlong, way="long long *",
    target="unsigned char *", many="const long long *", of_event="const int *", of_transaction="const int *",
    at=cython.longlong, kind=cython.longlong, source=cython.longlong, code=cython.int, values="const long long *",
    codes="const int *",
)
cpdef int columns(
    const int[::1] events, const int[::1] transactions, const int[::1] plans, const int[::1] operations,
    const long long[::1] counts, const long long[::1] firsts, long long runs, long long rows, int paired,
    const long long[::1] positions, const long long[::1] timestamps, const long long[::1] server_ids,
    const long long[::1] txn, long long width, const unsigned char[::1] heap, const long long[::1] labels,
    const unsigned char[::1] label_heap, long long[::1] ways, unsigned char[::1] out, long long[::1] progress
) noexcept
