cimport cython

cimport gtidal.columnar.kernel.machine as machine

cdef long long LOW_HALF

@cython.locals(code=cython.int)
cdef inline int keeps_ascii(const int[::1] tables, long long table) noexcept nogil

@cython.locals(i=cython.longlong, byte=cython.longlong, code=cython.int)
cdef inline long long convert(
    const unsigned char[::1] data, long long start, long long size, const int[::1] tables, long long table,
    unsigned char[::1] heap, long long at
) noexcept nogil

@cython.locals(i=cython.longlong)
cdef inline long long pad(
    const unsigned char[::1] data, long long start, long long size, unsigned char[::1] heap, long long at,
    long long length
) noexcept nogil

@cython.locals(i=cython.longlong)
cdef inline long long put_digits(unsigned char[::1] heap, long long at, long long number, long long digits) noexcept nogil

@cython.locals(digits=cython.longlong, rest=cython.longlong, _=cython.longlong)
cdef inline long long put_number(unsigned char[::1] heap, long long at, long long number, long long least) noexcept nogil

@cython.locals(_=cython.longlong)
cdef inline long long put_clock(
    unsigned char[::1] heap, long long at, long long hour, long long minute, long long second, long long micro,
    long long digits
) noexcept nogil

cdef inline long long put_date(
    unsigned char[::1] heap, long long at, long long year, long long month, long long day
) noexcept nogil

@cython.locals(seconds=cython.longlong, minutes=cython.longlong)
cdef inline long long put_time(unsigned char[::1] heap, long long at, long long micros, long long digits) noexcept nogil

@cython.locals(
    whole=cython.longlong, flip=cython.longlong, lead=cython.longlong, pos=cython.longlong, end=cython.longlong,
    begun=cython.longlong, digits=cython.longlong, length=cython.longlong, number=cython.longlong, i=cython.longlong,
    byte=cython.longlong, limit=cython.longlong, _=cython.longlong,
)
cdef inline long long put_decimal(
    const unsigned char[::1] data, long long start, long long size, long long precision, long long scale,
    unsigned char[::1] heap, long long at
) noexcept nogil

cdef inline long long room_for(int action, long long argument) noexcept nogil

@cython.locals(
    image=cython.longlong, used=cython.longlong, known=cython.longlong, first=cython.longlong, last=cython.longlong,
    most=cython.longlong, by_table=cython.int, table=cython.longlong, plain=cython.int, column=cython.longlong, cells=cython.longlong,
    room=cython.longlong, cell=cython.longlong, action=cython.int, state=cython.int, value=cython.longlong,
    at=cython.longlong, start=cython.longlong, size=cython.longlong,
)
cpdef int settle(
    const unsigned char[::1] data, unsigned char[::1] heap, long long[::1] slots, unsigned char[::1] states,
    const int[::1] image_cell, const int[::1] image_plan, long long images, const int[::1] plan_first,
    const int[::1] plan_width, const int[::1] slot, const int[::1] text_action, const int[::1] text_arg,
    const int[::1] tables, long long[::1] progress
) noexcept
