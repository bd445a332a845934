"""Bytes to Arrow: plans, the kernel, lanes, VARIANT, views. It is handed bytes; it opens nothing."""
