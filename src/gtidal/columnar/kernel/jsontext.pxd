cimport cython

cimport gtidal.columnar.kernel.machine as machine

cdef long long LEAST

cdef inline long long read(const unsigned char[::1] data, long long pos, long long size) noexcept nogil

cdef inline long long put_word(unsigned char[::1] out, long long at, long long word) noexcept nogil

@cython.locals(
    whole=cython.longlong, flip=cython.longlong, lead=cython.longlong, pos=cython.longlong, end=cython.longlong,
    begun=cython.longlong, digits=cython.longlong, length=cython.longlong, number=cython.longlong, i=cython.longlong,
    byte=cython.longlong, limit=cython.longlong, _=cython.longlong,
)
cdef long long put_decimal(
    const unsigned char[::1] data, long long start, long long size, long long precision, long long scale,
    unsigned char[::1] out, long long at
) noexcept nogil

cdef inline long long put_clock(unsigned char[::1] out, long long at, long long hour, long long packed) noexcept nogil

cdef long long put_moment(unsigned char[::1] out, long long at, int kind, long long packed) noexcept nogil

@cython.locals(pos=cython.longlong, end=cython.longlong, run=cython.longlong, byte=cython.int)
cdef long long put_string(
    const unsigned char[::1] data, long long start, long long size, unsigned char[::1] out, long long at,
    long long room
) noexcept nogil

@cython.locals(size=cython.longlong, shift=cython.longlong, byte=cython.longlong)
cdef inline long long counted(
    const unsigned char[::1] data, long long pos, long long end, long long[::1] budget
) noexcept nogil

@cython.locals(kind=cython.int, pos=cython.longlong, size=cython.longlong, packed=cython.longlong)
cdef long long put_opaque(
    const unsigned char[::1] data, long long start, long long end, int depth, unsigned char[::1] out, long long at,
    long long room, long long[::1] budget
) noexcept nogil

cdef inline long long put_bytes(
    const unsigned char[::1] data, long long start, long long size, unsigned char[::1] out, long long at,
    long long room
) noexcept nogil

@cython.locals(pos=cython.longlong, number=cython.longlong)
cdef long long put_scalar(
    const unsigned char[::1] data, int kind, long long start, long long end, int depth, unsigned char[::1] out,
    long long at, long long room, long long[::1] budget
) noexcept nogil

@cython.locals(i=cython.longlong)
cdef inline int comes_after(
    const unsigned char[::1] data, long long start, long long size, long long before, long long before_size
) noexcept nogil

@cython.locals(
    width=cython.longlong, count=cython.longlong, size=cython.longlong, values_at=cython.longlong,
    first=cython.longlong, before=cython.longlong, before_size=cython.longlong, i=cython.longlong,
    entry=cython.longlong, key=cython.longlong, length=cython.longlong, inner=cython.int, pos=cython.longlong,
)
cdef long long put_container(
    const unsigned char[::1] data, int kind, long long start, long long end, int depth, unsigned char[::1] out,
    long long at, long long room, long long[::1] budget
) noexcept nogil

cdef long long put_document(
    const unsigned char[::1] data, long long start, long long size, unsigned char[::1] out, long long at,
    long long room, long long[::1] budget
) noexcept nogil
