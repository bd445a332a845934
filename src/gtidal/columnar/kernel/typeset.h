/* Text from bytes, where a loop in Cython would be slow: decimal numbers, base64, stretches of text that need no
 * escape, and floating-point numbers as C's printf writes them. */

#ifndef GTIDAL_TYPESET_H
#define GTIDAL_TYPESET_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char gtidal_pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
                                   "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
                                   "8081828384858687888990919293949596979899";

/* An unsigned number with at least so many digits (at most 20); gives how many it has. */
static inline size_t gtidal_put_number(unsigned char *out, uint64_t number, size_t least)
{
    unsigned char text[20];
    size_t at = 20;
    while (number >= 100) {
        at -= 2;
        memcpy(text + at, gtidal_pairs + 2 * (number % 100), 2);
        number /= 100;
    }
    if (number >= 10) {
        at -= 2;
        memcpy(text + at, gtidal_pairs + 2 * number, 2);
    } else
        text[--at] = (unsigned char)('0' + number);
    while (20 - at < least)
        text[--at] = '0';
    memcpy(out, text + at, 20 - at);
    return 20 - at;
}

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* How many bytes at the beginning are no control characters and, unless `quote` is 0, neither that nor a backslash. */
static inline size_t gtidal_plain(const unsigned char *data, size_t size, int quote)
{
    size_t at = 0;
#if defined(__SSE2__)
    const __m128i last = _mm_set1_epi8(31), quotes = _mm_set1_epi8((char)quote), backslashes = _mm_set1_epi8('\\');
    while (size - at >= 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(data + at));
        __m128i found = _mm_cmpeq_epi8(_mm_min_epu8(bytes, last), bytes);
        if (quote)
            found = _mm_or_si128(found, _mm_or_si128(_mm_cmpeq_epi8(bytes, quotes), _mm_cmpeq_epi8(bytes, backslashes)));
        int places = _mm_movemask_epi8(found);
        if (places)
            return at + (size_t)__builtin_ctz((unsigned)places);
        at += 16;
    }
#endif
    while (at < size && data[at] > 31 && !(quote && (data[at] == quote || data[at] == '\\')))
        at++;
    return at;
}

static unsigned char gtidal_base64_pairs[4096][2];
static int gtidal_base64_ready = 0;

static void gtidal_make_base64(void)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (int pair = 0; pair < 4096; pair++) {
        gtidal_base64_pairs[pair][0] = (unsigned char)letters[pair >> 6];
        gtidal_base64_pairs[pair][1] = (unsigned char)letters[pair & 63];
    }
    gtidal_base64_ready = 1;
}

/* Lines of 57 bytes, 76 letters, each with its line break; gives the text's size. */
static size_t gtidal_base64(unsigned char *out, const unsigned char *data, size_t size)
{
    unsigned char *at = out;
    if (!gtidal_base64_ready) /* every thread would write the same */
        gtidal_make_base64();
    while (size) {
        size_t line = size < 57 ? size : 57;
        size -= line;
        while (line >= 3) {
            uint32_t bits = (uint32_t)data[0] << 16 | (uint32_t)data[1] << 8 | data[2];
            memcpy(at, gtidal_base64_pairs[bits >> 12], 2);
            memcpy(at + 2, gtidal_base64_pairs[bits & 4095], 2);
            at += 4;
            data += 3;
            line -= 3;
        }
        if (line) {
            uint32_t bits = (uint32_t)data[0] << 16 | (line == 2 ? (uint32_t)data[1] << 8 : 0);
            memcpy(at, gtidal_base64_pairs[bits >> 12], 2);
            memcpy(at + 2, gtidal_base64_pairs[bits & 4095], 2);
            at[3] = '=';
            if (line == 1)
                at[2] = '=';
            at += 4;
            data += line;
        }
        *at++ = '\n';
    }
    return (size_t)(at - out);
}

#if defined(__SIZEOF_INT128__)
#define GTIDAL_EXACT 1
typedef unsigned __int128 gtidal_wide;

static const uint64_t gtidal_powers[20] = {1ull,
                                           10ull,
                                           100ull,
                                           1000ull,
                                           10000ull,
                                           100000ull,
                                           1000000ull,
                                           10000000ull,
                                           100000000ull,
                                           1000000000ull,
                                           10000000000ull,
                                           100000000000ull,
                                           1000000000000ull,
                                           10000000000000ull,
                                           100000000000000ull,
                                           1000000000000000ull,
                                           10000000000000000ull,
                                           100000000000000000ull,
                                           1000000000000000000ull,
                                           10000000000000000000ull};

static inline gtidal_wide gtidal_power(int exponent) /* of ten, up to 22 */
{
    return exponent < 20 ? gtidal_powers[exponent] : (gtidal_wide)gtidal_powers[19] * gtidal_powers[exponent - 19];
}

