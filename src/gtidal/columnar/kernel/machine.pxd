# cython: boundscheck=False, wraparound=False, initializedcheck=False
from libc.string cimport memcmp, memcpy

cdef extern from "machine.h" nogil:
    unsigned int gtidal_crc32(const unsigned char *data, size_t size)

cdef inline long long crc32(const unsigned char[::1] data, long long pos, long long end) noexcept nogil:
    return gtidal_crc32(&data[pos], <size_t> (end - pos))

cdef inline void copy(
    unsigned char[::1] target, long long at, const unsigned char[::1] data, long long pos, long long size
) noexcept nogil:
    memcpy(&target[at], &data[pos], <size_t> size)

cdef inline bint same(
    const unsigned char[::1] one, long long at, const unsigned char[::1] other, long long pos, long long size
) noexcept nogil:
    return memcmp(&one[at], &other[pos], <size_t> size) == 0

cdef inline long long word_at(const unsigned char[::1] data, long long pos) noexcept nogil:
    return (
        <unsigned int> data[pos] | <unsigned int> data[pos + 1] << 8
        | <unsigned int> data[pos + 2] << 16 | <unsigned int> data[pos + 3] << 24
    )

cdef inline long long long_at(const unsigned char[::1] data, long long pos) noexcept nogil:
    return <long long> (
        <unsigned long long> word_at(data, pos) | <unsigned long long> word_at(data, pos + 4) << 32
    )
