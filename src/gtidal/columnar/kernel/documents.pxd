cimport cython

cimport gtidal.columnar.kernel.machine as machine
cimport gtidal.columnar.kernel.sql_values as sql_values

cdef long long LOW_HALF
cdef long long SIGN32
cdef long long HASHED_BITS
cdef long long FACTOR
cdef long long SRID
cdef long long WKB

@cython.locals(i=cython.longlong)
cdef inline void put(unsigned char[::1] value, long long at, long long number, long long size) noexcept nogil

cdef inline long long read(const unsigned char[::1] data, long long pos, long long size) noexcept nogil

cdef inline long long width_of(long long most) noexcept nogil

cdef inline long long put_text(
    unsigned char[::1] value, long long at, const unsigned char[::1] source, long long start, long long size
) noexcept nogil

cdef inline long long put_integer(unsigned char[::1] value, long long at, long long number) noexcept nogil

@cython.locals(seen=cython.uchar, i=cython.longlong)
cdef inline int is_ascii(const unsigned char[::1] data, long long start, long long size) noexcept nogil

@cython.locals(
    i=cython.longlong, pos=cython.longlong, end=cython.longlong, lead=cython.int, low=cython.int,
    high=cython.int, more=cython.int,
)
cdef inline int is_utf8(const unsigned char[::1] data, long long start, long long size) noexcept nogil

@cython.locals(prefix=cython.longlong, i=cython.longlong)
cdef inline long long prefix_of(const unsigned char[::1] data, long long start, long long size) noexcept nogil

@cython.locals(
    hashed=cython.longlong, mask=cython.longlong, spot=cython.longlong, entry=cython.longlong, stamp=cython.longlong,
    found=cython.longlong, at=cython.longlong, span=cython.longlong, i=cython.longlong,
)
cdef inline long long key_id(
    const unsigned char[::1] data, const unsigned char[::1] names, long long[::1] scratch, long long start,
    long long size, long long prefix
) noexcept nogil

@cython.locals(
    at=cython.longlong, start=cython.longlong, size=cython.longlong, other=cython.longlong,
    other_size=cython.longlong, i=cython.longlong,
)
cdef inline int key_after(
    const unsigned char[::1] data, long long[::1] scratch, long long a, long long b, long long object_start,
    long long width
) noexcept nogil

@cython.locals(
    base=cython.longlong, gap=cython.longlong, i=cython.longlong, at=cython.longlong, low=cython.longlong,
    prefix=cython.longlong, entry=cython.longlong,
)
cdef inline int sort_keys(
    const unsigned char[::1] data, long long[::1] scratch, long long count, long long object_start, long long width
) noexcept nogil

@cython.locals(
    width=cython.longlong, count=cython.longlong, size=cython.longlong, values_at=cython.longlong,
    first=cython.longlong, frame=cython.longlong, offset_size=cython.longlong, count_size=cython.longlong,
    large=cython.longlong, base=cython.longlong, i=cython.longlong, entry=cython.longlong, start=cython.longlong,
    length=cython.longlong, prefix=cython.longlong, found=cython.longlong, last=cython.longlong,
)
cdef inline long long open_container(
    const unsigned char[::1] data, const unsigned char[::1] names, unsigned char[::1] value, long long[::1] scratch,
    long long at, long long limit, long long kind, long long pos, long long end, long long depth, long long id_size
) noexcept nogil

@cython.locals(guess=cython.longlong)
cdef inline long long json_guess(long long size) noexcept nogil

@cython.locals(
    limit=cython.longlong, budget=cython.longlong, end=cython.longlong, kind=cython.longlong, pos=cython.longlong,
    depth=cython.longlong, number=cython.longlong, sql_type=cython.longlong, length=cython.longlong,
    i=cython.longlong, byte=cython.longlong, frame=cython.longlong, offset_size=cython.longlong, slot=cython.longlong,
    member=cython.longlong, width=cython.longlong,
)
cdef inline long long put_json(
    const unsigned char[::1] data, const unsigned char[::1] names, unsigned char[::1] value, long long[::1] scratch,
    long long at, long long start, long long size, long long id_size
) noexcept nogil

cdef inline long long put_unsigned(unsigned char[::1] value, long long at, long long number) noexcept nogil

@cython.locals(
    count=cython.longlong, lengths_at=cython.longlong, i=cython.longlong, entry=cython.longlong,
    prefix=cython.longlong, size=cython.longlong, k=cython.longlong,
)
cdef inline long long put_keys(
    const unsigned char[::1] data, unsigned char[::1] value, long long[::1] scratch, long long at, long long width
) noexcept nogil

@cython.locals(room=cython.longlong, size=cython.longlong)
cdef inline int set_up(long long[::1] scratch) noexcept nogil

@cython.locals(
    i=cython.longlong, column=cython.longlong, start=cython.longlong, size=cython.longlong, found=cython.longlong
)
cdef inline int know_names(
    const unsigned char[::1] names, const int[::1] name_offsets, long long[::1] scratch, long long base,
    long long width, long long geometry
) noexcept nogil

@cython.locals(
    known=cython.longlong, dictionary=cython.longlong, nested=cython.longlong, geometry=cython.longlong,
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
