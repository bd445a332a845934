"""The constant texts that the kernel prints, numbered: it copies them and knows nothing of what they say."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from gtidal.columnar.plan import Growing
from gtidal.text.events import READ_COMMITTED
from gtidal.text.row_heads import ROW_NAMES, row_flags
from gtidal.text.statements import DELIMITER


class Word(IntEnum):
    """The numbers that ``kernel.eventtext`` has as literals."""

    AT = 0
    HEADER = 1
    SERVER_ID = 2
    END_LOG_POS = 3
    CRC32 = 4
    GTID = 5
    ANONYMOUS_GTID = 6
    SEQUENCE_NUMBER = 7
    ROWS_ONLY = 8
    NOT_ROWS_ONLY = 9
    IMMEDIATE_ON_LINE = 10
    TRANSACTION_LENGTH = 11
    READ_COMMITTED = 12
    ORIGINAL = 13
    MOMENT = 14
    IMMEDIATE = 15
    SET_ORIGINAL = 16
    SET_ORIGINAL_VERSION = 17
    SET_IMMEDIATE_VERSION = 18
    SET_GTID_NEXT = 19
    END_QUOTE = 20
    ANONYMOUS = 21
    THREAD_ID = 22
    EXEC_TIME = 23
    ERROR_CODE = 24
    SET_TIMESTAMP = 25
    DELIMITER = 26
    END_STATEMENT = 27
    NO_INVISIBLE_KEY = 28
    INVISIBLE_KEY = 29
    ROWS_QUERY = 30
    XID = 31
    COMMIT = 32
    BINLOG = 33
    PARTITION = 34
    SOURCE_PARTITION = 35
    TARGET_PARTITION = 36
    SET_ROWS = 37
    ROW_FLAGS = 64
    ROW_NAMES = 96


_ORIGINAL = "# original_commit_timestamp="
_TEXTS = {
    Word.AT: "# at ",
    Word.HEADER: "\n#",
    Word.SERVER_ID: " server id ",
    Word.END_LOG_POS: "  end_log_pos ",
    Word.CRC32: " CRC32 0x",
    Word.GTID: "\tGTID\tlast_committed=",
    Word.ANONYMOUS_GTID: "\tAnonymous_GTID\tlast_committed=",
    Word.SEQUENCE_NUMBER: "\tsequence_number=",
    Word.ROWS_ONLY: "\trbr_only=yes\toriginal_committed_timestamp=",
    Word.NOT_ROWS_ONLY: "\trbr_only=no\toriginal_committed_timestamp=",
    Word.IMMEDIATE_ON_LINE: "\timmediate_commit_timestamp=",
    Word.TRANSACTION_LENGTH: "\ttransaction_length=",
    Word.READ_COMMITTED: f"\n{READ_COMMITTED}{_ORIGINAL}",
    Word.ORIGINAL: f"\n{_ORIGINAL}",
    Word.MOMENT: " (",
    Word.IMMEDIATE: ")\n# immediate_commit_timestamp=",
    Word.SET_ORIGINAL: ")\n/*!80001 SET @@session.original_commit_timestamp=",
    Word.SET_ORIGINAL_VERSION: f"*/{DELIMITER}\n/*!80014 SET @@session.original_server_version=",
    Word.SET_IMMEDIATE_VERSION: f"*/{DELIMITER}\n/*!80014 SET @@session.immediate_server_version=",
    Word.SET_GTID_NEXT: f"*/{DELIMITER}\nSET @@SESSION.GTID_NEXT= '",
    Word.END_QUOTE: f"'{DELIMITER}\n",
    Word.ANONYMOUS: "ANONYMOUS",
    Word.THREAD_ID: "\tQuery\tthread_id=",
    Word.EXEC_TIME: "\texec_time=",
    Word.ERROR_CODE: "\terror_code=",
    Word.SET_TIMESTAMP: "SET TIMESTAMP=",
    Word.DELIMITER: f"{DELIMITER}\n",
    Word.END_STATEMENT: f"\n{DELIMITER}\n",
    Word.NO_INVISIBLE_KEY: "# has_generated_invisible_primary_key=0\n",
    Word.INVISIBLE_KEY: "# has_generated_invisible_primary_key=1\n",
    Word.ROWS_QUERY: "\tRows_query\n",
    Word.XID: "\tXid = ",
    Word.COMMIT: f"\nCOMMIT{DELIMITER}\n",
    Word.BINLOG: "\nBINLOG '\n",
    Word.PARTITION: "### Extra row info for partitioning: partition: ",
    Word.SOURCE_PARTITION: "### Extra row info for partitioning: source_partition: ",
    Word.TARGET_PARTITION: " target_partition: ",
    Word.SET_ROWS: "### SET\n",
    **{Word.ROW_FLAGS + flags: f"{row_flags(flags)}\n" for flags in range(32)},
    **{Word.ROW_NAMES + code: f"\t{name}: table id " for code, name in ROW_NAMES.items()},
}


class Lexicon:
    """Texts one behind the other, and where each is."""

    def __init__(self) -> None:
        self.texts = Growing(np.uint8)
        self.words = Growing(np.int32)
        self._numbers: dict[str, int] = {}
        for number in range(max(_TEXTS) + 1):
            self._add(_TEXTS.get(number, ""))

    def _add(self, text: str) -> int:
        data = text.encode("utf-8", "surrogateescape")
        self.words.extend((len(self.texts), len(data)))
        self.texts.extend(np.frombuffer(data, np.uint8))
        return len(self.words) // 2 - 1

    def number(self, text: str) -> int:
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = self._add(text)
        return number

    def span(self, text: str) -> tuple[int, int]:
        """Start and size of a text."""
        place = 2 * self.number(text)
        start, size = self.words.array[place : place + 2].tolist()
        return start, size
