cimport cython

cimport gtidal.columnar.kernel.judging as judging
cimport gtidal.columnar.kernel.machine as machine
cimport gtidal.columnar.kernel.rowtext as rowtext

cdef long long MILLION

@cython.locals(size=cython.longlong)
cdef inline long long put(
    unsigned char[::1] out, long long at, const unsigned char[::1] texts, const int[::1] words, long long word
) noexcept nogil

@cython.locals(i=cython.longlong, digit=cython.int)
cdef inline long long put_hex(unsigned char[::1] out, long long at, long long number, long long digits) noexcept nogil

@cython.locals(i=cython.longlong)
cdef inline long long put_uuid(
    unsigned char[::1] out, long long at, const unsigned char[::1] data, long long pos
) noexcept nogil

@cython.locals(size=cython.longlong)
cdef inline long long put_moment(
    unsigned char[::1] out, long long at, long long micros, long long clock, const int[::1] clocks,
    const unsigned char[::1] dates
) noexcept nogil

@cython.locals(flags=cython.int)
cdef long long put_gtid(
    const unsigned char[::1] data, long long off, long long stop, int kind, const int[::1] acts, long long act,
    const unsigned char[::1] texts, const int[::1] words, const int[::1] clocks, const unsigned char[::1] dates,
    unsigned char[::1] out, long long at, long long[::1] fields
) noexcept nogil

@cython.locals(
    body=cython.longlong, transition=cython.longlong, text=cython.longlong, size=cython.longlong,
    hole=cython.longlong, micros=cython.longlong, needed=cython.longlong,
)
cdef long long put_query(
    const unsigned char[::1] data, long long off, long long stop, const int[::1] acts, long long act,
    const unsigned char[::1] texts, const int[::1] words, const int[::1] keys, const int[::1] transitions,
    unsigned char[::1] out, long long at
) noexcept nogil

@cython.locals(pos=cython.longlong, run=cython.longlong, byte=cython.int)
cdef long long put_statement(
    const unsigned char[::1] data, long long start, long long end, unsigned char[::1] out, long long at
) noexcept nogil

@cython.locals(action=cython.int, plan=cython.longlong, metadata=cython.longlong, length=cython.longlong)
cdef long long put_head(
    const unsigned char[::1] data, long long off, long long size, long long stop, int kind, long long position,
    const long long[::1] settings, const int[::1] acts, long long act, const unsigned char[::1] texts,
    const int[::1] words, const int[::1] plans, const int[::1] keys, const int[::1] transitions,
    const int[::1] seconds, const int[::1] clocks, const unsigned char[::1] dates, unsigned char[::1] out,
    long long at, long long[::1] fields
) noexcept nogil

@cython.locals(action=cython.int, marks=cython.int, done=cython.longlong, lines=cython.longlong)
cdef long long put_body(
    const unsigned char[::1] data, long long off, long long size, const long long[::1] settings,
    const int[::1] acts, long long act, const unsigned char[::1] texts, const int[::1] words,
    unsigned char[::1] out, long long at, long long[::1] progress
) noexcept nogil

@cython.locals(
    pos=cython.longlong, extra=cython.longlong, operation=cython.int, head=cython.longlong, code=cython.longlong,
)
cdef long long put_foot(
    const unsigned char[::1] data, long long off, long long stop, int kind, const long long[::1] settings,
    const int[::1] acts, long long act, const unsigned char[::1] texts, const int[::1] words, const int[::1] plans,
    const int[::1] images, const int[::1] steps, unsigned char[::1] scratch, unsigned char[::1] out, long long at,
    long long[::1] work, long long[::1] progress
) noexcept nogil

cdef inline long long group_end(const int[::1] acts, long long event, long long last) noexcept nogil

@cython.locals(
    event=cython.longlong, at=cython.longlong, code=cython.longlong, act=cython.longlong, end=cython.longlong,
    start=cython.longlong, kind=cython.int, i=cython.longlong,
)
cpdef int write(
    int part, const unsigned char[::1] data, const int[::1] offsets, const int[::1] sizes, const int[::1] stops,
    const unsigned char[::1] types, const long long[::1] positions, long long first, long long last,
    const long long[::1] settings, const int[::1] acts, const unsigned char[::1] texts, const int[::1] words,
    const int[::1] plans, const int[::1] images, const int[::1] steps, const int[::1] keys,
    const int[::1] transitions, const int[::1] seconds, const int[::1] clocks, const unsigned char[::1] dates,
    unsigned char[::1] scratch, unsigned char[::1] out, long long[::1] work, long long[::1] progress
) noexcept
