cimport cython


@cython.locals(
    found=cython.longlong, transactions=cython.longlong, room=cython.longlong, all_kept=cython.int, i=cython.longlong,
    number=cython.longlong,
)
cpdef int choose(
    const unsigned char[::1] types, const unsigned char[::1] is_rows, const int[::1] event_plan,
    const int[::1] event_txn, const unsigned char[::1] shown, const unsigned char[::1] kept, long long count,
    int[::1] places, long long[::1] progress
) noexcept

@cython.locals(events=cython.longlong, i=cython.longlong, place=cython.longlong)
cpdef int take(
    const int[::1] event_start, const int[::1] event_end, const int[::1] event_plan, const int[::1] event_before,
    const int[::1] event_after, const int[::1] places, long long count, int[::1] taken
) noexcept

@cython.locals(
    runs=cython.longlong, total=cython.longlong, uneven=cython.int, there=cython.longlong,
    events=cython.longlong, image=cython.longlong, number=cython.longlong, place=cython.longlong,
    last=cython.longlong, operation=cython.int, size=cython.longlong, changes=cython.longlong, texts=cython.int,
    text=cython.int,
)
cpdef int find(
    const int[::1] image_event, long long images, const int[::1] places, const unsigned char[::1] types,
    const int[::1] operations, const int[::1] event_txn, const int[::1] event_plan, const int[::1] event_query,
    int[::1] found, long long[::1] sizes, long long[::1] progress
) noexcept

@cython.locals(
    there=cython.longlong, last=cython.longlong, following=cython.longlong, r=cython.longlong, which=cython.longlong,
    position=cython.longlong,
)
cpdef int number(
    const int[::1] transactions, const long long[::1] positions, const long long[::1] changes, long long runs,
    long long[::1] firsts, long long[::1] state
) noexcept

@cython.locals(
    at=cython.longlong, room=cython.longlong, r=cython.longlong,
    count=cython.longlong, image=cython.longlong, operation=cython.int, k=cython.longlong,
)
cpdef int sides(
    const int[::1] starts, const int[::1] operations, const long long[::1] changes, long long runs, int[::1] befores,
    int[::1] afters
) noexcept

@cython.locals(
    at=cython.longlong, room=cython.longlong, r=cython.longlong, count=cython.longlong, row=cython.longlong,
    operation=cython.int, k=cython.longlong,
)
cpdef int images(
    const int[::1] operations, const long long[::1] firsts, const long long[::1] sizes, long long runs,
    long long[::1] rows, int[::1] kinds
) noexcept
