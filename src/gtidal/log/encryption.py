"""The header of a MySQL-encrypted log: which key, and the file's own password encrypted with it."""

from __future__ import annotations

from typing import ClassVar

from gtidal.errors import DecodeError
from gtidal.wire.layout import Fields, Reader, Record

ENCRYPTED_MAGIC = b"\xfdbin"


class KeyId(Record):
    tag: int = 1
    key_id: str = ""

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.u8("tag")
        f.short_text("key_id")


class Password(Record):
    tag: int = 2
    password: bytes = b""

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.u8("tag")
        f.raw("password", 32)


class Iv(Record):
    tag: int = 3
    iv: bytes = b""

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.u8("tag")
        f.raw("iv", 16)


class End(Record):
    tag: int = 0

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.u8("tag")


_FIELDS: dict[int, type[Record]] = {0: End, 1: KeyId, 2: Password, 3: Iv}


def _pick(reader: Reader) -> type[Record]:
    tag = reader.data[reader.pos]
    if tag not in _FIELDS:
        raise DecodeError(f"unknown field {tag}", field="tag")
    return _FIELDS[tag]


class EncryptionHeader(Record):
    """The first 512 bytes of an encrypted file."""

    SIZE: ClassVar[int] = 512

    magic: bytes = ENCRYPTED_MAGIC
    version: int = 1
    values: tuple[Record, ...] = ()
    padding: bytes = b""

    @classmethod
    def walk(cls, f: Fields) -> None:
        f.raw("magic", 4)
        if f.u8("version") != 1:
            raise DecodeError("only version 1 is known", field="version")
        f.records("values", _pick, until=End)
        f.rest("padding")

    @property
    def key_id(self) -> str:
        return next((value.key_id for value in self.values if isinstance(value, KeyId)), "")

    @property
    def password(self) -> bytes:
        found = next((value.password for value in self.values if isinstance(value, Password)), None)
        if found is None:
            raise DecodeError("has no file password", field="password")
        return found

    @property
    def iv(self) -> bytes:
        found = next((value.iv for value in self.values if isinstance(value, Iv)), None)
        if found is None:
            raise DecodeError("has no initialisation vector", field="iv")
        return found
