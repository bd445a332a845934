cimport cython

cimport gtidal.columnar.kernel.machine as machine

cdef long long LOW_HALF
cdef long long HASHED_BITS
cdef long long FACTOR
cdef long long SRID
cdef long long WKB


@cython.locals(i=cython.longlong)
cdef inline void put(unsigned char *value, long long at, long long number, long long size) noexcept nogil

cdef inline long long read(const unsigned char *data, long long pos, long long size) noexcept nogil

@cython.locals(prefix=cython.longlong, i=cython.longlong)
cdef inline long long prefix_of(const unsigned char *data, long long start, long long size) noexcept nogil

@cython.locals(
    hashed=cython.longlong, mask=cython.longlong, spot=cython.longlong, entry=cython.longlong, stamp=cython.longlong,
    found=cython.longlong, at=cython.longlong, span=cython.longlong, i=cython.longlong,
)
cdef inline long long key_id(
    const unsigned char *data, const unsigned char *names, long long *scratch, long long start,
    long long size, long long prefix
) noexcept nogil

@cython.locals(
    at=cython.longlong, start=cython.longlong, size=cython.longlong, other=cython.longlong,
    other_size=cython.longlong, i=cython.longlong,
)
cdef inline int key_after(
    const unsigned char *data, long long *scratch, long long a, long long b, long long object_start,
    long long width
) noexcept nogil

@cython.locals(
    base=cython.longlong, gap=cython.longlong, i=cython.longlong, at=cython.longlong, low=cython.longlong,
    prefix=cython.longlong, entry=cython.longlong,
)
cdef inline int sort_keys(
    const unsigned char *data, long long *scratch, long long count, long long object_start, long long width
) noexcept nogil

@cython.locals(base=cython.longlong, spent=cython.longlong, i=cython.longlong, entry=cython.longlong, start=cython.longlong, length=cython.longlong, prefix=cython.longlong, found=cython.longlong, last=cython.longlong)
cdef long long sort_members(
    const unsigned char *data, const unsigned char *names, long long *scratch, long long pos, long long size, long long width, long long count,
    long long least
) noexcept nogil

@cython.locals(width=cython.longlong, head=cython.longlong, other=cython.longlong, keys=cython.longlong)
cdef long long find_head(
    const unsigned char *data, long long *scratch, long long pos, long long size, long long kind, long long count, long long least
) noexcept nogil

@cython.locals(entry=cython.longlong, start=cython.longlong, ordered=cython.longlong, i=cython.longlong, _=cython.longlong, before=cython.longlong, head=cython.longlong, state=cython.longlong, pool=cython.longlong, base=cython.longlong)
cdef int keep_head(
    const unsigned char *data, long long *scratch, long long pos, long long kind, long long width, long long count,
    long long least, long long keys
) noexcept nogil

@cython.locals(room=cython.longlong, size=cython.longlong)
cdef int set_up(long long *scratch, long long entries) noexcept nogil

cdef inline void forget_heads(long long *scratch) noexcept nogil

cdef void begin(long long *scratch, long long with_heads) noexcept nogil

@cython.locals(i=cython.longlong)
cdef inline void new_stamp(long long *scratch) noexcept nogil

@cython.locals(
    i=cython.longlong, column=cython.longlong, start=cython.longlong, size=cython.longlong, found=cython.longlong
)
cdef int know_names(
    const unsigned char *names, const int *name_offsets, long long *scratch, long long base,
    long long width, long long geometry
) noexcept nogil

cdef void know_nothing(long long *scratch) noexcept nogil

@cython.locals(prefix=cython.longlong, size=cython.longlong, k=cython.longlong)
cdef inline long long put_name(
    const unsigned char *data, long long *scratch, long long entry, unsigned char *value, long long at
) noexcept nogil

@cython.locals(count=cython.longlong, lengths_at=cython.longlong, i=cython.longlong, begun=cython.longlong)
cdef long long put_keys(
    const unsigned char *data, unsigned char *value, long long *scratch, long long at, long long width
) noexcept nogil

@cython.locals(count=cython.longlong, total=cython.longlong, i=cython.longlong, entry=cython.longlong, size=cython.longlong, most=cython.longlong, width=cython.longlong, end_at=cython.longlong, begun=cython.longlong)
cdef long long put_dictionary(
    const unsigned char *data, long long *scratch, unsigned char *metadata, long long at, long long end
) noexcept nogil
