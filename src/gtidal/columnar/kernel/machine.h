/* What a processor does better than a loop over bytes: copying a few of them, asking whether they are ASCII, and
 * CRC-32 by carry-less multiplication.
 *
 * The checksum is a remainder of polynomials over two elements. Blocks of 16 bytes are folded: multiplied by
 * x^(distance) mod P, so that a block is replaced by an equal remainder nearer to the end. A message is lengthened
 * in front by zero bytes to whole blocks, which changes nothing while the register is zero; the initial all-ones
 * register is added to the message's own first four bytes. Constants: x^n mod P, bit-reflected, for the distances
 * named. Without the instruction: eight tables. */

#ifndef GTIDAL_MACHINE_H
#define GTIDAL_MACHINE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "turns.h" /* of no function here, but every module has this header */

#if defined(__GNUC__) || defined(__clang__)
#define GTIDAL_INLINE static inline __attribute__((always_inline))
#else
#define GTIDAL_INLINE static inline
#endif

/* Sixteen bytes, by way of a register where the compiler knows of such: arrays would go through memory. */
GTIDAL_INLINE void gtidal_copy_16(unsigned char *to, const unsigned char *from)
{
#if defined(__GNUC__) || defined(__clang__)
    typedef unsigned char bytes __attribute__((vector_size(16)));
    bytes piece;
#else
    unsigned char piece[16];
#endif
    memcpy(&piece, from, 16);
    memcpy(to, &piece, 16);
}

/* Most values are short: two stores that overlap do what a call would, in less time. */
GTIDAL_INLINE void gtidal_copy_ends(unsigned char *to, const unsigned char *from, size_t size, size_t piece)
{
    unsigned char first[16], last[16];
    memcpy(first, from, piece);
    memcpy(last, from + size - piece, piece);
    memcpy(to, first, piece);
    memcpy(to + size - piece, last, piece);
}

GTIDAL_INLINE void gtidal_copy(unsigned char *to, const unsigned char *from, size_t size)
{
    if (size > 128) {
        memcpy(to, from, size);
    } else if (size >= 16) {
        size_t done = 0;
        for (; size - done > 32; done += 16)
            gtidal_copy_16(to + done, from + done);
        gtidal_copy_ends(to + done, from + done, size - done, 16);
    } else if (size >= 8) {
        gtidal_copy_ends(to, from, size, 8);
    } else if (size >= 4) {
        gtidal_copy_ends(to, from, size, 4);
    } else if (size) {
        to[0] = from[0];
        to[size >> 1] = from[size >> 1];
        to[size - 1] = from[size - 1];
    }
}

/* The same where what lies behind is free to read and to write, so that nothing has to be decided by the size: lengths
 * of texts cannot be foreseen. The rooms are what there is from here on, at least the size. */
GTIDAL_INLINE void gtidal_copy_near(unsigned char *to, size_t to_room, const unsigned char *from, size_t from_room,
                                    size_t size)
{
    if (size > 128 || to_room < size + 32 || from_room < size + 32) {
        gtidal_copy(to, from, size);
        return;
    }
    size_t done = 0;
    do {
        gtidal_copy_16(to + done, from + done);
        gtidal_copy_16(to + done + 16, from + done + 16);
        done += 32;
    } while (done < size);
}

/* Whether bytes are the same: mostly some dozens, for which a call costs more than it saves. */
GTIDAL_INLINE int gtidal_same(const unsigned char *one, const unsigned char *other, size_t size)
{
    uint64_t word, another;
    if (size > 128)
        return memcmp(one, other, size) == 0;
    if (size >= 8) {
        for (size_t at = 0; at + 8 < size; at += 8) {
            memcpy(&word, one + at, 8);
            memcpy(&another, other + at, 8);
            if (word != another)
                return 0;
        }
        memcpy(&word, one + size - 8, 8);
        memcpy(&another, other + size - 8, 8);
        return word == another;
    }
    for (size_t at = 0; at < size; at++)
        if (one[at] != other[at])
            return 0;
    return 1;
}

