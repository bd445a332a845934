# cython: boundscheck=False, wraparound=False, initializedcheck=False
from libc.string cimport memcpy

cdef extern from "machine.h":
    void gtidal_end_turn()

cdef extern from "machine.h" nogil:
    unsigned int gtidal_crc32(const unsigned char *data, size_t size)
    void gtidal_copy(unsigned char *to, const unsigned char *origin, size_t size)
    void gtidal_copy_near(
        unsigned char *to, size_t to_room, const unsigned char *origin, size_t from_room, size_t size
    )
    int gtidal_same(const unsigned char *one, const unsigned char *other, size_t size)
    int gtidal_is_utf8(const unsigned char *data, size_t size)
    int gtidal_is_ascii(const unsigned char *data, size_t size)
    void gtidal_prefetch(const void *place)
    void gtidal_put_short(unsigned char *to, unsigned short number)
    void gtidal_put_word(unsigned char *to, unsigned int number)
    void gtidal_put_long(unsigned char *to, unsigned long long number)
    unsigned long long gtidal_get_big(const unsigned char *data)

cdef inline void end_turn() noexcept:
    gtidal_end_turn()

cdef inline long long crc32(const unsigned char[::1] data, long long pos, long long end) noexcept nogil:
    return gtidal_crc32(&data[pos], <size_t> (end - pos))

cdef inline void copy(
    unsigned char[::1] target, long long at, const unsigned char[::1] data, long long pos, long long size
) noexcept nogil:
    gtidal_copy(&target[at], &data[pos], <size_t> size)

cdef inline bint is_ascii(const unsigned char[::1] data, long long pos, long long size) noexcept nogil:
    return gtidal_is_ascii(&data[pos], <size_t> size)

cdef inline void prefetch(const unsigned char[::1] data, long long pos) noexcept nogil:
    gtidal_prefetch(&data[pos])
    gtidal_prefetch(&data[pos] + 64)
    gtidal_prefetch(&data[pos] + 128)

cdef inline void put_short(unsigned char[::1] target, long long at, long long number) noexcept nogil:
    gtidal_put_short(&target[at], <unsigned short> number)

cdef inline void put_long(unsigned char[::1] target, long long at, long long number) noexcept nogil:
    gtidal_put_long(&target[at], <unsigned long long> number)

cdef inline bint same(
    const unsigned char[::1] one, long long at, const unsigned char[::1] other, long long pos, long long size
) noexcept nogil:
    return gtidal_same(&one[at], &other[pos], <size_t> size)

cdef inline long long word_at(const unsigned char[::1] data, long long pos) noexcept nogil:
    return (
        <unsigned int> data[pos] | <unsigned int> data[pos + 1] << 8
        | <unsigned int> data[pos + 2] << 16 | <unsigned int> data[pos + 3] << 24
    )

cdef inline long long long_at(const unsigned char[::1] data, long long pos) noexcept nogil:
    return <long long> (
        <unsigned long long> word_at(data, pos) | <unsigned long long> word_at(data, pos + 4) << 32
    )

# The same for functions that hand their buffers on: a view is two hundred bytes, copied at every call.

cdef inline const unsigned char *place(const unsigned char[::1] view) noexcept nogil:
    return &view[0]

cdef inline unsigned char *room(unsigned char[::1] view) noexcept nogil:
    return &view[0]

cdef inline long long *longs(long long[::1] view) noexcept nogil:
    return &view[0]

cdef inline const long long *steps(const long long[::1] view) noexcept nogil:
    return &view[0]

cdef inline const long long *from_long(const long long[::1] view, long long at) noexcept nogil:
    return &view[at]

cdef inline const unsigned char *from_byte(const unsigned char[::1] view, long long at) noexcept nogil:
    return &view[at]

cdef inline const int *words(const int[::1] view) noexcept nogil:
    return &view[0]

cdef inline void copy_raw(
    unsigned char *target, long long at, const unsigned char *data, long long pos, long long size
) noexcept nogil:
    gtidal_copy(target + at, data + pos, <size_t> size)

cdef inline void copy_near(
    unsigned char *target, long long at, long long target_end, const unsigned char *data, long long pos,
    long long end, long long size
) noexcept nogil:
    gtidal_copy_near(
        target + at, <size_t> (target_end - at), data + pos, <size_t> (end - pos), <size_t> size
    )

cdef inline void prefetch_raw(const unsigned char *data, long long pos) noexcept nogil:
    gtidal_prefetch(data + pos)
    gtidal_prefetch(data + pos + 64)

cdef inline bint ascii_raw(const unsigned char *data, long long pos, long long size) noexcept nogil:
    return gtidal_is_ascii(data + pos, <size_t> size)

cdef inline bint utf8_raw(const unsigned char *data, long long pos, long long size) noexcept nogil:
    return gtidal_is_ascii(data + pos, <size_t> size) or gtidal_is_utf8(data + pos, <size_t> size)

