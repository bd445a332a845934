cimport cython

cimport gtidal.columnar.kernel.machine as machine


@cython.locals(
    total=cython.longlong, nulls=cython.longlong, texts=cython.longlong, i=cython.longlong, code=cython.longlong,
    size=cython.longlong,
)
cpdef int measured(
    const long long[::1] sizes, const int[::1] codes, long long count, long long[::1] progress
) noexcept

@cython.locals(
    used=cython.longlong, room=cython.longlong, end=cython.longlong, texts=cython.longlong, i=cython.longlong,
    code=cython.longlong, size=cython.longlong, start=cython.longlong,
)
cpdef int picked(
    const unsigned char[::1] data, const long long[::1] starts, const long long[::1] sizes, const int[::1] codes,
    long long first, long long count, unsigned char[::1] out, int[::1] offsets
) noexcept

@cython.locals(nulls=cython.longlong, there=cython.longlong, i=cython.longlong, code=cython.longlong)
cpdef int numbers(
    const long long[::1] values, const int[::1] codes, long long count, long long[::1] out, long long[::1] progress
) noexcept

@cython.locals(
    used=cython.longlong, nulls=cython.longlong, room=cython.longlong, there=cython.longlong, i=cython.longlong,
    code=cython.longlong, size=cython.longlong, k=cython.longlong,
)
cpdef int listed(
    const long long[::1] first, const long long[::1] sizes, const int[::1] codes, long long count, int[::1] offsets,
    int[::1] members, long long[::1] progress
) noexcept
