# SPDX-License-Identifier: GPL-2.0-only
"""Schedulers: their names, the descriptions in their files, and a scheduler with its settings.

A scheduler is one C file, `kernel/mptcp/sched/NAME.c` or the user's own `NAME.c`. Its description
is read from there: the head comment, whose first paragraph begins "NAME: ", and its parameters, in
this form:

    static const struct mps_param NAME_params[] = {
        [RP] = MPS_BOOL("rp", 1, "meaning"),
        [NUM] = MPS_UINT("num_segments", 1, 255, 1, "segments", "meaning"),
    };

that is name, (minimum, maximum,) default, (unit,) meaning. Numbers are literals, U32_MAX, or macros
that the file defines. `.takes_units = true` says that applications announce units to it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from mptcplab import resources
from mptcplab.errors import InputError, MptcplabError, Problem
from mptcplab.mistakes import read_bytes, shown, suggestion

# The name that is replaced in the templates, also where it is part of another word.
_TEMPLATE_NAME = re.compile(r"(?<![a-z])mine(?![a-z])")

#: Upstream's own scheduler, which has no file here.
DEFAULT = "default"
#: Stands for all schedulers of the lab kernel, each with its default values.
ALL = "all"
_DEFAULT_DESCRIPTION = """\
default: the subflow that will have sent its queued data soonest

The scheduler of upstream Linux 6.12, untouched (net/mptcp/protocol.c,
mptcp_subflow_get_send()). It takes the subflow with the least queued bytes per
pacing rate, a backup subflow only when there is no other, and gives it up to 64
KiB in a row; data beyond the congestion window waits in the subflow.
What the connection must send again goes to a subflow with nothing outstanding.

