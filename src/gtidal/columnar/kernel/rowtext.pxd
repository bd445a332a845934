cimport cython

cimport gtidal.columnar.kernel.jsontext as jsontext
cimport gtidal.columnar.kernel.machine as machine

cdef long long ONE
cdef long long DATETIME_SIGN
cdef long long TIME_SIGN

@cython.locals(pos=cython.longlong, end=cython.longlong, run=cython.longlong, byte=cython.int)
cdef long long put_quoted(
    const unsigned char[::1] data, long long start, long long size, int quote, unsigned char[::1] out, long long at,
    long long room
) noexcept nogil

cdef inline long long put_signed(unsigned char[::1] out, long long at, long long number, long long size) noexcept nogil

@cython.locals(i=cython.longlong)
cdef inline long long put_bits(unsigned char[::1] out, long long at, long long number, long long count) noexcept nogil

cdef inline long long put_fraction(unsigned char[::1] out, long long at, long long raw, long long digits) noexcept nogil

cdef inline long long put_clock(
    unsigned char[::1] out, long long at, long long hour, long long minute, long long second
) noexcept nogil

cdef inline long long put_date(
    unsigned char[::1] out, long long at, long long year, long long month, long long day, int mark
) noexcept nogil

@cython.locals(number=cython.longlong, i=cython.longlong, byte=cython.longlong)
cdef inline long long little(const unsigned char[::1] data, long long pos, long long size) noexcept nogil

@cython.locals(number=cython.longlong, i=cython.longlong, byte=cython.longlong)
cdef inline long long big(const unsigned char[::1] data, long long pos, long long size) noexcept nogil

@cython.locals(day=cython.longlong, bits=cython.longlong)
cdef long long put_temporal(
    int kind, long long number, long long fraction, long long digits, long long argument, unsigned char[::1] out,
    long long at
) noexcept nogil

@cython.locals(count=cython.longlong, i=cython.longlong, bits=cython.longlong)
cdef long long put_vector(
    const unsigned char[::1] data, long long start, long long size, unsigned char[::1] out, long long at,
    long long room
) noexcept nogil

@cython.locals(number=cython.longlong, i=cython.longlong)
cdef long long put_fixed(
    const unsigned char[::1] data, long long pos, int kind, long long size, long long argument1, long long argument2,
    unsigned char[::1] out, long long at
) noexcept nogil

@cython.locals(
    room=cython.longlong, first=cython.longlong, count=cython.longlong, nulls=cython.longlong, size=cython.longlong,
    i=cython.longlong, step=cython.longlong, after=cython.longlong, kind=cython.int, length=cython.longlong,
)
cdef long long put_image(
    const unsigned char[::1] data, long long pos, long long end, long long image, const int[::1] images,
    const int[::1] steps, const unsigned char[::1] texts, unsigned char[::1] scratch, unsigned char[::1] out,
    long long at, long long[::1] work
) noexcept nogil

@cython.locals(room=cython.longlong, start=cython.longlong)
cdef long long put_rows(
    const unsigned char[::1] data, long long pos, long long end, long long before, long long after, long long head,
    long long head_size, long long between, long long between_size, const int[::1] images, const int[::1] steps,
    const unsigned char[::1] texts, unsigned char[::1] scratch, unsigned char[::1] out, long long at,
    long long[::1] work
) noexcept nogil

cpdef long long write_rows(
    const unsigned char[::1] data, long long pos, long long end, long long before, long long after, long long head,
    long long head_size, long long between, long long between_size, const int[::1] images, const int[::1] steps,
    const unsigned char[::1] texts, unsigned char[::1] scratch, unsigned char[::1] out, long long[::1] work
) noexcept
