# SPDX-License-Identifier: GPL-2.0-only
"""The expansion of each line of C by the preprocessor, and the known differences between two.

Two configurations of a kernel make different code of the same source. Most of that is of no
interest here: locks of several CPUs, tracing, other address families. What is known to be so is in
a list (`Known`), and what that list names is not looked into:

- macros and functions that are *kept*: they are renamed before the preprocessor sees them, so that
  their arguments are still compared, and what they are made of is not;
- *constants*: kept, too, as long as both configurations give them the same value;
- *conditions*: lines of an `#if` that names one of them may be missing on one side;
- *headers* that one side alone includes;
- *lines* that are accepted one by one.

Everything in this module is pure: text in, text out.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from mptcplab.errors import MptcplabError

#: What is appended to a name that the preprocessor must leave alone.
KEPT = "__kept"

#: A line of a source: the file, from the root of the kernel's source, and its number.
Place = tuple[str, int]

_MARKER = re.compile(r'# (\d+) "((?:[^"\\]|\\.)*)"')
_DIRECTIVE = re.compile(r"\s*#\s*(\w+)(.*)", re.DOTALL)
_DEFINED = re.compile(r"\s*#\s*define\s+\w+(?:\([^)]*\))?")
_NAME = re.compile(r"\b[A-Za-z_]\w*\b")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\w+|[^\w\s]')

# Differences from one run of the preprocessor to the next: numbers that it, or a counter, assigns.
_COUNTED = re.compile(r"(__UNIQUE_ID_\w*?|__compiletime_assert_|__here_|_____tmp_?)\d+\b")


# --- the list of known differences


@dataclass(frozen=True)
class Rule:
    """Differences that are known, and why they do not matter.

    `names` are macros, functions or options of the configuration, or headers, with `*` for any
    letters; of a rule on lines, `text` is a regular expression that the line of the source matches,
    in a file that `names` has.
    """

    kind: str
    names: tuple[str, ...]
    reason: str
    text: str = ""

    def __str__(self) -> str:
        return f"[[{self.kind}]] {self.text or ', '.join(self.names)}"


@dataclass(frozen=True)
class Known:
    """All rules, and the files that are compared: sources, and patterns of headers in them."""

    sources: tuple[str, ...]
    headers: tuple[str, ...]
    rules: tuple[Rule, ...]

    def of(self, kind: str) -> Iterator[Rule]:
        return (rule for rule in self.rules if rule.kind == kind)

    def needless(self, used: Container[Rule]) -> list[Rule]:
        """The rules for known differences that no difference needed."""
        kinds = ("condition", "header", "line")
        return [rule for rule in self.rules if rule.kind in kinds and rule not in used]

    def is_compared(self, file: str) -> bool:
        """Whether this file is compared."""
        return file in self.sources or any(fnmatchcase(file, each) for each in self.headers)


_KINDS = {
    "kept": "names",
    "constant": "names",
    "condition": "names",
    "header": "files",
    "line": "files",
}


def _spelled_out(pattern: str) -> Iterator[str]:
    """`a{b,c}d` as `abd` and `acd`, as a shell does."""
    found = re.fullmatch(r"(.*?)\{([^}]*)\}(.*)", pattern)
    if found is None:
        yield pattern
        return
    for each in found[2].split(","):
        yield from _spelled_out(found[1] + each + found[3])


def read_known(text: str, name: str) -> Known:
    """Reads the list. Raises MptcplabError, one line, if it does not have that form."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise MptcplabError(f"{name}: {error}") from error
    rules = []
    for kind, tables in content.items():
        if kind in ("sources", "headers"):
            continue
        if kind not in _KINDS or not isinstance(tables, list):
            accepted = ", ".join(f"[[{each}]]" for each in _KINDS)
            raise MptcplabError(f"{name}: {kind}: accepted are sources, headers, {accepted}")
        for number, table in enumerate(tables, 1):
            wanted = {_KINDS[kind], "reason"} | ({"text"} if kind == "line" else set())
            if set(table) != wanted:
                keys = ", ".join(sorted(wanted))
                raise MptcplabError(f"{name}: [[{kind}]] number {number} must have {keys}")
            names = tuple(name for each in table[_KINDS[kind]] for name in _spelled_out(each))
            rules.append(Rule(kind, names, table["reason"], table.get("text", "")))
    sources, headers = (
        tuple(name for each in content.get(key, ()) for name in _spelled_out(each))
        for key in ("sources", "headers")
    )
    return Known(sources, headers, tuple(rules))