GTIDAL_INLINE int gtidal_is_ascii(const unsigned char *data, size_t size)
{
    uint64_t seen = 0, word;
    if (size >= 8) {
        size_t at = 0;
        for (; at + 16 <= size; at += 16) {
            uint64_t another;
            memcpy(&word, data + at, 8);
            memcpy(&another, data + at + 8, 8);
            seen |= word | another;
        }
        for (; at + 8 < size; at += 8) {
            memcpy(&word, data + at, 8);
            seen |= word;
        }
        memcpy(&word, data + size - 8, 8);
        return !((seen | word) & 0x8080808080808080u);
    }
    for (size_t at = 0; at < size; at++)
        seen |= data[at];
    return seen < 128;
}

/* UTF-8 as strict as Python's decoder: no overlong forms, no surrogates, nothing above U+10FFFF. */
static int gtidal_is_utf8_by_byte(const unsigned char *data, size_t size)
{
    size_t at = 0;
    while (at < size) {
        unsigned char lead = data[at++], low = 0x80, high = 0xBF; /* the range of the second byte */
        size_t more;
        if (lead < 0x80)
            continue;
        if (lead >= 0xC2 && lead <= 0xDF) {
            more = 1;
        } else if (lead >= 0xE0 && lead <= 0xEF) {
            more = 2;
            low = lead == 0xE0 ? 0xA0 : low;
            high = lead == 0xED ? 0x9F : high;
        } else if (lead >= 0xF0 && lead <= 0xF4) {
            more = 3;
            low = lead == 0xF0 ? 0x90 : low;
            high = lead == 0xF4 ? 0x8F : high;
        } else {
            return 0;
        }
        if (more > size - at || data[at] < low || data[at] > high)
            return 0;
        for (size_t next = 1; next < more; next++)
            if ((data[at + next] & 0xC0) != 0x80)
                return 0;
        at += more;
    }
    return 1;
}

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <immintrin.h>

/* Sixteen bytes at a time (Keiser and Lemire, "Validating UTF-8 in less than one instruction per byte"): each pair of
 * neighbours is looked up by three half bytes. What is set in all three is what is wrong with the pair; the last bit says
 * that both continue a character, which is right two or three bytes behind its lead and nowhere else. */
enum {
    GTIDAL_SHORT = 1,        /* a lead, and no continuation behind it */
    GTIDAL_LONG = 2,         /* a continuation behind ASCII */
    GTIDAL_OVERLONG_3 = 4,
    GTIDAL_LARGE = 8,        /* above U+10FFFF */
    GTIDAL_SURROGATE = 16,
    GTIDAL_OVERLONG_2 = 32,
    GTIDAL_OVERLONG_4 = 64,  /* and F5 to FF before 80 to 8F */
    GTIDAL_BOTH = 128,
    GTIDAL_ANY = GTIDAL_SHORT | GTIDAL_LONG | GTIDAL_BOTH
};

