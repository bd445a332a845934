"""VARIANT in plain Python: Parquet's binary format for values of any type, as Spark 4 reads it.

A VARIANT is two byte strings. ``metadata`` is a dictionary of names; ``value`` is one value, whose objects
refer to their keys by number. ``writing`` makes them of Python values, ``images`` of row images, ``detail`` of
events; ``reading`` takes them apart and prints JSON. The kernel writes the same values faster; what it leaves
over comes here, and these modules judge it.
"""

from gtidal.columnar.variant.detail import encode_detail
from gtidal.columnar.variant.images import ImageEncoder, encode_image
from gtidal.columnar.variant.reading import decode, decode_typed, json_text, places_in
from gtidal.columnar.variant.writing import LARGEST, encode_value

__all__ = [
    "LARGEST",
    "ImageEncoder",
    "decode",
    "decode_typed",
    "encode_detail",
    "encode_image",
    "encode_value",
    "json_text",
    "places_in",
]
