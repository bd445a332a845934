cimport cython

cimport gtidal.columnar.kernel.machine as machine
cimport gtidal.columnar.kernel.queries as queries

cdef long long NONE

@cython.locals(low=cython.longlong, high=cython.longlong)
cdef long long table_id_at(const unsigned char[::1] data, long long pos) noexcept nogil

@cython.locals(high=cython.int, low=cython.int)
cdef long long put_hex(unsigned char *heap, long long at, int byte) noexcept nogil

@cython.locals(size=cython.int, rest=cython.longlong, place=cython.longlong)
cdef long long put_number(unsigned char *heap, long long at, long long number) noexcept nogil

@cython.locals(k=cython.int)
cdef inline void begin(
    long long *txn, long long most, long long row, long long position, long long timestamp, long long server_id,
    long long tables
) noexcept nogil

@cython.locals(
    gno=cython.longlong, start=cython.longlong, k=cython.int, stamp=cython.longlong, high=cython.longlong,
    size=cython.int, version=cython.longlong,
)
cdef inline long long read_gtid(
    const unsigned char *data, long long pos, long long end, long long *txn, long long most, long long row,
    unsigned char *heap, long long at, long long uuid, long long text
) noexcept nogil

@cython.locals(sequence=cython.longlong, flags=cython.int, start=cython.longlong, extra=cython.int)
cdef inline long long read_mariadb_gtid(
    const unsigned char *data, long long pos, long long end, long long *txn, long long most, long long row,
    unsigned char *heap, long long at
) noexcept nogil

@cython.locals(size=cython.longlong)
cdef inline long long put_schema(
    const unsigned char *data, long long pos, long long text, long long *txn, long long most, long long row,
    unsigned char *heap, long long at
) noexcept nogil

@cython.locals(status=cython.longlong, xid=cython.longlong)
cdef inline long long put_statement(
    const unsigned char *data, long long pos, long long text, long long end, int is_ddl, long long *txn,
    long long most, long long row, unsigned char *heap, long long at
) noexcept nogil

@cython.locals(
    number=cython.longlong, place=cython.longlong, body=cython.longlong,
)
cdef inline int find_plan(
    const unsigned char[::1] data, long long pos, long long size, const long long[::1] cache_id,
    const int[::1] cache_body, const long long[::1] body_start, const int[::1] body_size, const int[::1] body_plan,
    const unsigned char[::1] bodies
) noexcept nogil

@cython.locals(
    number=cython.longlong, flags=cython.int, size=cython.longlong, plan=cython.longlong, count=cython.longlong,
    k=cython.longlong, width=cython.longlong,
)
cdef inline int read_rows(
    const unsigned char[::1] data, long long pos, long long end, int version, int before, int after,
    const long long[::1] maps, const int[::1] plan_width, long long event, int[::1] event_plan,
    int[::1] event_start, int[::1] event_before, int[::1] event_after
) noexcept nogil

@cython.locals(
    owned=cython.int, count=cython.longlong, tables=cython.longlong, used=cython.longlong, query=cython.longlong,
    texts=cython.longlong, most=cython.longlong, room=cython.longlong,
    begun=cython.longlong, inside=cython.int, sealed=cython.int, ended=cython.int,
    begins=cython.int, said=cython.longlong, act=cython.int,
    code=cython.int, i=cython.longlong, uuid=cython.longlong, text=cython.longlong, kept_tables=cython.longlong,
    kept_used=cython.longlong, kept_texts=cython.longlong, kind=cython.int, role=cython.int,
    pos=cython.longlong, end=cython.longlong, plan=cython.int, number=cython.longlong, held=cython.longlong,
    k=cython.longlong, name=cython.int, before=cython.int, after=cython.int, flags=cython.int,
    size=cython.longlong,
)
cpdef int follow(
    const unsigned char[::1] data, const int[::1] offsets, const int[::1] stops, const unsigned char[::1] types,
    const long long[::1] timestamps, const long long[::1] server_ids, const int[::1] flags_of,
    const long long[::1] positions, const long long[::1] ends, const long long[::1] payloads,
    const long long[::1] extras, long long first, long long last,
    const unsigned char[::1] roles, long long[::1] words, const long long[::1] cache_id,
    const int[::1] cache_body, const long long[::1] body_start, const int[::1] body_size,
    const int[::1] body_plan, const unsigned char[::1] bodies, const int[::1] plan_width,
    const int[::1] plan_name, long long[::1] maps, int[::1] event_txn, int[::1] event_plan, int[::1] event_start,
    int[::1] event_end, int[::1] event_before, int[::1] event_after, int[::1] event_query, long long[::1] txn,
    int[::1] txn_tables, unsigned char[::1] heap, int[::1] query_start, int[::1] query_size, long long[::1] state,
    long long[::1] progress
) noexcept
