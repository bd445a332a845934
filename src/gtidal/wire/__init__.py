"""Bytes to numbers and back. Knows no event."""
