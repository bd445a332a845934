cimport cython

cimport gtidal.columnar.kernel.json_keys as json_keys
cimport gtidal.columnar.kernel.json_values as json_values
cimport gtidal.columnar.kernel.machine as machine
cimport gtidal.columnar.kernel.sql_values as sql_values

cdef long long LOW_HALF


cdef inline long long next_pause(long long pause) noexcept nogil

cdef inline int is_new_state(long long *scratch) noexcept nogil

@cython.locals(column=cython.longlong, cell=cython.longlong, size=cython.longlong, start=cython.longlong, i=cython.longlong, at=cython.longlong)
cdef inline long long put_image(
    const unsigned char *data, long long limit, unsigned char *heap, long long *slots, unsigned char *states, long long cells,
    long long low, long long high, const int *slot, const int *kind, const unsigned char *names, long long *scratch,
    long long used, long long id_size
) noexcept nogil

@cython.locals(column=cython.longlong, cell=cython.longlong)
cdef inline void take_back(
    const unsigned char *heap, long long *slots, unsigned char *states, long long cells, long long low,
    long long high, const int *slot, const int *kind
) noexcept nogil

@cython.locals(column=cython.longlong, cell=cython.longlong, size=cython.longlong, was=cython.longlong)
cdef inline int put_again(
    const unsigned char *data, const unsigned char *heap, long long *slots, unsigned char *states, long long cells,
    long long last, long long low, long long high, const int *slot, const int *kind
) noexcept nogil

@cython.locals(
    source="const unsigned char *", target="unsigned char *", kept="long long *", first=cython.longlong,
    known=cython.longlong, pause=cython.longlong, waiting=cython.longlong, with_heads=cython.longlong,
    keys=cython.longlong, dictionary=cython.longlong, low=cython.longlong, high=cython.longlong, geometry=cython.longlong,
    base=cython.longlong, width=cython.longlong, image=cython.longlong, used=cython.longlong,
    column=cython.longlong, cells=cython.longlong, total=cython.longlong, fields=cython.longlong,
    cell=cython.longlong, size=cython.longlong, id_size=cython.longlong, start=cython.longlong, at=cython.longlong,
)
cpdef int settle(
    const unsigned char[::1] data, unsigned char[::1] heap, long long[::1] slots, unsigned char[::1] states,
    const int[::1] image_cell, const int[::1] image_plan, long long images, const int[::1] plan_first,
    const int[::1] plan_width, const int[::1] slot, const int[::1] kind, const unsigned char[::1] names,
    const int[::1] name_offsets, long long[::1] image_keys, long long[::1] scratch, long long[::1] progress
) noexcept

@cython.locals(source="const unsigned char *", target="unsigned char *", kept="long long *", names="unsigned char *", image=cython.longlong, used=cython.longlong, noted=cython.longlong, pause=cython.longlong, waiting=cython.longlong, cell=cython.longlong, state=cython.longlong, size=cython.longlong, start=cython.longlong, with_heads=cython.longlong, at=cython.longlong, id_size=cython.longlong, known=cython.longlong, first=cython.longlong, last=cython.longlong)
cpdef int column(
    const unsigned char[::1] data, const long long[::1] slots, const unsigned char[::1] states, const int[::1] image_cell, long long slot, long long images,
    unsigned char[::1] value, int[::1] value_offsets, unsigned char[::1] metadata, int[::1] metadata_offsets,
    unsigned char[::1] valid, long long[::1] scratch, long long[::1] progress
) noexcept
