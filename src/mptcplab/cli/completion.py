# SPDX-License-Identifier: GPL-2.0-only
"""The suggestions of a shell for the values of options and arguments.

Shells ask at every press of a key: each function imports what it needs when it is called, and
suggests nothing where it would have to run or read anything of the user's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from mptcplab.scenario.scheduler import Parameter

Items = list["CompletionItem[str]"]
Suggest = Callable[[click.Context, click.Parameter, str], Items]

#: The type of a suggestion after which the word goes on; shells put no space after it.
PART = "part"
# Keys of paths that are often given; docs/scenario.md lists all.
_PATH_KEYS = ("queue=", "loss=", "jitter=", "rate=", "delay=", "up.", "down.", "link=", "trace=")
_SWEPT = ("scheduler=", "cc=", "kernel=", "transport=", "workload.")
_SWEPT_OF_PATH = ("rate=", "delay=", "loss=", "queue=", "jitter=")
_LAST_NAME = re.compile(r"[\w.]*\Z")


def schedulers(_context: click.Context, _option: click.Parameter, incomplete: str) -> Items:
    """Schedulers, after a colon their parameters, and after an equals sign values."""
    from mptcplab.scenario import scheduler

    before, last = _last_of(incomplete, ",")
    if last[:1] in ("/", "."):
        return [_item(last, kind="file")] if not before else []
    known = scheduler.known()
    found = {
        name: (each.summary, (*each.parameters, *each.common_parameters))
        for name, each in known.items()
    }
    return _choices(before, last, {**found, scheduler.ALL: ("all of these", ())})


def one_scheduler(_context: click.Context, _argument: click.Parameter, incomplete: str) -> Items:
    """The names of schedulers."""
    from mptcplab.scenario import scheduler

    return _among("", incomplete, {name: e.summary for name, e in scheduler.known().items()})


def congestion_controls(
    _context: click.Context, _option: click.Parameter, incomplete: str
) -> Items:
    """Congestion controls, their parameters and values."""
    from mptcplab.scenario import congestion

    before, last = _last_of(incomplete, ",")
    found = {name: (each.summary, each.parameters) for name, each in congestion.known().items()}
    return _choices(before, last, found)


def paths(_context: click.Context, _option: click.Parameter, incomplete: str) -> Items:
    """Presets of paths, and the keys of a path."""
    from mptcplab.scenario import presets

    name, colon, rest = incomplete.partition(":")
    if not colon:
        return _among("", name, {each.name: each.summary for each in presets.PRESETS.values()})
    before, last = _last_of(rest, ",")
    return _among(f"{name}:{before}", last, _PATH_KEYS)


def events(context: click.Context, _option: click.Parameter, incomplete: str) -> Items:
    """Of an event, the paths given before it, then what happens to them."""
    from mptcplab.scenario.limits import ACTIONS

    before, last = _last_of(incomplete, ":")
    if before.count(":") == 1:
        return _among(before, last, [f"{name}:" for name in _paths_of(context)])
    if before.count(":") < 2:
        return []
    keys, last = _last_of(last, ",")
    return _among(before + keys, last, ("lasts=", "every=", "random=") if keys else ACTIONS)


def workloads(_context: click.Context, _option: click.Parameter, incomplete: str) -> Items:
    """Kinds of workloads, and the keys of one."""
    from mptcplab.scenario.limits import WORKLOAD_KEYS, WORKLOADS

    kind, colon, rest = incomplete.partition(":")
    if not colon:
        return _among("", kind, WORKLOADS)
    before, last = _last_of(rest, ",")
    keys = [f"{key}=" for key in ("direction", "duration", *WORKLOAD_KEYS.get(kind, ()))]
    return _among(f"{kind}:{before}", last, list(dict.fromkeys(keys)))


def axes(context: click.Context, _option: click.Parameter, incomplete: str) -> Items:
    """Keys that a sweep can vary."""
    if "=" in incomplete:
        return []
    own = [f"path.{name}.{key}" for name in ("*", *_paths_of(context)) for key in _SWEPT_OF_PATH]
    return _among("", incomplete, [*_SWEPT, *own])


def expectations(context: click.Context, _option: click.Parameter, incomplete: str) -> Items:
    """Figures by their short names, functions, and the schedulers given before."""
    from mptcplab.metrics.definitions import PathFigures, RunFigures
    from mptcplab.metrics.schema import metrics_of, short_name

    found = _LAST_NAME.search(incomplete)
    assert found
    before, word = incomplete[: found.start()], found[0]
    if word[:1].isdigit():
        return []
    table, last = _last_of(word, ".")
    of_path = table.startswith("paths.") or ".paths." in table
    if of_path and table.endswith("paths."):
        return _among(before + table, last, [f"{name}." for name in _paths_of(context)])
    metrics = metrics_of(PathFigures if of_path else RunFigures)
    names = {short_name(each.name, each.unit): _sentence(each.meaning) for each in metrics}
    full = {each.name: _sentence(each.meaning) for each in metrics}
    # with their units only where somebody asks for them
    near = [name for name in names if name.startswith(last)]
    words = names if near else full
    further = ["paths."] if not table else []
    if not table:
        functions = ("lowest(", "highest(", "median(", "quantile(")
        further += [*functions, *(f"{name}." for name in _schedulers_of(context))]
    return [*_among(before + table, last, words), *_among(before + table, last, further)]


def kernels(_context: click.Context, _option: click.Parameter, incomplete: str) -> Items:
    """The names of kernels, and the prefix of a distribution's package."""
    from mptcplab.lab import kernel_names, stock_package

    before, last = _last_of(incomplete, ",")
    found = {name: str(each.source) for name, each in kernel_names.known().items()}
    return _among(before, last, {**found, stock_package.PREFIX: "a distribution's package"})


