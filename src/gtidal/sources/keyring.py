"""Keys of encrypted logs: given in hex, or from the files in which the servers keep them.

* MySQL's file keyring component (``component_keyring_file``): JSON, each key in hex under its id.
* MariaDB's ``file_key_management``: lines of ``id;hex``. The file itself may be encrypted; then say so.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from gtidal.errors import KeyProblem, UsageError
from gtidal.log.decoder import Keys

_SYSTEM_KEY = 1
"""MariaDB encrypts its logs with this key id."""


class KeyStore(Keys):
    """The keys the user gave."""

    def __init__(self, key: str | None = None, key_file: str | Path | None = None) -> None:
        self._key = _parse_hex(key, "the key") if key else None
        self._mysql: dict[str, bytes] = {}
        self._mariadb: dict[int, bytes] = {}
        self._file = key_file
        if key_file is not None:
            self._read(Path(key_file))

    def _read(self, path: Path) -> None:
        try:
            data = path.read_bytes()
        except OSError as error:
            raise UsageError(f"cannot read the key file {path}: {error.strerror}") from None
        if data.startswith(b"Salted__"):
            raise KeyProblem(f"{path} is itself encrypted: decrypt it first (openssl enc -d)")
        text = data.decode("utf-8", "replace")
        if text.lstrip().startswith("{"):
            self._mysql = _parse_component(text, path)
        else:
            self._mariadb = _parse_lines(text, path)

    def mysql(self, key_id: str) -> bytes:
        if self._key is not None:
            return self._key
        found = self._mysql.get(key_id)
        if found is not None:
            return found
        if self._file is not None:
            raise KeyProblem(f"{self._file} does not hold the log's key {key_id}")
        return super().mysql(key_id)

    def mariadb(self, key_version: int) -> bytes:
        if self._key is not None:
            return self._key
        found = self._mariadb.get(_SYSTEM_KEY)
        if found is not None:
            return found
        if self._file is not None:
            raise KeyProblem(
                f"{self._file} does not hold key {_SYSTEM_KEY}, with which MariaDB encrypts logs"
            )
        return super().mariadb(key_version)


def _parse_hex(text: str, what: str) -> bytes:
    try:
        return bytes.fromhex(text.strip())
    except ValueError:
        raise UsageError(f"{what} must be written in hex digits, two for each byte") from None


def _parse_component(text: str, path: Path) -> dict[str, bytes]:
    try:
        elements = json.loads(text)["elements"]
        return {entry["data_id"]: bytes.fromhex(entry["data"]) for entry in elements}
    except (ValueError, KeyError, TypeError):
        raise UsageError(f"{path} is not a keyring file of MySQL's component_keyring_file") from None


def _parse_lines(text: str, path: Path) -> dict[int, bytes]:
    keys: dict[int, bytes] = {}
    for line in text.splitlines():
        line = line.partition("#")[0].strip()
        found = re.fullmatch(r"(\d+);([0-9a-fA-F]+)", line)
        if found:
            keys[int(found[1])] = _parse_hex(found[2], f"a key in {path}")
        elif line:
            raise UsageError(f"{path} is neither a MySQL keyring file (JSON) nor lines of 'id;hex key'")
    if not keys:
        raise UsageError(f"{path} holds no keys")
    return keys