__attribute__((target("ssse3"))) static int gtidal_is_utf8_by_pairs(const unsigned char *data, size_t size)
{
    const char large = GTIDAL_ANY | GTIDAL_LARGE | GTIDAL_OVERLONG_4;
    const char second = GTIDAL_LONG | GTIDAL_OVERLONG_2 | GTIDAL_BOTH;
    const __m128i by_first_high = _mm_setr_epi8(
        GTIDAL_LONG, GTIDAL_LONG, GTIDAL_LONG, GTIDAL_LONG, GTIDAL_LONG, GTIDAL_LONG, GTIDAL_LONG, GTIDAL_LONG,
        (char)GTIDAL_BOTH, (char)GTIDAL_BOTH, (char)GTIDAL_BOTH, (char)GTIDAL_BOTH, GTIDAL_SHORT | GTIDAL_OVERLONG_2,
        GTIDAL_SHORT, GTIDAL_SHORT | GTIDAL_OVERLONG_3 | GTIDAL_SURROGATE,
        GTIDAL_SHORT | GTIDAL_LARGE | GTIDAL_OVERLONG_4);
    const __m128i by_first_low = _mm_setr_epi8(
        (char)(GTIDAL_ANY | GTIDAL_OVERLONG_2 | GTIDAL_OVERLONG_3 | GTIDAL_OVERLONG_4),
        (char)(GTIDAL_ANY | GTIDAL_OVERLONG_2), (char)GTIDAL_ANY, (char)GTIDAL_ANY, (char)(GTIDAL_ANY | GTIDAL_LARGE),
        large, large, large, large, large, large, large, large, large | GTIDAL_SURROGATE, large, large);
    const __m128i by_second_high = _mm_setr_epi8(
        GTIDAL_SHORT, GTIDAL_SHORT, GTIDAL_SHORT, GTIDAL_SHORT, GTIDAL_SHORT, GTIDAL_SHORT, GTIDAL_SHORT, GTIDAL_SHORT,
        second | GTIDAL_OVERLONG_3 | GTIDAL_OVERLONG_4, second | GTIDAL_OVERLONG_3 | GTIDAL_LARGE,
        second | GTIDAL_SURROGATE | GTIDAL_LARGE, second | GTIDAL_SURROGATE | GTIDAL_LARGE, GTIDAL_SHORT, GTIDAL_SHORT,
        GTIDAL_SHORT, GTIDAL_SHORT);
    const __m128i low_half = _mm_set1_epi8(15);
    __m128i before = _mm_setzero_si128(), wrong = _mm_setzero_si128();
    size_t at = 0;
    for (;;) {
        __m128i bytes;
        if (size - at >= 16) {
            bytes = _mm_loadu_si128((const __m128i *)(data + at));
        } else { /* zeros behind the end: a character that is not whole is seen */
            unsigned char rest[16] = {0};
            memcpy(rest, data + at, size - at);
            bytes = _mm_loadu_si128((const __m128i *)rest);
        }
        __m128i first = _mm_alignr_epi8(bytes, before, 15);
        __m128i found = _mm_and_si128(
            _mm_and_si128(_mm_shuffle_epi8(by_first_high, _mm_and_si128(_mm_srli_epi16(first, 4), low_half)),
                          _mm_shuffle_epi8(by_first_low, _mm_and_si128(first, low_half))),
            _mm_shuffle_epi8(by_second_high, _mm_and_si128(_mm_srli_epi16(bytes, 4), low_half)));
        __m128i third = _mm_subs_epu8(_mm_alignr_epi8(bytes, before, 14), _mm_set1_epi8(0xE0 - 0x80));
        __m128i fourth = _mm_subs_epu8(_mm_alignr_epi8(bytes, before, 13), _mm_set1_epi8(0xF0 - 0x80));
        __m128i due = _mm_and_si128(_mm_or_si128(third, fourth), _mm_set1_epi8((char)0x80));
        wrong = _mm_or_si128(wrong, _mm_xor_si128(due, found));
        if (size - at < 16)
            break;
        before = bytes;
        at += 16;
    }
    return _mm_movemask_epi8(_mm_cmpeq_epi8(wrong, _mm_setzero_si128())) == 0xFFFF;
}

static int gtidal_is_utf8(const unsigned char *data, size_t size)
{
    if (size >= 16 && __builtin_cpu_supports("ssse3"))
        return gtidal_is_utf8_by_pairs(data, size);
    return gtidal_is_utf8_by_byte(data, size);
}
#else
static int gtidal_is_utf8(const unsigned char *data, size_t size)
{
    return gtidal_is_utf8_by_byte(data, size);
}
#endif

GTIDAL_INLINE void gtidal_prefetch(const void *place)
{
#if defined(__GNUC__) || defined(__clang__)
    __builtin_prefetch(place);
#else
    (void)place;
#endif
}

/* Little-endian, whatever the machine. */
GTIDAL_INLINE void gtidal_put_long(unsigned char *to, uint64_t number)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    number = __builtin_bswap64(number);
#endif
    memcpy(to, &number, 8);
}

GTIDAL_INLINE void gtidal_put_word(unsigned char *to, uint32_t number)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    number = __builtin_bswap32(number);
#endif
    memcpy(to, &number, 4);
}

GTIDAL_INLINE void gtidal_put_short(unsigned char *to, uint16_t number)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    number = __builtin_bswap16(number);
#endif
    memcpy(to, &number, 2);
}

/* Big-endian, whatever the machine. */
GTIDAL_INLINE uint64_t gtidal_get_big(const unsigned char *data)
{
#if defined(__GNUC__) || defined(__clang__)
    uint64_t number;
    memcpy(&number, data, 8);
#if __BYTE_ORDER__ != __ORDER_BIG_ENDIAN__
    number = __builtin_bswap64(number);
#endif
#else
    uint64_t number = 0;
    for (int at = 0; at < 8; at++)
        number = number << 8 | data[at];
#endif
    return number;
}