def compared_kernels(context: click.Context, argument: click.Parameter, incomplete: str) -> Items:
    """The same, and the one that is used without a name."""
    from mptcplab.lab import choices

    return [*_among("", incomplete, [choices.CURRENT]), *kernels(context, argument, incomplete)]


def selftests(_context: click.Context, _option: click.Parameter, incomplete: str) -> Items:
    """The scripts of the kernel's selftests."""
    from mptcplab.selftests import scripts

    return _among("", incomplete, list(dict.fromkeys(each.name for each in scripts.SCRIPTS)))


def figures(_context: click.Context, _argument: click.Parameter, incomplete: str) -> Items:
    """Published experiments."""
    from mptcplab.papers import catalogue

    names = catalogue.names()
    papers = dict.fromkeys(name.partition("/")[0] for name in names)
    return _among("", incomplete, ["all", *papers, *names])


def cases(_context: click.Context, _argument: click.Parameter, incomplete: str) -> Items:
    """Cases of the casebook."""
    from mptcplab.casebook import reports

    return _among("", incomplete, ["all", *reports.names()])


def _among(before: str, last: str, words: Iterable[str] | Mapping[str, str]) -> Items:
    """The words that begin like the last one, with what stands before it."""
    helps = words if isinstance(words, Mapping) else {}
    return [_item(before + word, helps.get(word)) for word in words if word.startswith(last)]


def _item(value: str, text: str | None = None, kind: str = "") -> CompletionItem[str]:
    from click.shell_completion import CompletionItem

    goes_on = value[-1:] in (":", "=", ".", "(", ",")
    return CompletionItem(value, type=kind or (PART if goes_on else "plain"), help=text)


def _last_of(text: str, separator: str) -> tuple[str, str]:
    """What stands before the last word, with the separator, and that word."""
    head, found, last = text.rpartition(separator)
    return head + found, last


def _choices(before: str, text: str, known: Mapping[str, tuple[str, Sequence[Parameter]]]) -> Items:
    """NAME, or NAME:PARAM=VALUE."""
    head, last = _last_of(text, ":")
    if not head:
        return _among(before, last, {name: summary for name, (summary, _) in known.items()})
    name, *given = head.split(":")
    parameters = {each.name: each for each in known.get(name, ("", ()))[1]}
    key, equals, value = last.partition("=")
    if not equals:
        left = {
            p: e for p, e in parameters.items() if not any(g.startswith(f"{p}=") for g in given)
        }
        helps = {f"{p}=": f"{_sentence(e.meaning)} [{e.text(e.default)}]" for p, e in left.items()}
        return _among(before + head, last, helps)
    if key not in parameters:
        return []
    each = parameters[key]
    values = ("on", "off") if each.kind == "bool" else _few(each)
    return _among(f"{before}{head}{key}=", value, values)


def _few(parameter: Parameter) -> dict[str, str]:
    """The values of a number that say most about it."""
    unit = f" {parameter.unit}" if parameter.unit else ""
    named = {parameter.minimum: "lowest", parameter.maximum: "highest"}
    named[parameter.default] = "default"
    return {str(value): f"{what}{unit}" for value, what in sorted(named.items())}


def _sentence(text: str) -> str:
    return re.split(r"[.;](?:\s|$)| \(", text, maxsplit=1)[0]


def _paths_of(context: click.Context) -> list[str]:
    """The names of the paths that are given so far."""
    given: Sequence[Any] = context.params.get("path") or ()
    return list(dict.fromkeys(str(each).partition(":")[0] for each in given))


def _schedulers_of(context: click.Context) -> list[str]:
    given = str(context.params.get("scheduler") or "")
    names = [each.partition(":")[0] for each in given.split(",") if each]
    return list(dict.fromkeys(name for name in names if name.isidentifier())) or ["default"]


def _fixed(name: str) -> Suggest:
    """The choices of an option that are constants of `limits`."""

    def suggest(_context: click.Context, _option: click.Parameter, incomplete: str) -> Items:
        from mptcplab.scenario import limits

        return _among("", incomplete, getattr(limits, name))

    return suggest


#: What is suggested for options, by their names.
OF_OPTIONS: Mapping[str, Suggest] = {
    "--scheduler": schedulers,
    "--cc": congestion_controls,
    "--transport": _fixed("TRANSPORTS"),
    "--direction": _fixed("WORKLOAD_DIRECTIONS"),
    "--start": _fixed("STARTS"),
    "--kernel": kernels,
}