cdef inline bint same_raw(
    const unsigned char *one, long long at, const unsigned char *other, long long pos, long long size
) noexcept nogil:
    return gtidal_same(one + at, other + pos, <size_t> size)

cdef inline void put_short_raw(unsigned char *target, long long at, long long number) noexcept nogil:
    gtidal_put_short(target + at, <unsigned short> number)

cdef inline void put_word_raw(unsigned char *target, long long at, long long number) noexcept nogil:
    gtidal_put_word(target + at, <unsigned int> number)

cdef inline void put_long_raw(unsigned char *target, long long at, long long number) noexcept nogil:
    gtidal_put_long(target + at, <unsigned long long> number)

cdef inline long long short_raw(const unsigned char *data, long long pos) noexcept nogil:
    cdef unsigned short number
    memcpy(&number, data + pos, 2)
    return number

cdef inline long long word_raw(const unsigned char *data, long long pos) noexcept nogil:
    cdef unsigned int word
    memcpy(&word, data + pos, 4)
    return word

cdef inline long long long_raw(const unsigned char *data, long long pos) noexcept nogil:
    cdef long long number
    memcpy(&number, data + pos, 8)
    return number

cdef inline unsigned long long big_raw(const unsigned char *data, long long pos) noexcept nogil:
    return gtidal_get_big(data + pos)

cdef inline unsigned long long big_number(
    const unsigned char *data, long long pos, long long size, long long limit
) noexcept nogil:
    cdef unsigned long long number = 0
    cdef long long k
    if limit - pos >= 8:
        return gtidal_get_big(data + pos) >> 8 * (8 - size)
    for k in range(size):
        number = number << 8 | data[pos + k]
    return number

cdef inline unsigned long long little_number(
    const unsigned char *data, long long pos, long long size, long long limit
) noexcept nogil:
    cdef unsigned long long number = 0
    cdef unsigned long long ones = 0xFFFFFFFFFFFFFFFF
    cdef long long k
    if limit - pos >= 8:
        return <unsigned long long> long_raw(data, pos) & ones >> 8 * (8 - size)
    for k in range(size - 1, -1, -1):
        number = number << 8 | data[pos + k]
    return number

cdef extern from "typeset.h" nogil:
    size_t gtidal_put_number(unsigned char *out, unsigned long long number, size_t least)
    size_t gtidal_plain(const unsigned char *data, size_t size, int quote)
    size_t gtidal_base64(unsigned char *out, const unsigned char *data, size_t size)
    size_t gtidal_put_float(unsigned char *out, unsigned long long bits, int form)
    size_t gtidal_put_short_double(unsigned char *out, unsigned long long bits)
    size_t gtidal_lay_out_text(unsigned char *out, const char *text)

cdef extern from "Python.h":
    char *PyOS_double_to_string(double value, char format, int precision, int flags, int *kind)
    void PyMem_Free(void *memory)

cdef inline long long put_number(
    unsigned char[::1] out, long long at, long long number, long long least
) noexcept nogil:
    return at + <long long> gtidal_put_number(&out[at], <unsigned long long> number, <size_t> least)

cdef inline long long put_negative(unsigned char[::1] out, long long at, long long number) noexcept nogil:
    out[at] = 45
    return at + 1 + <long long> gtidal_put_number(&out[at + 1], 0 - <unsigned long long> number, 1)

cdef inline long long plain(
    const unsigned char[::1] data, long long pos, long long size, int quote
) noexcept nogil:
    return <long long> gtidal_plain(&data[pos], <size_t> size, quote)

cdef inline long long put_base64(
    unsigned char[::1] out, long long at, const unsigned char[::1] data, long long pos, long long size
) noexcept nogil:
    return at + <long long> gtidal_base64(&out[at], &data[pos], <size_t> size)

cdef inline long long put_float(unsigned char[::1] out, long long at, long long bits, int form) noexcept nogil:
    cdef size_t size = gtidal_put_float(&out[at], <unsigned long long> bits, form)
    return at + <long long> size if size else -1

cdef inline long long put_long_double(unsigned char[::1] out, long long at, long long bits) noexcept nogil:
    cdef double value
    cdef char *text
    cdef size_t size = 0
    memcpy(&value, &bits, 8)
    with gil:  # Python's shortest digits; it is rarely asked
        text = PyOS_double_to_string(value, b'r', 0, 0, NULL)
        if text != NULL:
            size = gtidal_lay_out_text(&out[at], text)
            PyMem_Free(text)
    return at + <long long> size if size else -1

cdef inline long long put_json_double(unsigned char[::1] out, long long at, long long bits) noexcept nogil:
    cdef size_t size = gtidal_put_short_double(&out[at], <unsigned long long> bits)
    return at + <long long> size if size else put_long_double(out, at, bits)