static uint32_t gtidal_crc_tables[8][256];

static uint32_t gtidal_crc_by_table(const unsigned char *data, size_t size, uint32_t crc)
{
    while (size >= 8) {
        uint32_t low, high;
        memcpy(&low, data, 4);
        memcpy(&high, data + 4, 4);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        low = __builtin_bswap32(low);
        high = __builtin_bswap32(high);
#endif
        low ^= crc;
        crc = gtidal_crc_tables[7][low & 255] ^ gtidal_crc_tables[6][low >> 8 & 255] ^
              gtidal_crc_tables[5][low >> 16 & 255] ^ gtidal_crc_tables[4][low >> 24] ^
              gtidal_crc_tables[3][high & 255] ^ gtidal_crc_tables[2][high >> 8 & 255] ^
              gtidal_crc_tables[1][high >> 16 & 255] ^ gtidal_crc_tables[0][high >> 24];
        data += 8;
        size -= 8;
    }
    while (size--)
        crc = crc >> 8 ^ gtidal_crc_tables[0][(crc ^ *data++) & 255];
    return crc;
}

static void gtidal_make_crc_tables(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
        gtidal_crc_tables[0][byte] = crc;
    }
    for (int table = 1; table < 8; table++)
        for (int byte = 0; byte < 256; byte++) {
            uint32_t crc = gtidal_crc_tables[table - 1][byte];
            gtidal_crc_tables[table][byte] = crc >> 8 ^ gtidal_crc_tables[0][crc & 255];
        }
}

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define GTIDAL_CAN_MULTIPLY 1
#include <immintrin.h>

#define GTIDAL_FOLD(block, by, next)                                                                    \
    _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(block, by, 0x00), _mm_clmulepi64_si128(block, by, 0x11)), next)

#define GTIDAL_WIDE_FOLD(blocks, by, next)                                                          \
    _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(blocks, by, 0x00),                           \
                              _mm512_clmulepi64_epi128(blocks, by, 0x11), next, 0x96)

/* Long messages: sixteen blocks at a time. Folds the first block and what follows it, of which ``*size`` are left, into
 * four blocks. */
__attribute__((target("avx512f,vpclmulqdq,pclmul"))) static const unsigned char *
gtidal_fold_wide(__m128i blocks[4], const unsigned char *data, size_t *size)
{
    const __m512i by_four = _mm512_broadcast_i32x4(_mm_set_epi64x(0x01c6e41596, 0x0154442bd4));    /* 512 bits */
    const __m512i by_sixteen = _mm512_broadcast_i32x4(_mm_set_epi64x(0x01322d1430, 0x011542778a)); /* 2048 bits */
    __m512i a, b = _mm512_loadu_si512(data + 48), c = _mm512_loadu_si512(data + 112), d = _mm512_loadu_si512(data + 176);
    memcpy((unsigned char *)blocks + 16, data, 48);
    a = _mm512_loadu_si512(blocks);
    data += 240;
    *size -= 240;
    while (*size >= 256) {
        a = GTIDAL_WIDE_FOLD(a, by_sixteen, _mm512_loadu_si512(data));
        b = GTIDAL_WIDE_FOLD(b, by_sixteen, _mm512_loadu_si512(data + 64));
        c = GTIDAL_WIDE_FOLD(c, by_sixteen, _mm512_loadu_si512(data + 128));
        d = GTIDAL_WIDE_FOLD(d, by_sixteen, _mm512_loadu_si512(data + 192));
        data += 256;
        *size -= 256;
    }
    b = GTIDAL_WIDE_FOLD(a, by_four, b);
    c = GTIDAL_WIDE_FOLD(b, by_four, c);
    _mm512_storeu_si512(blocks, GTIDAL_WIDE_FOLD(c, by_four, d));
    return data;
}

