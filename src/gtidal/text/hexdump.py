"""An event's bytes as text: the block of ``--hexdump``, and the lines of a BINLOG statement."""

from __future__ import annotations

from binascii import b2a_base64

HEADER_SIZE = 19
_LINE = 57
"""Bytes on a line of 76 base64 characters."""
_SHOWN = bytes(code if chr(code).isalnum() and code < 128 else ord(".") for code in range(256))


def hexdump(position: int, data: bytes, header_length: int) -> str:
    """Everything of the block but its first line break.

    Only a header of 19 bytes gets a line of its own. With a longer one the tool prints from the event's
    first byte on, yet as many bytes as follow a header of 19. The 13 of MySQL 3.23 are ours to print."""
    lines = []
    body = data[HEADER_SIZE:]
    if header_length == HEADER_SIZE:
        h = data[:HEADER_SIZE].hex(" ")
        lines.append("# Position  Timestamp   Type   Source ID        Size      Source Pos    Flags \n")
        lines.append(
            f"# {position:08x} {h[0:11]}   {h[12:14]}   {h[15:26]}   {h[27:38]}   {h[39:50]}   {h[51:56]}\n"
        )
        position += HEADER_SIZE
    else:
        body = data[: len(body)] if header_length > HEADER_SIZE else data
    shown = body.translate(_SHOWN).decode("ascii")
    for start in range(0, len(body), 16):
        left, right = body[start : start + 8].hex(" "), body[start + 8 : start + 16].hex(" ")
        lines.append(f"# {position + start:08x} {left:<23}  {right:<23} |{shown[start : start + 16]}|\n")
    lines.append("# ")
    return "".join(lines)


def base64_lines(data: bytes) -> str:
    """Lines of 76 characters, each with its line break."""
    if len(data) <= _LINE:
        return b2a_base64(data).decode("ascii")
    pieces = [b2a_base64(data[start : start + _LINE]) for start in range(0, len(data), _LINE)]
    return b"".join(pieces).decode("ascii")