It has no parameters of its own, and its decisions are not recorded."""

# The kernel's MPTCP_SCHED_NAME_MAX is 16, including the terminating zero.
_NAME = re.compile("[a-z][a-z0-9_]{0,14}")
_PARAMETER_NAME = re.compile("[A-Za-z0-9_]{1,255}")
_PARAMETER_NAME_ACCEPTED = "a parameter's name is up to 255 letters, digits and _"
_NAME_ACCEPTED = "a scheduler's name is a letter, then up to 14 of a-z, 0-9 and _"
# sysctls of net.mptcp, which the directory of a scheduler's parameters would clash with
_RESERVED_NAMES = (
    *("close_timeout", "enabled", "grain_bytes", "mptcpize", "path_manager", "pm_type"),
    *("recovery", "scheduler", "scheduler_for", "stale_loss_cnt"),
)

# Parameters that have become schedulers of their own, by scheduler and parameter.
_MOVED = {
    ("daps", "commit"): "timetable",
    ("daps", "look_ahead_pkts"): "timetable",
    ("daps", "ack_clocked"): "timetable",
    ("musher", "measure"): "proportional",
    ("musher", "mixed"): "proportional",
    ("musher", "period_ms"): "proportional",
    ("redundant", "mode"): "opportunistic (for mode=1) or whenidle (for mode=2)",
    ("redundant", "spare_backups"): "opportunistic or whenidle",
}

_U32_MAX = 2**32 - 1
_BOOLEANS = {"on": 1, "off": 0, "1": 1, "0": 0, "true": 1, "false": 0}


@dataclass(frozen=True)
class Parameter:
    """A parameter of a scheduler. A `bool` is 0 or 1, and written as off or on."""

    name: str
    kind: Literal["bool", "uint"]
    minimum: int
    maximum: int
    default: int
    unit: str
    meaning: str

    @property
    def accepted(self) -> str:
        """The accepted values, in words."""
        if self.kind == "bool":
            return "on or off"
        unit = f" ({self.unit})" if self.unit else ""
        return f"a whole number from {self.minimum} to {self.maximum}{unit}"

    def text(self, value: int) -> str:
        """A value in the form that the user writes."""
        return _value_text(self.kind, value)

    def parse(self, text: str) -> int:
        """The value of a text. Raises ValueError, which says what is accepted."""
        if self.kind == "bool":
            if text.lower() in _BOOLEANS:
                return _BOOLEANS[text.lower()]
        elif re.fullmatch("[0-9]{1,10}", text) and self.minimum <= int(text) <= self.maximum:
            return int(text)
        raise ValueError(f"{self.name} is {self.accepted}")


#: A parameter of the framework, which all schedulers have, `default` too: the sysctl
#: net.mptcp.recovery. It is on by default for those that say so. A choice has it only if it is not
#: the scheduler's default.
RECOVERY = Parameter(
    *("recovery", "bool", 0, 1, 0, ""),
    "back on a path within a second after an outage, and late data on another one at once",
)
#: The same of the adapter, kernel/mptcp/adapter/: the sysctl net.mptcp.grain_bytes.
GRAIN = Parameter(
    *("grain_bytes", "uint", 0, 1048576, 0, "bytes"),
    "without our patches: the data of a choice, at least a segment; 0: a fragment of up to 32 KiB",
)
_COMMON = (RECOVERY.name, GRAIN.name)


@dataclass(frozen=True)
class Algorithm:
    """A scheduler or a congestion control.

    `description` is the head comment of its file; `file` is None for the kernel's own.
    """

    name: str
    description: str
    parameters: tuple[Parameter, ...] = ()
    file: Path | None = None

    @property
    def summary(self) -> str:
        """The first paragraph of the description, without the name and the full stop: one line."""
        first = " ".join(self.description.partition("\n\n")[0].split())
        return first.removeprefix(f"{self.name}: ").rstrip(".")


@dataclass(frozen=True)
class Scheduler(Algorithm):
    """A scheduler.

    `digest` is the hash of the content of a user's own file, else None: our files are part of the
    kernel. `units`: applications may announce units of their data to it (docs/units.md).
    `recovers`: it has RECOVERY by default.
    """

    digest: str | None = None
    units: bool = False
    recovers: bool = False

    @property
    def common_parameters(self) -> tuple[Parameter, ...]:
        """Those that are not of its file, with its defaults."""
        recovery = replace(RECOVERY, default=int(self.recovers))
        return (recovery,) if self.name == DEFAULT else (recovery, GRAIN)


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Setting(_Frozen):
    name: str
    kind: Literal["bool", "uint"]
    value: int
    default: int


class Choice(_Frozen):
    """A scheduler as a run uses it: every parameter with its value.

    `digest` is that of the user's own file, else None; `units` is as in Scheduler.
    """

    name: str
    settings: tuple[Setting, ...] = ()
    digest: str | None = None
    units: bool = False

    @property
    def changed(self) -> tuple[Setting, ...]:
        """The parameters whose value is not the default."""
        return tuple(setting for setting in self.settings if setting.value != setting.default)

    def changes(self, parameter: Parameter) -> bool:
        """Whether this parameter has another value than its default."""
        return any(setting.name == parameter.name for setting in self.changed)

    @property
    def sysctls(self) -> tuple[str, ...]:
        """The settings KEY=VALUE that choose it, without defaults."""
        return (
            f"net.mptcp.scheduler={self.name}",
            *(f"net.mptcp.{_key(self.name, each.name)}={each.value}" for each in self.changed),
        )

    @property
    def label(self) -> str:
        """Its name in tables and pictures: the name, and what differs from the defaults."""
        changed = [f"{s.name}={_value_text(s.kind, s.value)}" for s in self.changed]
        return ":".join([self.name, *changed])


def _key(scheduler: str, parameter: str) -> str:
    return parameter if parameter in _COMMON else f"{scheduler}.{parameter}"


def _value_text(kind: str, value: int) -> str:
    return ("off", "on")[value] if kind == "bool" else str(value)


@cache
def known() -> Mapping[str, Scheduler]:
    """The schedulers of the lab kernel by name: upstream's, then ours in alphabetical order.

    Raises MptcplabError if a file of ours cannot be parsed.
    """
    files = sorted(resources.SCHEDULERS.glob("*.c"))
    found = {DEFAULT: Scheduler(DEFAULT, _DEFAULT_DESCRIPTION)}
    for file in files:
        try:
            found[file.stem] = _parse(file, file.read_text(encoding="utf-8"))
        except ValueError as error:
            raise MptcplabError(f"{file}: {error}") from error
    return found


def check_name(name: str, taken: Mapping[str, Scheduler]) -> None:
    """Raises ValueError if this is not a valid name for the user's own scheduler."""
    if not _NAME.fullmatch(name):
        raise ValueError(_NAME_ACCEPTED)
    if name in taken:
        raise ValueError("a scheduler of the lab kernel has this name; choose another")
    if (resources.CONGESTION_CONTROLS / f"{name}.c").exists():
        raise ValueError("a congestion control of the lab kernel has this name; choose another")
    if name == ALL:
        raise ValueError("this name means all schedulers of the lab kernel; choose another")
    if name in _RESERVED_NAMES:
        raise ValueError("the kernel has a setting of this name (net.mptcp); choose another")