__attribute__((target("pclmul,sse4.1,ssse3"))) static uint32_t
gtidal_crc_by_multiplication(const unsigned char *data, size_t size, int is_wide)
{
    static const unsigned char shift[32] = {128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128,
                                            128, 128, 128, 128, 128, 0,   1,   2,   3,   4,   5,
                                            6,   7,   8,   9,   10,  11,  12,  13,  14,  15};
    static const unsigned char ones[64] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255};
    const __m128i by_block = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0);       /* 128 bits */
    const __m128i by_four_blocks = _mm_set_epi64x(0x01c6e41596, 0x0154442bd4); /* 512 bits */
    const __m128i low_words = _mm_set_epi32(0, -1, 0, -1);
    size_t odd = size & 15; /* bytes of the first, short block */
    /* The short block, moved to the end of 16 bytes; then the first whole one; ones on their first four bytes. */
    __m128i crc = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)data),
                                   _mm_loadu_si128((const __m128i *)(shift + odd)));
    crc = _mm_xor_si128(crc, _mm_loadu_si128((const __m128i *)(ones + odd)));
    __m128i next = _mm_loadu_si128((const __m128i *)(data + odd));
    next = _mm_xor_si128(next, _mm_loadu_si128((const __m128i *)(ones + 16 + odd)));
    crc = GTIDAL_FOLD(crc, by_block, next);
    data += odd + 16;
    size -= odd + 16;
    if (size >= 192) {
        __m128i a = crc, b, c, d;
        if (is_wide && size >= 512) {
            __m128i blocks[4] = {crc};
            data = gtidal_fold_wide(blocks, data, &size);
            a = blocks[0], b = blocks[1], c = blocks[2], d = blocks[3];
        } else {
            b = _mm_loadu_si128((const __m128i *)data);
            c = _mm_loadu_si128((const __m128i *)(data + 16));
            d = _mm_loadu_si128((const __m128i *)(data + 32));
            data += 48;
            size -= 48;
        }
        while (size >= 64) {
            a = GTIDAL_FOLD(a, by_four_blocks, _mm_loadu_si128((const __m128i *)data));
            b = GTIDAL_FOLD(b, by_four_blocks, _mm_loadu_si128((const __m128i *)(data + 16)));
            c = GTIDAL_FOLD(c, by_four_blocks, _mm_loadu_si128((const __m128i *)(data + 32)));
            d = GTIDAL_FOLD(d, by_four_blocks, _mm_loadu_si128((const __m128i *)(data + 48)));
            data += 64;
            size -= 64;
        }
        crc = GTIDAL_FOLD(a, by_block, b);
        crc = GTIDAL_FOLD(crc, by_block, c);
        crc = GTIDAL_FOLD(crc, by_block, d);
    }
    while (size) {
        crc = GTIDAL_FOLD(crc, by_block, _mm_loadu_si128((const __m128i *)data));
        data += 16;
        size -= 16;
    }
    /* 128 bits to 96, to 64, and by Barrett's division to 32. */
    crc = _mm_xor_si128(_mm_srli_si128(crc, 8), _mm_clmulepi64_si128(crc, by_block, 0x10));
    crc = _mm_xor_si128(_mm_srli_si128(crc, 4),
                        _mm_clmulepi64_si128(_mm_and_si128(crc, low_words), _mm_set_epi64x(0, 0x0163cd6124), 0x00));
    const __m128i divisor = _mm_set_epi64x(0x01f7011641, 0x01db710641);
    __m128i quotient = _mm_clmulepi64_si128(_mm_and_si128(crc, low_words), divisor, 0x10);
    quotient = _mm_clmulepi64_si128(_mm_and_si128(quotient, low_words), divisor, 0x00);
    return (uint32_t)_mm_extract_epi32(_mm_xor_si128(crc, quotient), 1);
}
#endif

static int gtidal_crc_way = 0; /* 0 not decided, 1 tables, 2 multiplication, 3 of four blocks at once */

static uint32_t gtidal_crc32(const unsigned char *data, size_t size)
{
    if (!gtidal_crc_way) { /* every thread would decide the same */
        gtidal_make_crc_tables();
#ifdef GTIDAL_CAN_MULTIPLY
        int way = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1") ? 2 : 1;
        gtidal_crc_way = way == 2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq") ? 3 : way;
#else
        gtidal_crc_way = 1;
#endif
    }
#ifdef GTIDAL_CAN_MULTIPLY
    if (gtidal_crc_way >= 2 && size >= 32)
        return ~gtidal_crc_by_multiplication(data, size, gtidal_crc_way == 3);
#endif
    return ~gtidal_crc_by_table(data, size, 0xFFFFFFFFu);
}

#endif