def _any_of(names: Iterable[str]) -> re.Pattern[str]:
    """Matches each of the names as a word, and nothing if there are none."""
    words = "|".join(sorted({name.replace("*", r"\w*") for name in names}, reverse=True))
    return re.compile(rf"\b({words})\b" if words else "(?!)")


# --- before the preprocessor: names that it must leave alone


class Keeper:
    """Renames, in the text of a source, the names to keep.

    In directives only the bodies of macros are changed: definitions and conditions stay.
    """

    def __init__(self, known: Known, constants: Iterable[str] = ()) -> None:
        """`constants` are those with the same value on both sides."""
        # options are used in conditions, but also in IS_ENABLED()
        rules = (*known.of("kept"), *known.of("condition"))
        self._pattern = _any_of([*(name for rule in rules for name in rule.names), *constants])
        self._renamed: dict[str, str] = {}

    def _rename(self, name: re.Match[str]) -> str:
        """The name to write instead; cached."""
        word = name[0]
        made = self._renamed.get(word)
        if made is None:
            made = word + KEPT if self._pattern.fullmatch(word) else word
            self._renamed[word] = made
        return made

    def rename(self, text: str) -> str:
        """The same text, line by line, with the kept names renamed."""
        made, directive = [], ""
        for line in text.split("\n"):
            if not directive:
                found = _DIRECTIVE.match(line)
                directive = found[1] if found else "none"
                begin = _DEFINED.match(line) if directive == "define" else None
                start = begin.end() if begin else 0
            else:
                start = 0
            if directive in ("none", "define"):
                line = line[:start] + _NAME.sub(self._rename, line[start:])
            made.append(line)
            if directive == "none" or not line.endswith("\\"):
                directive = ""
        return "\n".join(made)


# --- after the preprocessor: the expansion of each line


def expansions(output: str, name_of: Mapping[str, str | None]) -> dict[Place, str]:
    """What `gcc -E` made of each line of the files that `name_of` gives a name, by their place.

    `name_of` maps what the linemarkers call a file to its name from the root of the source, or to
    None for files of no interest. Lines with an empty expansion are not in the result.
    """
    found: dict[Place, list[str]] = {}
    name: str | None = None
    number = 0
    for line in output.split("\n"):
        if line.startswith("# "):
            marker = _MARKER.match(line)
            if marker:
                number, name = int(marker[1]), name_of[marker[2]]
                continue
        if name is not None and line and not line.isspace():
            found.setdefault((name, number), []).append(line)
        number += 1
    return {place: normal(" ".join(lines)) for place, lines in found.items()}


def normal(text: str) -> str:
    """An expansion without spaces and counted numbers, which mean nothing."""
    return " ".join(_TOKEN.findall(_COUNTED.sub(r"\1", text)))


# --- the conditions of each line


def conditions(source: str) -> list[tuple[str, ...]]:
    """For each line of a source, from the first, the conditions of the `#if`s around it.

    For an `#elif` or `#else` these are all of its chain, since all of them decide.
    """
    made: list[tuple[str, ...]] = []
    stack: list[str] = []
    pending = ""
    for line in source.split("\n"):
        whole = pending + line
        pending = ""
        if line.endswith("\\") and _DIRECTIVE.match(whole):
            pending = whole[:-1] + " "
        else:
            _enter(stack, whole)
        made.append(tuple(stack))
    return made


def _enter(stack: list[str], line: str) -> None:
    """Follows a directive that begins, continues or ends a condition."""
    found = _DIRECTIVE.match(line)
    if found is None:
        return
    match found[1]:
        case "if" | "ifdef" | "ifndef":
            stack.append(found[2])
        case "elif":
            stack[-1] += f" {found[2]}"
        case "endif":
            stack.pop()


# --- the differences


@dataclass(frozen=True)
class Difference:
    """A line whose expansions differ; None for a side on which it is empty."""

    place: Place
    source: str
    debian: str | None
    lab: str | None

    def __str__(self) -> str:
        file, number = self.place
        where = f"{file}:{number}: {self.source.strip()}" if number else f"{file}: the whole header"
        debian, lab = _around_difference(self.debian, self.lab)
        return f"{where}\n    Debian: {debian}\n    lab:    {lab}"


_CONTEXT_TOKENS = 12


