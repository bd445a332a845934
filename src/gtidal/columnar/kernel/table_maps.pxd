cimport cython

cimport gtidal.columnar.kernel.machine as machine

@cython.locals(
    length=cython.longlong, last=cython.longlong, place=cython.longlong, start=cython.longlong, size=cython.longlong,
    found=cython.longlong, k=cython.longlong,
)
cpdef long long next_unknown(
    const unsigned char[::1] data, const int[::1] offsets, const int[::1] stops, const unsigned char[::1] types,
    long long first, long long count, const unsigned char[::1] name, const unsigned char[::1] bodies,
    const long long[::1] starts, const int[::1] sizes, long long known
) noexcept