def read(file: Path, taken: Mapping[str, Scheduler]) -> Scheduler:
    """The scheduler in a file of the user's; its name is the file's, without `.c`.

    Raises ValueError, which says what is wrong with the file.
    """
    content = read_bytes(file, 1, "a scheduler is a short C file")
    try:
        check_name(file.stem, taken)
    except ValueError as error:
        raise ValueError(f"the name of the file is that of the scheduler: {error}") from None
    text = content.decode("utf-8", errors="replace")
    found = _parse(file, text, hashlib.sha256(content).hexdigest()[:16])
    names = re.findall(r'\.\s*name\s*=\s*"([^"]*)"', _without_comments(text))
    if found.name not in names:
        others = f", but {', '.join(map(shown, names))}" if names else ""
        raise ValueError(
            f'it registers no scheduler "{found.name}"{others}: .name = "{found.name}" is expected'
        )
    return found


def new(name: str, folder: Path, taken: Mapping[str, Scheduler]) -> list[Path]:
    """Write a new scheduler of that name from the template, and its test, into `folder`.

    Raises InputError if the name is invalid or a file already exists, and MptcplabError if the
    files cannot be written.
    """
    templates = sorted(resources.SCHEDULER_TEMPLATES.glob("mine*.*"))
    files = {folder / _TEMPLATE_NAME.sub(name, file.name): file for file in templates}
    problems = [
        Problem("scheduler new", "", str(file), "there is a file of this name; choose another")
        for file in files
        if file.exists()
    ]
    try:
        check_name(name, taken)
    except ValueError as error:
        problems = [Problem("scheduler new", "", shown(name), str(error))]
    if problems:
        raise InputError(problems)
    for file, template in files.items():
        try:
            text = template.read_text(encoding="utf-8")
            file.write_text(_TEMPLATE_NAME.sub(name, text), encoding="utf-8")
        except OSError as error:
            for each in files:
                each.unlink(missing_ok=True)
            raise MptcplabError(f"cannot write {file}: {error.strerror}") from error
    return list(files)


# From the user's text to a choice


class SpecError(ValueError):
    """A text that selects no scheduler; `messages` lists everything that is wrong with it."""

    def __init__(self, messages: Sequence[str]) -> None:
        self.messages = tuple(messages)
        super().__init__("; ".join(messages))


def choose(spec: str, known: Mapping[str, Scheduler], folder: Path) -> tuple[Choice, Scheduler]:
    """The scheduler that `NAME:PARAM=VALUE:...` or `FILE.c:PARAM=VALUE:...` selects.

    `known` are the schedulers that NAME can select; a relative FILE is looked up in `folder`.
    Raises SpecError.
    """
    name, *assignments = (part.strip() for part in spec.split(":"))
    if name.endswith(".c"):
        try:
            scheduler = read(folder / name, known)
        except ValueError as error:
            raise SpecError([str(error)]) from None
    elif name in known:
        scheduler = known[name]
    else:
        hint = suggestion(name, list(known)) or ";"
        message = f"unknown scheduler{hint} known: {', '.join(sorted(known))}"
        raise SpecError([f"{message}; a file of your own ends in .c, e.g. ./mine.c"])

    parameters = (*scheduler.parameters, *scheduler.common_parameters)
    settings = settings_of(scheduler.name, parameters, assignments)
    choice = Choice(
        name=scheduler.name,
        settings=tuple(s for s in settings if s.name not in _COMMON or s.value != s.default),
        digest=scheduler.digest,
        units=scheduler.units,
    )
    return choice, scheduler


def settings_of(
    name: str, parameters: Sequence[Parameter], assignments: Iterable[str]
) -> tuple[Setting, ...]:
    """Every parameter of `name` with its value; `assignments` are texts PARAM=VALUE.

    Raises SpecError.
    """
    messages: list[str] = []
    values: dict[str, int] = {}
    known = {parameter.name: parameter for parameter in parameters}
    for assignment in assignments:
        key, equals, text = (part.strip() for part in assignment.partition("="))
        if not equals:
            messages.append(f"{shown(assignment)} is not PARAM=VALUE, as in NAME:PARAM=VALUE")
        elif key not in known:
            messages.append(_unknown_parameter(key, name, list(known)))
        elif key in values:
            messages.append(f"{key} is given twice")
        else:
            try:
                values[key] = known[key].parse(text)
            except ValueError as error:
                values[key] = known[key].default
                messages.append(f"{shown(text)}: {error}")
    if messages:
        raise SpecError(messages)
    return tuple(
        Setting(name=p.name, kind=p.kind, value=values.get(p.name, p.default), default=p.default)
        for p in parameters
    )


def _unknown_parameter(key: str, name: str, known: Sequence[str]) -> str:
    if moved := _MOVED.get((name, key)):
        return f"{shown(key)}: this form of {name} is a scheduler of its own now: {moved}"
    if not known:
        return f"{shown(key)}: {name} has no parameters"
    hint = suggestion(key, known) or ";"
    return f"{shown(key)}: unknown parameter of {name}{hint} known: {', '.join(known)}"


# From C


