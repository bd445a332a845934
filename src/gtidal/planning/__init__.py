"""Logs in parts that can be read anywhere: planned in one place, read in many.

``plan_read`` looks at the heads and the tails of files, never at whole ones, and cuts them at plain byte offsets;
``read_part`` finds the transactions of a part and gives their batches. Every transaction is in exactly one part.
"""

from gtidal.planning.parts import SPLITTINGS, Part, Piece, ReadPlan
from gtidal.planning.plan import plan_read
from gtidal.planning.pruning import STOP_MARGIN
from gtidal.planning.reading import read_part

__all__ = ["SPLITTINGS", "STOP_MARGIN", "Part", "Piece", "ReadPlan", "plan_read", "read_part"]
