cimport cython

cimport gtidal.columnar.kernel.machine as machine
cimport gtidal.columnar.kernel.temporal as temporal

cdef long long NO_DECIMAL


@cython.locals(sign=cython.ulonglong)
cdef long long as_signed(unsigned long long number) noexcept nogil

cdef unsigned long long power_of_ten(int digits) noexcept nogil

@cython.locals(k=cython.int, rest=cython.int)
cdef inline int is_full(const unsigned char *data, long long bitmap, int width) noexcept nogil

@cython.locals(k=cython.int, count=cython.int)
cdef inline int columns_present(
    const unsigned char *data, long long bitmap, int width, long long limit
) noexcept nogil

@cython.locals(
    one=cython.ulonglong, last_bits=cython.int, last_bound=cython.ulonglong, middle_bits=cython.int,
    middle_bound=cython.ulonglong, first_bound=cython.ulonglong, sign=cython.ulonglong, last=cython.ulonglong,
    middle=cython.ulonglong,
)
cdef inline long long read_short_decimal(
    unsigned long long number, long long size, long long step, const long long *steps
) noexcept nogil

@cython.locals(
    all_ones=cython.ulonglong, low_half=cython.ulonglong, tail=cython.uint, digits=cython.uint, groups=cython.uint,
    negative=cython.int, mask=cython.ulonglong, sign_bit=cython.int, low=cython.ulonglong, high=cython.ulonglong,
    read_digits=cython.uint, size=cython.longlong, group=cython.ulonglong, bound=cython.ulonglong,
    carry=cython.ulonglong,
)
cdef inline int read_decimal(
    const unsigned char *data, long long pos, long long limit, int code, int precision, int scale, long long *slots,
    long long cell, long long high_cell
) noexcept nogil

@cython.locals(
    present=cython.int, index=cython.int, some=cython.int, absent=cython.ulonglong, gone=cython.ulonglong,
    k=cython.int, bit=cython.ulonglong, following=cython.longlong, stop=cython.longlong, step=cython.longlong,
    code=cython.int, cell=cython.longlong, place=cython.int, size=cython.longlong, length=cython.longlong, number=cython.longlong,
    high_cell=cython.longlong,
)
cdef long long read_image(
    const unsigned char *raw, long long limit, long long pos, long long end, long long nulls, long long bitmap,
    int first, int width, const long long *steps, long long *slots, unsigned char *states, long long cells,
    int is_checked
) noexcept nogil

@cython.locals(
    limit=cython.longlong, plans=cython.longlong, image_room=cython.longlong, cell_room=cython.longlong,
    event=cython.longlong, pos=cython.longlong, images=cython.longlong, cells=cython.longlong,
    raw="const unsigned char *", cell_slots="long long *", cell_states="unsigned char *", way="const long long *",
    end=cython.longlong, plan=cython.int, first=cython.int, width=cython.int, image_cells=cython.int,
    before=cython.longlong, after=cython.longlong, before_count=cython.int, after_count=cython.int,
    row_images=cython.longlong, is_checked=cython.int, row_start=cython.longlong, side=cython.int,
    bitmap=cython.longlong, present=cython.int, nulls=cython.longlong,
)
cpdef int fill(
    const unsigned char[::1] data, const int[::1] event_start, const int[::1] event_end, const int[::1] event_plan,
    const int[::1] event_before, const int[::1] event_after, long long events, const int[::1] plan_first,
    const int[::1] plan_width, const int[::1] plan_slots, const int[::1] plan_size, const long long[::1] steps,
    long long[::1] slots, unsigned char[::1] states, int[::1] image_cell, int[::1] image_event,
    int[::1] image_plan, long long[::1] progress
) noexcept

@cython.locals(
    nulls=cython.longlong, place=cython.int, bits=cython.int, column=cython.int, index=cython.int,
    is_there=cython.longlong, length=cython.longlong,
)
cdef inline long long behind_image(
    const unsigned char *data, long long limit, long long pos, long long end, long long bitmap, int present, int first,
    int width, const int *shape, const int *size
) noexcept nogil

@cython.locals(
    limit=cython.longlong, raw="const unsigned char *", plans=cython.longlong, event=cython.longlong,
    pos=cython.longlong, end=cython.longlong, plan=cython.int, first=cython.int, width=cython.int,
    before=cython.longlong, after=cython.longlong, before_count=cython.int, after_count=cython.int, made=cython.int,
    row_start=cython.longlong, side=cython.int, bitmap=cython.longlong, present=cython.int,
)
cpdef int count(
    const unsigned char[::1] data, const int[::1] event_start, const int[::1] event_end, const int[::1] event_plan,
    const int[::1] event_before, const int[::1] event_after, long long events, const int[::1] plan_first,
    const int[::1] plan_width, const int[::1] shape, const int[::1] size, int[::1] rows, long long[::1] progress
) noexcept
