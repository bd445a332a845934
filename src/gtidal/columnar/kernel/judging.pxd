cimport cython

cimport gtidal.columnar.kernel.machine as machine

cdef long long LOW_55
cdef long long MOST_MAPS
cdef long long MOST_KEYS

@cython.locals(number=cython.longlong, i=cython.longlong, byte=cython.longlong)
cdef long long little(const unsigned char[::1] data, long long pos, long long size) noexcept nogil

@cython.locals(i=cython.longlong, moment=cython.longlong, first=cython.int, version=cython.longlong)
cdef int read_gtid(const unsigned char[::1] data, long long pos, long long end, long long[::1] fields) noexcept nogil

@cython.locals(
    gno=cython.longlong, server=cython.longlong, low=cython.longlong, high=cython.longlong, middle=cython.longlong,
)
cdef int has_gtid(
    const unsigned char[::1] data, long long pos, const unsigned char[::1] uuids, const long long[::1] firsts,
    const long long[::1] starts, const long long[::1] ends
) noexcept nogil

@cython.locals(first=cython.int)
cdef inline int query_kind(const unsigned char[::1] data, long long start, long long size) noexcept nogil

@cython.locals(at=cython.longlong, start=cython.longlong, hole=cython.longlong, size=cython.longlong)
cdef inline int is_key(
    const unsigned char[::1] data, long long pos, long long status, long long schema, int flags,
    const int[::1] keys, const unsigned char[::1] key_bytes, long long key
) noexcept nogil

@cython.locals(image=cython.longlong)
cdef inline long long find_image(
    const unsigned char[::1] data, long long pos, long long size, long long plan, const int[::1] plans,
    const int[::1] images, const unsigned char[::1] bitmaps
) noexcept nogil

@cython.locals(
    body=cython.longlong, schema=cython.longlong, status=cython.longlong, start=cython.longlong, text=cython.longlong,
    kind=cython.int, key=cython.longlong, transition=cython.longlong,
)
cdef int judge_query(
    const unsigned char[::1] data, long long off, long long stop, int flags, const long long[::1] settings,
    long long[::1] state, const int[::1] keys, const unsigned char[::1] key_bytes, long long key_count,
    const int[::1] moves, const int[::1] transitions, int[::1] acts, long long act
) noexcept nogil

@cython.locals(
    number=cython.longlong, place=cython.longlong, body=cython.longlong, plan=cython.longlong, count=cython.longlong,
    size=cython.longlong, skipped=cython.int,
)
cdef int judge_table(
    const unsigned char[::1] data, long long off, long long stop, const long long[::1] settings, long long[::1] state,
    long long[::1] maps, const long long[::1] cache_id, const int[::1] cache_body, const long long[::1] body_start,
    const int[::1] body_size, const int[::1] body_plan, const unsigned char[::1] bodies, const int[::1] plans,
    int[::1] acts, long long act
) noexcept nogil

cdef inline void open_base64(
    const long long[::1] settings, long long[::1] state, int[::1] acts, long long act
) noexcept nogil

@cython.locals(
    pos=cython.longlong, number=cython.longlong, flags=cython.int, plan=cython.longlong, i=cython.longlong,
    operation=cython.int, extra=cython.longlong, size=cython.longlong, width=cython.longlong,
    before=cython.longlong, after=cython.longlong, foreign=cython.int,
)
cdef int judge_rows(
    const unsigned char[::1] data, long long off, long long stop, int kind, int role, const long long[::1] settings,
    long long[::1] state, long long[::1] maps, const int[::1] plans, const int[::1] images,
    const unsigned char[::1] bitmaps, int[::1] acts, long long act, long long[::1] progress
) noexcept nogil

@cython.locals(
    code=cython.int, event=cython.longlong, filtering=cython.int, off=cython.longlong, stop=cython.longlong,
    kind=cython.int, role=cython.int, act=cython.longlong, second=cython.longlong, held=cython.longlong,
    schema=cython.longlong, status=cython.longlong, text=cython.longlong, sort=cython.int, i=cython.longlong,
)
cpdef int judge(
    const unsigned char[::1] data, const int[::1] offsets, const int[::1] stops, const unsigned char[::1] types,
    long long first, long long count, const unsigned char[::1] roles, const long long[::1] settings,
    long long[::1] state, long long[::1] maps,
    const unsigned char[::1] in_uuids, const long long[::1] in_firsts, const long long[::1] in_starts,
    const long long[::1] in_ends, const unsigned char[::1] out_uuids, const long long[::1] out_firsts,
    const long long[::1] out_starts, const long long[::1] out_ends,
    const long long[::1] cache_id, const int[::1] cache_body, const long long[::1] body_start,
    const int[::1] body_size, const int[::1] body_plan, const unsigned char[::1] bodies, const int[::1] plans,
    const int[::1] images, const unsigned char[::1] bitmaps, const int[::1] keys, const unsigned char[::1] key_bytes,
    long long key_count, const int[::1] moves, const int[::1] transitions, int[::1] acts, long long[::1] seconds,
    long long[::1] moments, long long[::1] fields, long long[::1] progress
) noexcept
