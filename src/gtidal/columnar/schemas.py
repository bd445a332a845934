"""The fixed schemas of the views: exactly the Arrow types that Spark derives for the same columns."""

from __future__ import annotations

import pyarrow as pa

STRING, BIGINT, BOOLEAN = pa.string(), pa.int64(), pa.bool_()
TIMESTAMP = pa.timestamp("us", tz="UTC")
UNSIGNED = pa.decimal128(20, 0)
STRINGS = pa.list_(pa.field("element", pa.string()))
VARIANT = pa.struct(
    [
        pa.field("value", pa.binary(), nullable=False),
        pa.field("metadata", pa.binary(), nullable=False, metadata={"variant": "true"}),
    ]
)


def _schema(*columns: tuple[str, pa.DataType]) -> pa.Schema:
    """A name that ends in ``!`` is of a column that is never null."""
    return pa.schema(
        [pa.field(name.rstrip("!"), kind, nullable=not name.endswith("!")) for name, kind in columns]
    )


EVENTS = _schema(
    ("file!", STRING),
    ("position!", BIGINT),
    ("end_position!", BIGINT),
    ("timestamp!", TIMESTAMP),
    ("type!", STRING),
    ("type_code!", pa.int16()),
    ("server_id!", BIGINT),
    ("size!", BIGINT),
    ("flags!", STRINGS),
    ("checksum!", STRING),
    ("gtid", STRING),
    ("transaction_position", BIGINT),
    ("payload_position", BIGINT),
)
DETAIL = pa.field("detail", VARIANT)

TRANSACTIONS = _schema(
    ("file!", STRING),
    ("position!", BIGINT),
    ("end_position!", BIGINT),
    ("outcome!", STRING),
    ("kind!", STRING),
    ("gtid", STRING),
    ("source_uuid", STRING),
    ("tag", STRING),
    ("gno", BIGINT),
    ("last_committed", BIGINT),
    ("sequence_number", BIGINT),
    ("row_only", BOOLEAN),
    ("timestamp!", TIMESTAMP),
    ("immediate_commit_timestamp", TIMESTAMP),
    ("original_commit_timestamp", TIMESTAMP),
    ("immediate_server_version", STRING),
    ("original_server_version", STRING),
    ("server_id!", BIGINT),
    ("thread_id", BIGINT),
    ("length!", BIGINT),
    ("commit_group_ticket", UNSIGNED),
    ("xid", UNSIGNED),
    ("xa", STRING),
    ("schema", STRING),
    ("query", STRING),
    ("events!", BIGINT),
    ("rows_inserted!", BIGINT),
    ("rows_updated!", BIGINT),
    ("rows_deleted!", BIGINT),
    ("tables!", STRINGS),
    ("compressed!", BOOLEAN),
    ("uncompressed_length", BIGINT),
)

CHANGES = _schema(
    ("file!", STRING),
    ("position!", BIGINT),
    ("row!", BIGINT),
    ("transaction_position!", BIGINT),
    ("timestamp!", TIMESTAMP),
    ("commit_timestamp", TIMESTAMP),
    ("gtid", STRING),
    ("server_id!", BIGINT),
    ("schema", STRING),
    ("table", STRING),
    ("op!", STRING),
    ("key", STRINGS),
    ("before", VARIANT),
    ("after", VARIANT),
    ("outcome!", STRING),
    ("xa", STRING),
    ("query", STRING),
)

ROWS = _schema(
    ("_change_type!", STRING),
    ("_gtid", STRING),
    ("_commit_timestamp", TIMESTAMP),
    ("_file!", STRING),
    ("_position!", BIGINT),
    ("_row!", BIGINT),
    ("_transaction_position!", BIGINT),
    ("_outcome!", STRING),
    ("_xa", STRING),
)
"""The columns before a table's own."""