/* A positive number times a power of ten, exactly: 2^shift times that is `scaled`, and it has `digits` digits before
 * the point. Gives the power, or -1 where 128 bits do not hold it all: very large and very small numbers. */
static int gtidal_scale(uint64_t bits, int digits, gtidal_wide *scaled, int *shift)
{
    int exponent = (int)(bits >> 52 & 2047);
    uint64_t mantissa = (bits & 0xFFFFFFFFFFFFFull) | 0x10000000000000ull;
    int highest = exponent - 1023; /* the number is between 2^highest and twice that */
    if (exponent == 0 || highest < -60 || highest > 63)
        return -1;
    /* At most one too many: the logarithm of two, rounded down. */
    int power = digits - 1 - (highest >= 0 ? highest * 1233 / 4096 : -((-highest * 1233 + 4095) / 4096));
    for (;; power--) {
        if (power < 0 || power > 22)
            return -1;
        *scaled = mantissa * gtidal_power(power);
        *shift = 52 - highest;
        if (*shift < 0) {
            if (highest - 52 + 54 + 4 * power > 127)
                return -1;
            *scaled <<= -*shift;
            *shift = 0;
        }
        if (*scaled >> *shift < gtidal_power(digits))
            break;
    }
    return *scaled >> *shift >= gtidal_power(digits - 1) ? power : -1;
}

/* The number's first digits, rounded to the nearest, and to even between two; gives how many are before the point.
 * -100 if it cannot be done exactly here. */
static int gtidal_digits(uint64_t bits, int digits, char *text)
{
    gtidal_wide scaled;
    int shift, power = gtidal_scale(bits, digits, &scaled, &shift);
    if (power < 0)
        return -100;
    gtidal_wide whole = scaled >> shift;
    if (shift) {
        gtidal_wide rest = scaled - (whole << shift), half = (gtidal_wide)1 << (shift - 1);
        if (rest > half || (rest == half && (whole & 1)))
            whole++;
    }
    if (whole == gtidal_power(digits)) { /* rounded up to one digit more */
        whole /= 10;
        power--;
    }
    unsigned char both[24];
    size_t head = 0;
    if (digits > 18) {
        head = gtidal_put_number(both, (uint64_t)(whole / gtidal_powers[10]), 1);
        gtidal_put_number(both + head, (uint64_t)(whole % gtidal_powers[10]), 10);
    } else
        gtidal_put_number(both, (uint64_t)whole, 1);
    memcpy(text, both, (size_t)digits);
    return digits - power;
}

/* The fewest digits that give the number; at most 17, without zeros at the end. Gives how many there are, or 0: not
 * exactly here, or one of the rare cases between two answers. */
static int gtidal_shortest(uint64_t bits, char *text, int *point)
{
    gtidal_wide scaled;
    int shift, power = gtidal_scale(bits, 17, &scaled, &shift);
    if (power < 0 || !(bits & 0xFFFFFFFFFFFFFull) || shift > 120)
        return 0; /* below a power of two the neighbours are nearer than above it */
    /* In units of the 17th digit the half distance to the neighbours is between 0.5 and 12. A decimal of 16 digits is
     * a multiple of ten of these units, and one of fewer is a multiple of a hundred: there is one of those at most. */
    uint64_t whole = (uint64_t)(scaled >> shift);
    gtidal_wide unit = (gtidal_wide)1 << (shift + 1);
    gtidal_wide rest = (scaled << 1) & (unit - 1);
    gtidal_wide reach = shift ? gtidal_power(power) : gtidal_power(power) << ((bits >> 52) - 1075);
    uint64_t best = 0;
    for (uint64_t step = 100; step >= 10 && !best; step /= 10) {
        uint64_t below = whole - whole % step;
        gtidal_wide down = (whole - below) * unit + rest, up = step * unit - down;
        if (down == reach || up == reach || down == up)
            return 0;
        if (down < reach && down < up)
            best = below;
        else if (up < reach)
            best = below + step;
    }
    if (!best) {
        if (rest == unit >> 1)
            return 0;
        best = whole + (rest > unit >> 1);
    }
    unsigned char digits[24];
    int count = (int)gtidal_put_number(digits, best, 1);
    *point = count - power;
    while (digits[count - 1] == '0')
        count--;
    memcpy(text, digits, (size_t)count);
    return count;
}
#endif

/* A finite number. Forms: 0 "%-20g" of four bytes, 1 "%-.20g" of eight, 2 "%.5e" of four. At most 40 letters; 0 if
 * the locale's point is more than one byte. */
