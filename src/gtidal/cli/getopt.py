"""Options in all the forms that MySQL's tools take, so that a script can change the command and nothing else.

``--start_position``, ``--skip-gtids=true``, ``--hexdump=0``, ``--skip-hexdump``, ``--loose-…`` (ignored if
unknown), ``--no-defaults`` (there are none).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from typer.core import TyperOption

from gtidal.cli.conversion import Command
from gtidal.cli.remote import check_passwords

_TRUE, _FALSE = {"1", "true", "on"}, {"0", "false", "off"}
_NO_DEFAULTS = {"no-defaults"}


class MysqlStyleCommand(Command):
    """A command whose long options may be written as MySQL's tools allow."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        check_passwords(args)
        flags = {
            name.removeprefix("--"): bool(option.is_flag or option.count)
            for option in self.params
            if isinstance(option, TyperOption)
            for name in (*option.opts, *option.secondary_opts)
            if name.startswith("--")
        }
        return super().parse_args(ctx, plain_forms(args, flags | {"help": True}))


def plain_forms(arguments: Iterable[str], flags: Mapping[str, bool]) -> list[str]:
    """The arguments with every long option spelt out. ``flags``: each option, and whether it takes no value."""
    plain: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            return [*plain, argument, *rest]
        if not argument.startswith("--"):
            plain.append(argument)
            continue
        name, equals, value = argument[2:].partition("=")
        plain.extend(_plain_option(argument, name.replace("_", "-"), equals + value, flags))
        if "=" not in argument and flags.get(plain[-1].removeprefix("--") if plain else "") is False:
            plain.extend(next(([value] for value in rest), []))
    return plain


def _plain_option(argument: str, name: str, value: str, flags: Mapping[str, bool]) -> list[str]:
    if name in _NO_DEFAULTS:
        return []
    loose = name.startswith("loose-")
    name = name.removeprefix("loose-")
    found = name if name in flags else None
    if found is not None and not flags[found]:
        return [f"--{found}{value}"]
    switch = value[1:].lower()
    if found is not None and (not value or switch in _TRUE):
        return [f"--{found}"]
    if found is not None and switch in _FALSE:
        return _off(found, flags)
    for prefix in ("skip-", "disable-"):
        if name.startswith(prefix) and not value:
            flag = name.removeprefix(prefix)
            if flags.get(flag):
                return _off(flag, flags)
    return [] if loose else [argument]


def _off(flag: str, flags: Mapping[str, bool]) -> list[str]:
    """A flag that is off by default is left out; one that is on has an opposite."""
    return [f"--skip-{flag}"] if f"skip-{flag}" in flags else []
