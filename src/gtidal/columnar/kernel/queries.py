"""QUERY events: where their text begins, and what it does to a transaction.

Of a statement the first word is looked at. What each word means the caller says (``codes.STATEMENT_WORDS``), with the
numbers of ``codes.Statement``; what is not among these words, or is said in an unusual way, is 0: not ours.
"""

import gtidal.columnar.kernel.machine as machine


def behind_status(data, pos, end):
    """Where the status variable at ``pos`` ends; beyond ``end`` if it is not whole, or of no known kind."""
    code = data[pos]
    pos += 1
    if code == 0 or code == 3 or code == 10:
        return pos + 4
    if code == 1 or code == 9 or code == 17 or code == 129:
        return pos + 8
    if code == 4:
        return pos + 6
    if code == 7 or code == 8 or code == 18:
        return pos + 2
    if code == 13 or code == 128:
        return pos + 3
    if code == 16 or code == 19 or code == 20 or code == 21:
        return pos + 1
    if pos >= end:
        return end + 1
    if code == 5 or code == 6:
        return pos + 1 + data[pos]
    if code == 11:
        pos += 1 + data[pos]
        return pos + 1 + data[pos] if pos < end else end + 1
    if code == 131:
        return pos + 1 + 4 * data[pos]
    if code == 12:
        names = data[pos]
        pos += 1
        if names == 254:  # too many: none is there
            return pos
        while names and pos < end:
            if data[pos] == 0:
                names -= 1
            pos += 1
        return end + 1 if names else pos
    return end + 1


def status_is_known(data, pos, end):
    """Whether these are status variables of known kinds that end where they should."""
    while pos < end:
        pos = behind_status(data, pos, end)
    return pos == end


def find_status(data, pos, end, code):
    """Where the value of the first status variable of a kind is, or -1; all of them are known."""
    while pos < end:
        if data[pos] == code:
            return pos + 1
        pos = behind_status(data, pos, end)
    return -1


def text_of(data, pos, end):
    """Where the text of the QUERY event begins whose body is at ``pos``, or -1 if it is not laid out as known."""
    if end - pos < 14:
        return -1
    status = pos + 13
    schema = status + (data[pos + 11] | data[pos + 12] << 8)
    text = schema + data[pos + 8] + 1
    if text > end or data[text - 1] or not status_is_known(data, status, schema):
        return -1
    return text


def behind_gap(data, pos, end):
    """Where blanks and comments end. What looks like a comment and is none is not passed over."""
    while pos < end:
        byte = data[pos]
        if byte == 32 or (byte >= 9 and byte <= 13):
            pos += 1
        elif (
            byte == 47
            and end - pos >= 4
            and data[pos + 1] == 42
            and data[pos + 2] != 33
            and data[pos + 2] != 77
        ):
            stop = pos + 2
            while end - stop >= 2 and (data[stop] != 42 or data[stop + 1] != 47):
                stop += 1
            if end - stop < 2:
                return pos
            pos = stop + 2
        else:
            return pos
    return pos


def behind_word(data, pos, end):
    while pos < end and ((data[pos] | 32) >= 97 and (data[pos] | 32) <= 122):
        pos += 1
    return pos


def packed_word(data, pos, end):
    """A word as a number, five bits for each letter; 0 if it has none, or too many."""
    if end - pos > 12:
        return 0
    number = 0
    while pos < end:
        number = number * 32 + (data[pos] & 31)
        pos += 1
    return number


def ends_in_n(data, pos, end):
    while end > pos and data[end - 1] <= 32:
        end -= 1
    return end > pos and (data[end - 1] | 32) == 110


def kind_of(data, pos, end, words, count):
    """What the statement from ``pos`` to ``end`` is, by ``count`` pairs of a word and what it says."""
    pos = behind_gap(data, pos, end)
    stop = behind_word(data, pos, end)
    word = packed_word(data, pos, stop)
    k = 0
    while k < count and words[2 * k] != word:
        k += 1
    kind = words[2 * k + 1] if k < count else 0
    if (kind == 1 or kind == 2) and stop < end:  # BEGIN, COMMIT: more may be said behind them
        return 0
    if kind == 3 and stop < end:  # ROLLBACK
        pos = behind_gap(data, stop, end)
        stop = behind_word(data, pos, end)
        return 4 if packed_word(data, pos, stop) == 655 else 0  # TO a SAVEPOINT
    if kind == 7:  # CREATE
        return 0 if ends_in_n(data, pos, end) else 6  # … START TRANSACTION: its rows follow
    return kind


def is_setting(data, pos, end, kind):
    """Whether the event of type ``kind`` is a whole INTVAR, RAND or USER_VAR, with nothing behind it."""
    if kind == 5:
        return end - pos == 9
    if kind == 13:
        return end - pos == 16
    if kind != 14 or end - pos < 5:
        return 0
    size = machine.word_raw(data, pos)
    pos += 4
    if size > end - pos - 1:
        return 0
    pos += size + 1
    if data[pos - 1]:  # NULL
        return pos == end
    if end - pos < 9:
        return 0
    size = machine.word_raw(data, pos + 5)
    pos += 9
    return size == end - pos or size == end - pos - 1
