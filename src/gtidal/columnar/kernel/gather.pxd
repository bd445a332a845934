cimport cython

cimport gtidal.columnar.kernel.machine as machine

cdef long long NONE

@cython.locals(
    total=cython.longlong, nulls=cython.longlong, texts=cython.longlong, single=cython.int, r=cython.longlong,
    code=cython.longlong, count=cython.longlong, size=cython.longlong,
)
cpdef int measured(
    const long long[::1] sizes, const int[::1] codes, const long long[::1] counts, long long runs,
    long long[::1] progress
) noexcept

@cython.locals(
    used=cython.longlong, room=cython.longlong, end=cython.longlong, texts=cython.longlong, places=cython.longlong,
    single=cython.int, at=cython.longlong, source="const unsigned char *", target="unsigned char *",
    r=cython.longlong, code=cython.longlong, count=cython.longlong, size=cython.longlong, start=cython.longlong,
    k=cython.longlong,
)
cpdef int picked(
    const unsigned char[::1] data, const long long[::1] starts, const long long[::1] sizes, const int[::1] codes,
    const long long[::1] counts, long long runs, unsigned char[::1] out, int[::1] offsets
) noexcept

@cython.locals(
    nulls=cython.longlong, there=cython.longlong, i=cython.longlong, code=cython.longlong, number=cython.longlong,
)
cpdef int numbers(
    const long long[::1] values, const int[::1] codes, long long count, long long[::1] out, long long[::1] progress
) noexcept

@cython.locals(size=cython.longlong, i=cython.longlong, place=cython.longlong)
cpdef int added(
    const int[::1] values, const int[::1] rows, const int[::1] columns, long long count, long long width,
    long long[::1] table
) noexcept

@cython.locals(
    used=cython.longlong, nulls=cython.longlong, room=cython.longlong, there=cython.longlong, i=cython.longlong,
    code=cython.longlong, size=cython.longlong, k=cython.longlong,
)
cpdef int listed(
    const long long[::1] first, const long long[::1] sizes, const int[::1] codes, long long count, int[::1] offsets,
    int[::1] members, long long[::1] progress
) noexcept

@cython.locals(
    ones=cython.longlong, twos=cython.longlong, threes=cython.longlong, i=cython.longlong, mark=cython.int,
)
cpdef int placed(
    const unsigned char[::1] types, const unsigned char[::1] marks, long long first, long long last, long long width,
    int[::1] places, long long[::1] progress
) noexcept
