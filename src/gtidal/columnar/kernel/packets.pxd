cimport cython

cimport gtidal.columnar.kernel.machine as machine


@cython.locals(
    pos=cython.longlong, at=cython.longlong, left=cython.longlong, more=cython.longlong, number=cython.longlong,
    place=cython.longlong, missing=cython.longlong, reply=cython.longlong, room=cython.longlong,
    before=cython.longlong, code=cython.int, size=cython.longlong, head=cython.longlong, kind=cython.int,
    next_place=cython.longlong, behind=cython.longlong, begun=cython.longlong,
)
cpdef int unpack(
    const unsigned char[::1] data, long long end, unsigned char[::1] target, int semi_sync, long long[::1] state
) noexcept
