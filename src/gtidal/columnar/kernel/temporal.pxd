cimport cython

cimport gtidal.columnar.kernel.machine as machine

cdef inline int fraction_step(int extra) noexcept nogil

@cython.locals(days=cython.int)
cdef inline int day_number(unsigned int year, unsigned int month, unsigned int day) noexcept nogil

@cython.locals(year=cython.longlong)
cdef long long read_year(const unsigned char *data, long long pos) noexcept nogil

@cython.locals(number=cython.ulonglong, days=cython.int)
cdef int read_date(
    const unsigned char *data, long long pos, long long limit, long long *slots, unsigned char *states, long long cell
) noexcept nogil

@cython.locals(
    number=cython.ulonglong, negative=cython.int, second=cython.longlong, minute=cython.longlong, hour=cython.longlong,
    span=cython.longlong,
)
cdef int read_time24(
    const unsigned char *data, long long pos, long long limit, long long *slots, long long cell
) noexcept nogil

@cython.locals(
    number=cython.ulonglong, second=cython.longlong, minute=cython.longlong, hour=cython.longlong, day=cython.longlong,
    month=cython.uint, year=cython.uint, days=cython.longlong, span=cython.longlong,
)
cdef int read_datetime64(
    const unsigned char *data, long long pos, long long limit, long long *slots, unsigned char *states, long long cell
) noexcept nogil

@cython.locals(span=cython.longlong)
cdef int read_epoch32(
    const unsigned char *data, long long pos, long long limit, long long *slots, unsigned char *states, long long cell
) noexcept nogil

@cython.locals(
    number=cython.ulonglong, bits=cython.int, mask=cython.ulonglong, span=cython.longlong, fraction=cython.longlong
)
cdef int read_epoch(
    const unsigned char *data, long long pos, long long size, long long limit, long long *slots, unsigned char *states,
    long long cell
) noexcept nogil

@cython.locals(
    number=cython.ulonglong, bits=cython.int, mask=cython.ulonglong, fields=cython.ulonglong, fraction=cython.longlong,
    month=cython.uint, year=cython.uint, hour=cython.longlong, minute=cython.longlong, second=cython.longlong,
    days=cython.longlong, span=cython.longlong,
)
cdef int read_datetime(
    const unsigned char *data, long long pos, long long size, long long limit, long long *slots, unsigned char *states,
    long long cell
) noexcept nogil

@cython.locals(
    number=cython.ulonglong, bits=cython.int, mask=cython.ulonglong, sign=cython.ulonglong, negative=cython.int,
    fraction=cython.longlong, hour=cython.longlong, minute=cython.longlong, second=cython.longlong,
    span=cython.longlong,
)
cdef int read_time(
    const unsigned char *data, long long pos, long long size, long long limit, long long *slots, long long cell
) noexcept nogil
