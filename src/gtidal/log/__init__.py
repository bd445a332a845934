"""Bytes to events and transactions. No I/O: whoever has bytes gives them to a ``LogDecoder``."""