def _parse(file: Path, text: str, digest: str | None = None) -> Scheduler:
    code = _without_comments(text)
    units, recovers = (
        re.search(rf"\.\s*{flag}\s*=\s*true\b", code) is not None
        for flag in ("takes_units", "recovers")
    )
    return Scheduler(
        file.stem, head_comment(text), parameters_in(text), file, digest, units, recovers
    )


def head_comment(text: str) -> str:
    """The first comment between /* and */, without its frame."""
    found = re.match(r"\s*(?://[^\n]*\n\s*)*/\*(.*?)\*/", text, re.DOTALL)
    if not found:
        return ""
    lines = [re.sub(r"^\s*\*? ?", "", line).rstrip() for line in found[1].split("\n")]
    return "\n".join(lines).strip()


def _without_comments(text: str) -> str:
    """C without comments; line breaks stay, so lines keep their numbers."""
    pattern = r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/'

    def blank(found: re.Match[str]) -> str:
        return " " + "\n" * found[0].count("\n") if found[0].startswith("/") else found[0]

    return re.sub(pattern, blank, text, flags=re.DOTALL)


_TABLE = re.compile(r"\bstruct\s+mps_param\s+\w+\s*\[\s*\w*\s*\]\s*=\s*\{")
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+\(?(\w+)\)?[ \t]*$", re.MULTILINE)
_NUMBER = re.compile("(0[xX][0-9a-fA-F]+|0|[1-9][0-9]*)[uUlL]*")
_QUOTED = r'"(?:\\.|[^"\\\n])*"'
# A number or a macro; or a text, which may be in parts that the compiler joins.
_ARGUMENT = rf"\s*(?:{_QUOTED}(?:\s*{_QUOTED})*|\w+)\s*"
_ENTRY = re.compile(
    rf"(?:\[\s*\w+\s*\]\s*=\s*)?(\w+)\s*\(({_ARGUMENT}(?:,{_ARGUMENT})*)\)\s*(?:,\s*|(?=\}}))"
)
_ENTRY_EXPECTED = (
    'MPS_BOOL("name", default, "meaning") or MPS_UINT("name", minimum, maximum, default, "unit", '
    f'"meaning") is expected, with numbers up to {_U32_MAX}, and commas between the parameters'
)


def parameters_in(text: str) -> tuple[Parameter, ...]:
    """The parameters in a file's table, () if it has none. Raises ValueError with the line."""
    code = _without_comments(text)
    table = _TABLE.search(code)
    if not table:
        return ()
    macros = {"U32_MAX": str(_U32_MAX), **dict(_DEFINE.findall(code))}
    found: dict[str, Parameter] = {}
    rest = code[table.end() :].lstrip()
    while not rest.startswith("}"):
        try:
            entry = _ENTRY.match(rest)
            if not entry:
                raise ValueError(_ENTRY_EXPECTED)
            parameter = _parameter(entry[1], re.findall(_ARGUMENT, entry[2]), macros)
            if parameter.name in found:
                raise ValueError(f"two parameters are called {parameter.name}")
        except ValueError as error:
            line = code.count("\n", 0, len(code) - len(rest)) + 1
            raise ValueError(f"line {line}: in the table of parameters: {error}") from None
        found[parameter.name] = parameter
        rest = rest[entry.end() :]
    return tuple(found.values())


def _parameter(kind: str, arguments: Sequence[str], macros: Mapping[str, str]) -> Parameter:
    match kind, [_argument(each.strip(), macros) for each in arguments]:
        case "MPS_BOOL", [str(name), int(default), str(meaning)]:
            parameter = Parameter(name, "bool", 0, 1, default, "", meaning)
        case "MPS_UINT", [str(name), int(low), int(high), int(default), str(unit), str(meaning)]:
            parameter = Parameter(name, "uint", low, high, default, unit, meaning)
        case _:
            raise ValueError(_ENTRY_EXPECTED)
    if name in _COMMON:
        raise ValueError(f"{name} is a parameter that all schedulers have")
    if not _PARAMETER_NAME.fullmatch(name):
        raise ValueError(f"{shown(name)} is no name; {_PARAMETER_NAME_ACCEPTED}")
    if not parameter.minimum <= default <= parameter.maximum:
        raise ValueError(f"the default of {name} is out of its own range")
    return parameter


def _argument(text: str, macros: Mapping[str, str]) -> str | int | None:
    """A text, or a number; None if it is no number that C would take."""
    if text.startswith('"'):
        return "".join(re.sub(r"\\(.)", r"\1", part[1:-1]) for part in re.findall(_QUOTED, text))
    number = _NUMBER.fullmatch(macros.get(text, text))
    value = int(number[1], 0) if number else _U32_MAX + 1
    return value if value <= _U32_MAX else None
