"""The one place below ``sources`` that calls libraries: zstandard for payloads, cryptography for logs at rest."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha512

import zstandard
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes

from gtidal.errors import DecodeError, KeyProblem, Unsupported
from gtidal.events.transaction import COMPRESSION_NAMES

ZSTD, NONE = 0, 255
_FEED = 1 << 10
"""Compressed bytes given at once. A block of four bytes can unpack to 128 KiB, so a small bite bounds what
one call gives back."""
_LARGEST_WINDOW = 1 << 27
"""Bounds what a frame's header may make us allocate; MySQL's levels 1 to 22 stay below."""


def unpack_payload(payload: bytes, compression: int) -> Iterator[bytes]:
    """The uncompressed bytes of a transaction payload, in pieces. zstd data may be several frames."""
    if compression == NONE:
        yield payload
        return
    if compression != ZSTD:
        known = ", ".join(f"{code} {name}" for code, name in COMPRESSION_NAMES.items())
        raise Unsupported(f"compression {compression}; known are {known}", field="compression")
    start = 0
    decompressor = zstandard.ZstdDecompressor(max_window_size=_LARGEST_WINDOW)
    while start < len(payload):
        frame = decompressor.decompressobj()
        while not frame.eof and start < len(payload):
            piece = payload[start : start + _FEED]
            start += len(piece)
            try:
                plain = frame.decompress(piece)
            except zstandard.ZstdError as error:
                raise DecodeError(f"zstd: {error}", field="payload") from None
            if plain:
                yield plain
        if not frame.eof:
            raise DecodeError("the zstd data end inside a frame", field="payload")
        start -= len(frame.unused_data)


class MysqlCipher:
    """The stream cipher of a MySQL-encrypted file: AES-256 in counter mode.

    The file's own password is stored in its header, encrypted with a key of the server's keyring. Its SHA-512
    gives key and nonce; the block counter takes the nonce's last eight bytes."""

    def __init__(self, keyring_key: bytes, encrypted_password: bytes, iv: bytes) -> None:
        if len(keyring_key) != 32:
            raise KeyProblem(f"a binlog key has 32 bytes, this one has {len(keyring_key)}")
        decryptor = Cipher(algorithms.AES(keyring_key), modes.CBC(iv)).decryptor()
        digest = sha512(decryptor.update(encrypted_password) + decryptor.finalize()).digest()
        self._key = digest[:32]
        self._nonce = digest[32:40]
        self._context: CipherContext = self._at(0)

    def _at(self, block: int) -> CipherContext:
        nonce = self._nonce + block.to_bytes(8, "big")
        return Cipher(algorithms.AES(self._key), modes.CTR(nonce)).decryptor()

    def seek(self, offset: int) -> None:
        """Go on at ``offset`` of the decrypted stream."""
        self._context = self._at(offset // 16)
        self._context.update(bytes(offset % 16))

    def update(self, data: bytes) -> bytes:
        return self._context.update(data)


class MariadbCipher:
    """The per-event cipher of a MariaDB-encrypted file. The event's length stays readable: the four bytes
    it displaces are moved to the front before encryption."""

    def __init__(self, key: bytes, nonce: bytes, counter_mode: bool = False) -> None:
        if len(key) not in (16, 24, 32):
            raise KeyProblem(f"a key of {len(key)} bytes; AES takes 16, 24 or 32")
        self._key = algorithms.AES(key)
        self._nonce = nonce
        self._counter_mode = counter_mode

    def decrypt(self, data: bytes, position: int) -> bytes:
        """One event at ``position`` of its file."""
        size = data[9:13]
        cipher_text = data[4:9] + data[:4] + data[13:]
        plain = self._decrypt(cipher_text, self._nonce + (position & 0xFFFFFFFF).to_bytes(4, "little"))
        return plain[5:9] + plain[:5] + size + plain[9:]

    def _decrypt(self, data: bytes, iv: bytes) -> bytes:
        if self._counter_mode:
            return Cipher(self._key, modes.CTR(iv)).decryptor().update(data)
        # CBC without padding: what is left after whole blocks is xored with an encrypted block.
        whole = len(data) // 16 * 16
        decryptor = Cipher(self._key, modes.CBC(iv)).decryptor()
        plain = decryptor.update(data[:whole]) + decryptor.finalize()
        rest = data[whole:]
        if rest:
            mask = Cipher(self._key, modes.ECB()).encryptor().update(iv)
            plain += bytes(a ^ b for a, b in zip(rest, mask, strict=False))
        return plain
