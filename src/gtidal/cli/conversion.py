"""What was typed, converted for a command. Typer does it with pydantic, which takes longer to load than many a command
takes to run; so values that are plainly right are taken here, and the others are left to Typer, with its complaints.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Any

from typer.core import TyperCommand, TyperGroup

_SHORT_NUMBER = re.compile("[0-9]{1,18}")


class PlainValues:
    """Stands in for the conversion that Typer makes for a parameter."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        wanted, limits = param.type_descriptor.annotation, param.type_descriptor.parameter_info
        if several and wanted == list[str] and not isinstance(value, str):
            return [str(item) for item in value]
        if isinstance(wanted, type):
            if isinstance(value, wanted):
                return value
            if wanted is int and _SHORT_NUMBER.fullmatch(value) and limits.max is None:
                number = int(value)
                if number >= (limits.min or 0):
                    return number
            if issubclass(wanted, Enum) and value in {member.value for member in wanted}:
                return wanted(value)
        param._runtime_param = None  # Typer makes its own
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)


class _TakesPlainValues:
    """For Typer's classes: gives every parameter, the one for help too, the conversion above."""

    def get_params(self, ctx: Any) -> list[Any]:
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]  # of the class beside this one
        for parameter in parameters:
            parameter._runtime_param = PlainValues()
        return parameters


class Command(_TakesPlainValues, TyperCommand):
    """A command."""


class Group(_TakesPlainValues, TyperGroup):
    """A group of commands."""