static size_t gtidal_put_float(unsigned char *out, uint64_t bits, int form)
{
    char text[48];
    int size;
    double value;
    if (form == 1)
        memcpy(&value, &bits, 8);
    else {
        uint32_t low = (uint32_t)bits;
        float single;
        memcpy(&single, &low, 4);
        value = (double)single;
        memcpy(&bits, &value, 8);
    }
#ifdef GTIDAL_EXACT
    char digits[24];
    int count = form == 1 ? 20 : 6;
    int point = gtidal_digits(bits & 0x7FFFFFFFFFFFFFFFull, count, digits);
    if (point > -100 && form == 2) {
        unsigned char *at = out;
        if (bits >> 63)
            *at++ = '-';
        *at++ = (unsigned char)digits[0];
        *at++ = '.';
        memcpy(at, digits + 1, 5);
        at += 5;
        *at++ = 'e';
        *at++ = point < 1 ? '-' : '+';
        at += gtidal_put_number(at, (uint64_t)(point < 1 ? 1 - point : point - 1), 2);
        return (size_t)(at - out);
    }
    if (point > -4 && point <= count && form != 2) {
        unsigned char *at = out;
        while (count > 1 && digits[count - 1] == '0')
            count--;
        if (bits >> 63)
            *at++ = '-';
        if (point <= 0) {
            memcpy(at, "0.000", 5);
            at += 2 - point;
            memcpy(at, digits, (size_t)count);
            at += count;
        } else if (count <= point) {
            memset(at, '0', (size_t)point);
            memcpy(at, digits, (size_t)count);
            at += point;
        } else {
            memcpy(at, digits, (size_t)point);
            at[point] = '.';
            memcpy(at + point + 1, digits + point, (size_t)(count - point));
            at += count + 1;
        }
        while (form == 0 && at < out + 20)
            *at++ = ' ';
        return (size_t)(at - out);
    }
#endif
    size = snprintf(text, sizeof text, form == 0 ? "%-20g" : form == 1 ? "%-.20g" : "%.5e", value);
    if (size < 1 || size > 40)
        return 0;
    for (int at = 0; at < size; at++) {
        if (text[at] & 128)
            return 0;
        out[at] = (unsigned char)(text[at] == ',' ? '.' : text[at]);
    }
    return (size_t)size;
}

/* Digits, without zeros at the end, and how many of them are before the point, as MySQL prints a JSON number: plain
 * with up to 14 zeros after the point and 15 digits before it (or all it has, if some follow), else with an
 * exponent. */
static size_t gtidal_lay_out_double(unsigned char *out, int negative, const char *digits, int count, int point)
{
    unsigned char *at = out;
    if (negative)
        *at++ = '-';
    if (!count) {
        memcpy(at, "0.0", 3);
        at += 3;
    } else if (point < -14 || (point > 15 && point >= count)) {
        *at++ = (unsigned char)digits[0];
        if (count > 1) {
            *at++ = '.';
            memcpy(at, digits + 1, (size_t)count - 1);
            at += count - 1;
        }
        *at++ = 'e';
        if (point < 1)
            *at++ = '-';
        at += gtidal_put_number(at, (uint64_t)(point < 1 ? 1 - point : point - 1), 1);
    } else if (point <= 0) {
        memcpy(at, "0.00000000000000", 16);
        at += 2 - point;
        memcpy(at, digits, (size_t)count);
        at += count;
    } else if (count <= point) {
        memset(at, '0', (size_t)point);
        memcpy(at, digits, (size_t)count);
        at += point;
        memcpy(at, ".0", 2);
        at += 2;
    } else {
        memcpy(at, digits, (size_t)point);
        at[point] = '.';
        memcpy(at + point + 1, digits + point, (size_t)(count - point));
        at += count + 1;
    }
    return (size_t)(at - out);
}

/* A number written with an exponent or a point, taken apart and laid out anew. */
static size_t gtidal_lay_out_text(unsigned char *out, const char *text)
{
    char digits[32];
    int negative = *text == '-', count = 0, point = 0, seen_point = 0;
    for (text += negative; *text && *text != 'e'; text++) {
        if (*text < '0' || *text > '9')
            seen_point = 1;
        else {
            if (count < 31 && (count || *text != '0'))
                digits[count++] = *text;
            else if (seen_point && !count)
                point--; /* a zero between the point and the first digit */
            if (!seen_point && count)
                point++;
        }
    }
    if (*text == 'e')
        point += atoi(text + 1);
    while (count && digits[count - 1] == '0')
        count--;
    return gtidal_lay_out_double(out, negative, digits, count, point);
}

/* A finite number with the fewest digits; 0 if they cannot be told here: at most 32 letters. */
static size_t gtidal_put_short_double(unsigned char *out, uint64_t bits)
{
    if (!(bits & 0x7FFFFFFFFFFFFFFFull))
        return gtidal_lay_out_double(out, (int)(bits >> 63), "", 0, 0);
#ifdef GTIDAL_EXACT
    char digits[24];
    int point, count = gtidal_shortest(bits & 0x7FFFFFFFFFFFFFFFull, digits, &point);
    if (count)
        return gtidal_lay_out_double(out, (int)(bits >> 63), digits, count, point);
#endif
    return 0;
}

#endif
