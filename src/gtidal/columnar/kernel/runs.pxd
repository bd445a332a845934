cimport cython

cimport gtidal.columnar.kernel.machine as machine


@cython.locals(
    found=cython.longlong, left_out=cython.longlong, lowest=cython.int, highest=cython.int,
    transactions=cython.longlong, plans=cython.longlong, room=cython.longlong, all_kept=cython.int, i=cython.longlong,
    plan=cython.int, number=cython.longlong, waiting=cython.longlong, waits_for=cython.longlong,
)
cpdef int choose(
    const unsigned char[::1] types, const unsigned char[::1] is_rows, const int[::1] event_plan,
    const int[::1] event_txn, const int[::1] event_start, const int[::1] event_end, const int[::1] event_before,
    const int[::1] event_after, const unsigned char[::1] shown, const unsigned char[::1] kept,
    const unsigned char[::1] wanted, long long count, const long long[::1] positions, long long ended,
    int[::1] places, int[::1] taken, int[::1] passed, long long[::1] progress
) noexcept

@cython.locals(events=cython.longlong, i=cython.longlong, place=cython.longlong)
cpdef int take(
    const int[::1] event_start, const int[::1] event_end, const int[::1] event_plan, const int[::1] event_before,
    const int[::1] event_after, const int[::1] places, long long count, int[::1] taken
) noexcept

@cython.locals(first=cython.longlong)
cdef inline long long next_number(long long position, long long changes, long long *state) noexcept nogil

@cython.locals(there=cython.longlong, r=cython.longlong, which=cython.longlong)
cpdef int number(
    const int[::1] transactions, const long long[::1] positions, const long long[::1] changes, long long runs,
    long long[::1] firsts, long long[::1] state
) noexcept

@cython.locals(
    transactions=cython.longlong, current=cython.longlong, total=cython.longlong, k=cython.longlong, i=cython.longlong,
    number=cython.longlong,
)
cpdef long long pass_over(
    const int[::1] event_txn, long long events, const long long[::1] positions, const int[::1] places,
    const int[::1] rows, long long count, long long earlier, long long[::1] passed
) noexcept

@cython.locals(byte=cython.longlong, bits=cython.int, k=cython.longlong)
cdef inline void put_bits(
    const int *images, long long count, unsigned char *out, long long at, long long size
) noexcept nogil

@cython.locals(
    runs=cython.longlong, total=cython.longlong, there=cython.longlong, events=cython.longlong,
    transactions=cython.longlong, sides=cython.longlong, image=cython.longlong, number=cython.longlong,
    place=cython.longlong, which=cython.longlong, last=cython.longlong, operation=cython.int, size=cython.longlong,
    changes=cython.longlong, texts=cython.int, text=cython.int, k=cython.longlong, half=cython.longlong,
    added=cython.longlong, removed=cython.longlong,
)
cpdef int find(
    const int[::1] image_event, long long images, const int[::1] places, const unsigned char[::1] types,
    const int[::1] operations, const int[::1] event_txn, const int[::1] event_plan, const int[::1] event_query,
    const long long[::1] positions, long long[::1] state, int[::1] found, long long[::1] sizes, int[::1] befores,
    int[::1] afters, unsigned char[::1] valid, long long[::1] progress
) noexcept
