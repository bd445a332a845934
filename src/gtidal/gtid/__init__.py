"""GTIDs and sets of them: MySQL's (with tags) and MariaDB's, as text and as bytes.

The files:

    intervals   ranges of transaction numbers: union, difference, intersection without enumerating
    text        MySQL's text form, read the way the server reads it
    mysql       Gtid, GtidSet, GtidSetBuilder
    binary      the three binary encodings of a GtidSet
    mariadb     MariadbGtid, MariadbGtidSet; parse_gtid_set tells the two flavours apart
"""

from gtidal.gtid.binary import EncodedEntry, EncodedGtidSet
from gtidal.gtid.mariadb import MariadbGtid, MariadbGtidSet, MariadbGtidSetBuilder, parse_gtid_set
from gtidal.gtid.mysql import Gtid, GtidSet, GtidSetBuilder
from gtidal.gtid.text import format_uuid, parse_uuid

__all__ = [
    "EncodedEntry",
    "EncodedGtidSet",
    "Gtid",
    "GtidSet",
    "GtidSetBuilder",
    "MariadbGtid",
    "MariadbGtidSet",
    "MariadbGtidSetBuilder",
    "format_uuid",
    "parse_gtid_set",
    "parse_uuid",
]
