cimport cython

cimport gtidal.columnar.kernel.machine as machine

@cython.locals(code=cython.int, names=cython.int)
cdef long long behind_status(const unsigned char *data, long long pos, long long end) noexcept nogil

cdef bint status_is_known(const unsigned char *data, long long pos, long long end) noexcept nogil

cdef long long find_status(const unsigned char *data, long long pos, long long end, int code) noexcept nogil

@cython.locals(status=cython.longlong, schema=cython.longlong, text=cython.longlong)
cdef long long text_of(const unsigned char *data, long long pos, long long end) noexcept nogil

@cython.locals(byte=cython.int, stop=cython.longlong)
cdef long long behind_gap(const unsigned char *data, long long pos, long long end) noexcept nogil

cdef long long behind_word(const unsigned char *data, long long pos, long long end) noexcept nogil

@cython.locals(number=cython.longlong)
cdef long long packed_word(const unsigned char *data, long long pos, long long end) noexcept nogil

cdef bint ends_in_n(const unsigned char *data, long long pos, long long end) noexcept nogil

@cython.locals(stop=cython.longlong, word=cython.longlong, kind=cython.int, k=cython.longlong)
cdef int kind_of(
    const unsigned char *data, long long pos, long long end, const long long *words, long long count
) noexcept nogil

@cython.locals(size=cython.longlong)
cdef bint is_setting(const unsigned char *data, long long pos, long long end, int kind) noexcept nogil
