cimport cython

cimport gtidal.columnar.kernel.machine as machine

cdef long long LOW_HALF
cdef long long LEAST

@cython.locals(i=cython.longlong)
cdef inline void put(unsigned char *value, long long at, long long number, long long size) noexcept nogil

@cython.locals(i=cython.longlong)
cdef inline long long put_digits(unsigned char *value, long long at, long long number, long long digits) noexcept nogil

cdef inline long long days_in(long long year, long long month) noexcept nogil

cdef inline long long epoch_day(long long year, long long month, long long day) noexcept nogil

@cython.locals(
    month=cython.longlong, year=cython.longlong, day=cython.longlong, hour=cython.longlong, minute=cython.longlong,
    second=cython.longlong, micro=cython.longlong,
)
cdef inline long long put_moment(unsigned char *value, long long at, long long kind, long long packed) noexcept nogil

@cython.locals(head=cython.longlong, digits=cython.longlong, rest=cython.longlong, micro=cython.longlong)
cdef inline long long put_time(unsigned char *value, long long at, long long packed) noexcept nogil

@cython.locals(
    precision=cython.longlong, scale=cython.longlong, whole=cython.longlong, pos=cython.longlong, end=cython.longlong,
    flip=cython.longlong, lead=cython.longlong, limb0=cython.longlong, limb1=cython.longlong, limb2=cython.longlong,
    limb3=cython.longlong, digits=cython.longlong, length=cython.longlong, number=cython.longlong, i=cython.longlong,
    limit=cython.longlong, _=cython.longlong,
)
cdef inline long long put_decimal(
    const unsigned char *data, long long start, long long size, unsigned char *value, long long at
) noexcept nogil

@cython.locals(packed=cython.longlong)
cdef long long put_opaque(
    const unsigned char *data, long long kind, long long start, long long size, unsigned char *value,
    long long at
) noexcept nogil

@cython.locals(srid_size=cython.longlong, skipped=cython.longlong, offset_size=cython.longlong)
cdef long long put_geometry(
    const unsigned char *data, long long start, long long size, unsigned char *value, long long at,
    long long srid_id, long long wkb_id, long long id_size
) noexcept nogil
