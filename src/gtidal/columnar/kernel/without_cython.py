"""What the kernel's sources name of Cython, for a machine that runs them without it."""

from contextlib import nullcontext

nogil = nullcontext()
"""Compiled, what stands below ``with cython.nogil`` runs without Python's lock."""
