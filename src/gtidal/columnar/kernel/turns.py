"""Turns: threads that use the kernel tell each other when they hold Python's lock, so that one that wants it next waits awake
(turns.h)."""

import gtidal.columnar.kernel.machine as machine


def end():
    """The thread that calls will let Python's lock go for something that is not the kernel's: nobody waits awake for it."""
    machine.end_turn()
