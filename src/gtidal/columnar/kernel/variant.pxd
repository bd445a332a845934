cimport cython

cimport gtidal.columnar.kernel.machine as machine

cdef long long LOW_HALF

@cython.locals(i=cython.longlong)
cdef inline void put(unsigned char *value, long long at, long long number, long long size) noexcept nogil

cdef inline long long width_of(long long most) noexcept nogil

cdef inline long long put_text_head(unsigned char *value, long long at, long long size) noexcept nogil

cdef inline long long put_binary(
    unsigned char *value, long long at, const unsigned char *source, long long start, long long size
) noexcept nogil

cdef inline long long put_wide(
    unsigned char *value, long long at, long long scale, long long low, long long high
) noexcept nogil

@cython.locals(start=cython.longlong, size=cython.longlong)
cdef inline long long put_label(
    unsigned char *value, long long at, const unsigned char *labels, const int *label_offsets,
    long long label
) noexcept nogil

@cython.locals(
    members=cython.longlong, size=cython.longlong, i=cython.longlong, offset_size=cython.longlong,
    offset_at=cython.longlong, data_at=cython.longlong,
)
cdef inline long long put_set(
    unsigned char *value, long long at, long long bits, const unsigned char *labels,
    const int *label_offsets, long long first, long long count
) noexcept nogil

@cython.locals(count=cython.longlong, large=cython.longlong, offset_size=cython.longlong, i=cython.longlong)
cdef inline long long put_vector(
    unsigned char *value, long long at, const unsigned char *data, long long start, long long size
) noexcept nogil

@cython.locals(
    key_start=cython.longlong, count=cython.longlong, names_size=cython.longlong, key_bytes=cython.longlong,
    keys_size=cython.longlong, total=cython.longlong, size=cython.longlong, i=cython.longlong, end=cython.longlong,
)
cdef inline long long put_metadata(
    const unsigned char *heap, const unsigned char *names, const int *name_offsets, long long base,
    long long width, long long keys, unsigned char *metadata, long long at, long long room
) noexcept nogil

@cython.locals(i=cython.longlong, one=cython.longlong, other=cython.longlong, size=cython.longlong)
cdef inline int unfit_names(
    const unsigned char[::1] names, const int[::1] name_offsets, const int[::1] order, long long base, long long width
) noexcept nogil

cdef inline int same_keys(const unsigned char[::1] heap, long long one, long long other) noexcept nogil

@cython.locals(
    row=cython.longlong, used=cython.longlong, noted=cython.longlong, i=cython.longlong, image=cython.longlong,
    plan=cython.longlong, base=cython.longlong, width=cython.longlong, cells=cython.longlong,
    present=cython.longlong, bound=cython.longlong, least=cython.longlong, id_size=cython.longlong,
    offset_size=cython.longlong, large=cython.longlong, at=cython.longlong, rank=cython.longlong,
    column=cython.longlong, offset_at=cython.longlong, data_at=cython.longlong, cell=cython.longlong,
    keys=cython.longlong, last=cython.longlong, known=cython.longlong, most=cython.longlong, vectors=cython.int,
    span_slot=cython.longlong, heap_slot=cython.longlong, ahead=cython.longlong,
    ranked=cython.int, ranked_at=cython.longlong,
    state=cython.int, code=cython.int, size=cython.longlong, start=cython.longlong, label=cython.longlong,
    number=cython.longlong, value_room=cython.longlong, metadata_room=cython.longlong, step=cython.longlong,
    stop=cython.longlong, following=cython.longlong, target="unsigned char *", noted_in="unsigned char *",
    source="const unsigned char *", kept="const unsigned char *", cell_slots="const long long *",
    cell_states="const unsigned char *", steps="long long *",
)
cpdef int write(
    const unsigned char[::1] data, const unsigned char[::1] heap, const long long[::1] slots,
    const unsigned char[::1] states, const int[::1] image_cell, const int[::1] image_plan,
    const long long[::1] image_keys, const int[::1] images, long long first, long long count,
    const int[::1] plan_first, const int[::1] plan_width, const int[::1] slot, const int[::1] kind,
    const int[::1] kind_header, const int[::1] kind_size, const int[::1] kind_arg, const int[::1] order,
    const unsigned char[::1] names, const int[::1] name_offsets, const unsigned char[::1] labels,
    const int[::1] label_first, const int[::1] label_offsets, long long[::1] scratch, unsigned char[::1] value,
    int[::1] value_offsets, unsigned char[::1] metadata, int[::1] metadata_offsets, long long[::1] progress
) noexcept