def _around_difference(debian: str | None, lab: str | None) -> tuple[str, str]:
    """Both expansions, cut to the difference with some context."""
    if debian is None or lab is None:
        return _cut(debian), _cut(lab)
    one, other = debian.split(" "), lab.split(" ")
    same = _alike(one, other)
    tail = _alike(one[same:][::-1], other[same:][::-1])
    begin, end = max(0, same - _CONTEXT_TOKENS), max(0, tail - _CONTEXT_TOKENS)
    parts = []
    for tokens in (one, other):
        kept = " ".join(tokens[begin : len(tokens) - end])
        parts.append(("… " if begin else "") + kept + (" …" if end else ""))
    return parts[0], parts[1]


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many tokens at the beginning are the same."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((number for number, (a, b) in pairs if a != b), min(len(one), len(other)))


def _cut(text: str | None) -> str:
    if text is None:
        return "(nothing)"
    tokens = text.split(" ")
    return " ".join(tokens[: 4 * _CONTEXT_TOKENS]) + (
        " …" if len(tokens) > 4 * _CONTEXT_TOKENS else ""
    )


@dataclass
class Judge:
    """Decides which differences are known.

    `sources` has the text of each compared file by its name; `differing` are the options of the
    configurations with different values. `used` are the rules that were needed.
    """

    known: Known
    sources: Mapping[str, str]
    differing: frozenset[str]
    used: set[Rule] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._lines = {file: text.split("\n") for file, text in self.sources.items()}
        self._conditions = {file: conditions(text) for file, text in self.sources.items()}
        self._condition_rules = [(_any_of(rule.names), rule) for rule in self.known.of("condition")]

    def unknown(
        self, debian: Mapping[Place, str], lab: Mapping[Place, str]
    ) -> Iterator[Difference]:
        """The differences that no rule knows, by file and line."""
        files = {file for file, _ in debian} ^ {file for file, _ in lab}
        for file in sorted(files):
            if not self._is_known_header(file):
                only_debian = any(each == file for each, _ in debian)
                has = ("(included)", None) if only_debian else (None, "(included)")
                yield Difference((file, 0), "", *has)
        for place in sorted(debian.keys() | lab.keys()):
            one, other = debian.get(place), lab.get(place)
            if one == other or place[0] in files:
                continue
            difference = Difference(place, self._line(place), one, other)
            if not self._is_known(difference):
                yield difference

    def _line(self, place: Place) -> str:
        lines = self._lines[place[0]]
        return lines[place[1] - 1] if place[1] <= len(lines) else ""

    def _is_known_header(self, file: str) -> bool:
        return self._use(rule for rule in self.known.of("header") if _names(rule, file))

    def _is_known(self, difference: Difference) -> bool:
        one_sided = difference.debian is None or difference.lab is None
        if one_sided and self._is_conditional(difference.place):
            return True
        return self._use(
            rule
            for rule in self.known.of("line")
            if _names(rule, difference.place[0]) and re.search(rule.text, difference.source)
        )

    def _is_conditional(self, place: Place) -> bool:
        """Whether one of the conditions around a line differs for known reasons alone."""
        for condition in self._conditions[place[0]][place[1] - 1]:
            options = self.differing.intersection(_NAME.findall(condition))
            rules = [rule for pattern, rule in self._condition_rules if pattern.search(condition)]
            patterns = [pattern for pattern, _ in self._condition_rules]
            covered = {each for each in options if any(p.fullmatch(each) for p in patterns)}
            if options == covered and self._use(rules):
                return True
        return False

    def _use(self, rules: Iterable[Rule]) -> bool:
        found = list(rules)
        self.used.update(found)
        return bool(found)


def _names(rule: Rule, file: str) -> bool:
    return any(fnmatchcase(file, each) for each in rule.names)


# --- options


def options(config: str) -> dict[str, str]:
    """The options that are set in a `.config` or `auto.conf`, with their values."""
    return dict(re.findall(r"^(CONFIG_\w+)=(.*)$", config, re.MULTILINE))


def differing(debian: str, lab: str) -> frozenset[str]:
    """The options with different values in two configurations."""
    one, other = options(debian), options(lab)
    return frozenset(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def without(header: str, names: Sequence[str]) -> str:
    """An `autoconf.h` in which these options are not set, nor as modules."""
    gone = "|".join(re.escape(name) for name in names)
    return re.sub(rf"^#define ({gone})(_MODULE)? .*$\n?", "", header, flags=re.MULTILINE)
