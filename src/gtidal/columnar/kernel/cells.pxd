cimport cython

cimport gtidal.columnar.kernel.machine as machine


cdef unsigned long long four(
    unsigned long long lowest, unsigned long long second, unsigned long long third, unsigned long long highest
) noexcept nogil

@cython.locals(sign=cython.ulonglong)
cdef long long as_signed(unsigned long long number) noexcept nogil

cdef unsigned long long power_of_ten(int digits) noexcept nogil

cdef int fraction_step(int extra) noexcept nogil

@cython.locals(days=cython.int)
cdef int day_number(unsigned int year, unsigned int month, unsigned int day) noexcept nogil

@cython.locals(k=cython.int, rest=cython.int)
cdef int is_full(const unsigned char[::1] data, long long bitmap, int width) noexcept nogil

@cython.locals(k=cython.int, count=cython.int)
cdef int count_present(const unsigned char[::1] data, long long bitmap, int width) noexcept nogil

@cython.locals(k=cython.int, rest=cython.int)
cdef int has_null(const unsigned char[::1] data, long long nulls, int count) noexcept nogil

@cython.locals(
    limit=cython.longlong, plans=cython.longlong, image_room=cython.longlong, cell_room=cython.longlong,
    event=cython.longlong, pos=cython.longlong, images=cython.longlong, cells=cython.longlong,
    end=cython.longlong, all_ones=cython.ulonglong, low_half=cython.ulonglong, top_bit=cython.ulonglong, plan=cython.int, first=cython.int, width=cython.int,
    image_cells=cython.int, bitmap_size=cython.int, before=cython.longlong, after=cython.longlong,
    before_full=cython.int, after_full=cython.int, before_count=cython.int, after_count=cython.int,
    row_images=cython.longlong, row_start=cython.longlong, side=cython.int, bitmap=cython.longlong,
    full=cython.int, present=cython.int, nulls=cython.longlong, null_size=cython.int, plain=cython.int,
    place=cython.int, column=cython.int, cell=cython.longlong, code=cython.int, state=cython.int,
    index=cython.int, length=cython.longlong, number=cython.ulonglong, mask=cython.ulonglong,
    sign=cython.ulonglong, digits=cython.uint, read_digits=cython.uint, groups=cython.uint, tail=cython.uint,
    negative=cython.int, at=cython.longlong, group=cython.ulonglong,
    bound=cython.ulonglong, low=cython.ulonglong, high=cython.ulonglong, carry=cython.ulonglong,
    year=cython.uint, month=cython.uint, day=cython.longlong, hour=cython.longlong, minute=cython.longlong,
    second=cython.longlong, fraction=cython.longlong, days=cython.longlong, span=cython.longlong, bits=cython.int,
    k=cython.longlong, _=cython.int,
)
cpdef int fill(
    const unsigned char[::1] data, const int[::1] event_start, const int[::1] event_end, const int[::1] event_plan,
    const int[::1] event_before, const int[::1] event_after, long long events, const int[::1] plan_first,
    const int[::1] plan_width, const int[::1] plan_slots, const int[::1] shape, const int[::1] size,
    const int[::1] arg1, const int[::1] arg2, const int[::1] slot, long long[::1] slots, unsigned char[::1] states,
    int[::1] image_cell, int[::1] image_event, long long[::1] progress
) noexcept

@cython.locals(
    limit=cython.longlong, plans=cython.longlong, event=cython.longlong, pos=cython.longlong, end=cython.longlong,
    plan=cython.int, first=cython.int, width=cython.int, bitmap_size=cython.int, before=cython.longlong,
    after=cython.longlong, before_full=cython.int, after_full=cython.int, before_count=cython.int,
    after_count=cython.int, made=cython.int, row_start=cython.longlong, side=cython.int, bitmap=cython.longlong,
    full=cython.int, present=cython.int, nulls=cython.longlong, null_size=cython.int, plain=cython.int,
    place=cython.int, column=cython.int, index=cython.int, code=cython.int, length=cython.longlong,
    number=cython.longlong, byte=cython.longlong, k=cython.longlong,
)
cpdef int count(
    const unsigned char[::1] data, const int[::1] event_start, const int[::1] event_end, const int[::1] event_plan,
    const int[::1] event_before, const int[::1] event_after, long long events, const int[::1] plan_first,
    const int[::1] plan_width, const int[::1] shape, const int[::1] size, int[::1] rows, long long[::1] progress
) noexcept
