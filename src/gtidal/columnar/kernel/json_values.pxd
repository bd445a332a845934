cimport cython

cimport gtidal.columnar.kernel.json_keys as json_keys
cimport gtidal.columnar.kernel.machine as machine
cimport gtidal.columnar.kernel.sql_values as sql_values

cdef long long SIGN32


@cython.locals(i=cython.longlong)
cdef inline void put(unsigned char *value, long long at, long long number, long long size) noexcept nogil

cdef inline long long read(const unsigned char *data, long long pos, long long size) noexcept nogil

cdef long long width_of(long long most) noexcept nogil

cdef inline long long put_text(
    unsigned char *value, long long at, const unsigned char *source, long long start, long long size
) noexcept nogil

cdef inline long long put_integer(unsigned char *value, long long at, long long number) noexcept nogil

cdef inline long long put_unsigned(unsigned char *value, long long at, long long number) noexcept nogil

@cython.locals(
    width=cython.longlong, count=cython.longlong, size=cython.longlong, values_at=cython.longlong,
    first=cython.longlong, frame=cython.longlong, offset_size=cython.longlong, count_size=cython.longlong,
    large=cython.longlong, base=cython.longlong, i=cython.longlong, entry=cython.longlong, spent=cython.longlong, head=cython.longlong, start=cython.longlong,
    length=cython.longlong, prefix=cython.longlong, found=cython.longlong, last=cython.longlong,
)
cdef inline long long open_container(
    const unsigned char *data, const unsigned char *names, unsigned char *value, long long *scratch,
    long long at, long long limit, long long kind, long long pos, long long end, long long depth, long long id_size
) noexcept nogil

@cython.locals(guess=cython.longlong)
cdef inline long long json_guess(long long size) noexcept nogil

@cython.locals(
    kind=cython.longlong, number=cython.longlong, pos=cython.longlong, length=cython.longlong,
    high_bits=cython.ulonglong, word=cython.ulonglong,
)
cdef inline long long put_plain(
    const unsigned char *data, long long limit, unsigned char *value, long long at, long long entry, long long start_of,
    long long least, long long end_of
) noexcept nogil

@cython.locals(
    count=cython.longlong, size=cython.longlong, values_at=cython.longlong, first=cython.longlong,
    spent=cython.longlong, head=cython.longlong, base=cython.longlong, i=cython.longlong, slot=cython.longlong,
    begun=cython.longlong, member=cython.longlong, entry=cython.longlong, behind=cython.longlong,
)
cdef inline long long put_leaf(
    const unsigned char *data, long long data_limit, unsigned char *value, long long *scratch, long long at, long long limit,
    long long kind, long long pos, long long end, long long frame, long long id_size
) noexcept nogil

@cython.locals(
    limit=cython.longlong, budget=cython.longlong, end=cython.longlong, kind=cython.longlong, pos=cython.longlong,
    depth=cython.longlong, number=cython.longlong, sql_type=cython.longlong, length=cython.longlong,
    i=cython.longlong, byte=cython.longlong, frame=cython.longlong, offset_size=cython.longlong, slot=cython.longlong,
    member=cython.longlong, width=cython.longlong, start_of=cython.longlong, end_of=cython.longlong,
    values_at=cython.longlong, least=cython.longlong, count=cython.longlong, following=cython.longlong,
    begun=cython.longlong, pool=cython.longlong, is_object=cython.longlong, is_new=cython.longlong,
    plain=cython.longlong, entry=cython.longlong, behind=cython.longlong,
)
cdef long long put_json(
    const unsigned char *data, long long data_limit, const unsigned char *names, unsigned char *value, long long *scratch,
    long long at, long long start, long long size, long long id_size
) noexcept nogil
