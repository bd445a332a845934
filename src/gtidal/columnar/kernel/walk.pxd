cimport cython

cimport gtidal.columnar.kernel.machine as machine

cdef long long LOW_HALF

@cython.locals(end=cython.longlong, size=cython.longlong, claimed=cython.longlong)
cpdef long long next_placed(const unsigned char[::1] data, long long pos, long long position) noexcept

@cython.locals(
    body=cython.longlong, gno=cython.longlong, found=cython.int, server=cython.longlong, servers=cython.longlong,
    low=cython.longlong, high=cython.longlong, middle=cython.longlong,
    at=cython.longlong, first=cython.int, length=cython.longlong,
)
cdef long long unwanted_length(
    const unsigned char[::1] data, long long pos, long long end, const unsigned char[::1] uuids,
    const long long[::1] firsts, const long long[::1] starts, const long long[::1] ends, int including
) noexcept nogil

@cython.locals(
    count=cython.longlong, capacity=cython.longlong, judging=cython.int, smallest=cython.longlong, code=cython.int, tail=cython.longlong,
    size=cython.longlong, kind=cython.int, length=cython.longlong, place=cython.longlong,
)
cpdef int walk(
    const unsigned char[::1] data, long long pos, long long end, long long header_size, int checksums,
    const unsigned char[::1] marked, int[::1] offsets, int[::1] sizes,
    int[::1] stops, unsigned char[::1] types, long long[::1] timestamps, long long[::1] server_ids, int[::1] flags,
    long long[::1] positions, long long[::1] finishes, long long[::1] payloads, long long base,
    const unsigned char[::1] uuids, const long long[::1] firsts, const long long[::1] starts, const long long[::1] ends,
    int including, long long[::1] progress
) noexcept
