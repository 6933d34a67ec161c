# SPDX-License-Identifier: GPL-2.0-only
"""Do the tests notice it if a line that decides what is true says something else?

`python -m tests.mutants [MODULE...]` takes the modules below, has mutmut make mutants of
each of their functions and constants, and runs the module's own tests on every one. A mutant that
no test notices has survived. Those of which nothing can be noticed, or which are not worth a test,
are excused, with the reason, in tests/mutants.toml. Status 1 if fewer than 90 % of a module's
mutants are killed, if one survived that is not excused, or if an excuse fits no survivor.

All is imported and collected once. Each mutant is a fork of that process in which a function has
another code; the tests that call the function are run until one fails: first those that the last
mutants of it failed, then the fastest. A fork that uses much more processor time or memory than the
tests need is killed, and so is the mutant.
"""

from __future__ import annotations
import __future__

import argparse
import contextlib
import gc
import importlib
import json
import os
import re
import resource
import signal
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from mmap import mmap
from pathlib import Path
from textwrap import indent
from types import CodeType, FrameType, FunctionType
from typing import Any

import hypothesis
import libcst
import pytest
from hypothesis import Phase
from mutmut.mutation.file_mutation import create_mutations, deep_replace

ROOT = Path(__file__).parents[1]
KNOWN = ROOT / "tests" / "mutants.toml"
#: What part of a module's mutants has to be killed.
ENOUGH = 0.9
# the table of the excuses that hold in all modules
_EVERY_MODULE = "*"

#: The modules, and of each the tests that are its own, in tests/unit.
MODULES = {
    "runs.store": ("store", "archive"),
    "scenario.model": ("model", "connections", "plan"),
    "metrics.records": ("records",),
    "metrics.sender_states": ("sender_states",),
    "plan.timeline": ("timeline",),
    "plan.qdiscs": ("qdiscs", "plan"),
    "plan.plan": ("plan", "program", "connections"),
    "plan.testbed": ("plan",),
    "metrics.inference": ("inference",),
    "papers.claims": ("claims",),
    "papers.samples": ("claims",),
    "advice.ranking": ("ranking",),
    "capture.dissect": ("dissect", "udp"),
    "capture.udp": ("udp",),
    "capture.streams": ("streams", "analyze"),
    "metrics.recorded": ("recorded", "metrics"),
    "metrics.compute": ("metrics",),
}

# More than the tests themselves need: of processor time, of wall-clock time, of memory.
_FURTHER_CPU_S = 2
_FURTHER_WALL_S = 300
_FURTHER_BYTES = 2 << 30

# mutmut leaves alone what is decorated. Here a decorator stays outside of what is changed.
_DECORATOR = re.compile(r"^ *@.*\n(?=(?: *@.*\n)* *def )", re.MULTILINE)
_CONSTANT = re.compile(r"(?:#.*\n\s*)*(_?[A-Z][A-Z0-9_]*)(?::[^=]*)? = ")


@dataclass(frozen=True)
class Mutant:
    """A change of one function or constant: the lines of it that differ, and what it is then."""

    module: str
    name: str
    was: str
    now: str
    code: CodeType = field(repr=False, compare=False)

    def apply(self, functions: Mapping[str, Sequence[FunctionType]], names: dict[str, Any]) -> None:
        """Make the change, in this process: in the function, whoever holds it, or the module."""
        if self.name.isupper():
            exec(self.code, names)
            return
        scratch = dict(names)
        exec(self.code, scratch)
        of_class, _, name = self.name.rpartition(".")
        changed = vars(scratch[of_class])[name] if of_class else scratch[name]
        for function in functions[self.name]:
            function.__code__ = changed.__code__
            function.__defaults__ = changed.__defaults__
            function.__kwdefaults__ = changed.__kwdefaults__


def mutants(name: str, file: Path) -> Iterator[Mutant]:
    """Those of a module's functions, methods and constants (in capitals) that can be compiled."""
    tree, mutations, *_ = create_mutations(str(file), _DECORATOR.sub("", file.read_text()))
    titles = dict(_places(tree))
    constants = {id(each): node for node in titles for each in _walk(node)}
    for mutation in mutations:
        node = mutation.contained_by_top_level_function
        node = node or constants.get(id(mutation.original_node))
        if node is None or node not in titles:
            continue
        changed = deep_replace(node, mutation.original_node, mutation.mutated_node)
        assert isinstance(changed, libcst.CSTNode), "it is still a function or a constant"
        was, now = (tree.code_for_node(each) for each in (node, changed))
        of_class, _, _ = titles[node].rpartition(".")
        source = f"class {of_class}:\n{indent(now, '    ')}" if of_class else now
        flags = __future__.annotations.compiler_flag
        with contextlib.suppress(SyntaxError):
            code = compile(source, str(file), "exec", flags, dont_inherit=True)
            yield Mutant(name, titles[node], *_difference(was, now), code)


def _places(tree: Any) -> Iterator[tuple[Any, str]]:
    """What is changed, one thing at a time, and its name."""
    for node in tree.body:
        if isinstance(node, libcst.FunctionDef):
            yield node, node.name.value
        elif isinstance(node, libcst.ClassDef):
            for part in node.body.body:
                if isinstance(part, libcst.FunctionDef):
                    yield part, f"{node.name.value}.{part.name.value}"
        # a table of fields is a page of docs, and was read when the module was imported
        elif "_fields(" not in (text := tree.code_for_node(node)) and (
            constant := _CONSTANT.match(text.lstrip())
        ):
            yield node, constant[1]


def _walk(node: Any) -> Iterator[Any]:
    yield node
    for child in node.children:
        yield from _walk(child)


def _difference(was: str, now: str) -> tuple[str, str]:
    """The lines that differ: a change is in one place."""
    lines = [[line.strip() for line in text.split("\n")] for text in (was, now)]
    for end in (0, -1):
        while all(lines) and lines[0][end] == lines[1][end]:
            for each in lines:
                del each[end]
    return " ".join(lines[0]), " ".join(lines[1])


class Tester:
    """A plugin of pytest that runs the collected tests on each mutant."""

    def __init__(self, modules: Sequence[str]) -> None:
        self.modules = modules
        self.survivors: dict[str, list[Mutant]] = {}
        self.counts: dict[str, int] = {}

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        gc.disable()  # a fork shall copy few pages
        for name in self.modules:
            wanted = {f"test_{stem}.py" for stem in MODULES[name]}
            items = [item for item in session.items if item.path.name in wanted]
            self._test(name, items)
        return True

    def _test(self, name: str, items: Sequence[pytest.Item]) -> None:
        module = importlib.import_module(f"mptcplab.{name}")
        file = str(module.__file__)
        functions: dict[str, list[FunctionType]] = {}
        for each in gc.get_objects():
            if isinstance(each, FunctionType) and each.__code__.co_filename == file:
                functions.setdefault(each.__code__.co_qualname, []).append(each)
        callers: dict[str, list[tuple[float, pytest.Item]]] = {each: [] for each in functions}
        everything = []
        for item in items:
            seconds, called = _called(item, file)
            everything.append((seconds, item))
            for function in called & functions.keys():
                callers[function].append((seconds, item))
        for tests in (everything, *callers.values()):
            tests.sort(key=lambda test: test[0])
        seconds = sum(seconds for seconds, _ in everything)
        if not _forked(lambda: all(_passes(item) for _, item in everything), seconds):
            pytest.exit(f"{name}: tests fail one after the other without any mutant", 1)
        tried = list(mutants(name, Path(file)))
        # which test is being run, of those of the mutant: a fork tells it
        failed = memoryview(mmap(-1, 4)).cast("I")
        unknown = {each.name for each in tried if not each.name.isupper()} - functions.keys()
        assert not unknown, f"{name}: {', '.join(unknown)}: cannot be changed"
        self.counts[name] = len(tried)
        survived = self.survivors[name] = []
        for number, mutant in enumerate(tried, 1):
            # of a constant it is not known who reads it
            tests = callers.get(mutant.name, everything)

            def attempt(mutant: Mutant = mutant, tests: Any = tests) -> bool:
                mutant.apply(functions, vars(module))
                return all(_passes(item) for failed[0], (_, item) in enumerate(tests))

            failed[0] = 0
            if _forked(attempt, sum(seconds for seconds, _ in tests)):
                survived.append(mutant)
            else:
                tests.insert(0, tests.pop(failed[0]))
            if sys.stderr.isatty() or number == len(tried):
                print(
                    f"\r{name}: {number} of {len(tried)}, {len(survived)} survived",
                    end="",
                    file=sys.stderr,
                )
        print(file=sys.stderr)


def _called(item: pytest.Item, file: str) -> tuple[float, set[str]]:
    """What processor time a test takes, in s, and which functions of a file it calls."""
    report = Path(tempfile.gettempdir()) / f"mptcplab-mutants-{os.getpid()}"

    def run() -> bool:
        called = set()

        def note(frame: FrameType, _event: str, _argument: Any) -> None:
            if frame.f_code.co_filename == file:
                called.add(frame.f_code.co_qualname.split(".<locals>")[0])

        sys.setprofile(note)
        passed = _passes(item)
        sys.setprofile(None)
        report.write_text(json.dumps([time.process_time(), [*called], [*sys.modules]]))
        return passed

    try:
        if not _forked(run, 60):
            pytest.exit(f"{item.nodeid} fails without any mutant", 1)
        seconds, called, imported = json.loads(report.read_text())
    finally:
        report.unlink(missing_ok=True)
    for name in imported:
        with contextlib.suppress(Exception):  # once here, not in every fork
            importlib.import_module(name)
    return seconds, set(called)


def _passes(item: pytest.Item) -> bool:
    failed = item.session.testsfailed
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
    return item.session.testsfailed == failed


def _forked(what: Callable[[], bool], cpu_s: float) -> bool:
    """Do it in a fork; False also if that dies, or needs much more than `cpu_s` or much memory."""
    child = os.fork()
    if not child:
        passed = False
        try:
            silent = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silent, 1)
            os.dup2(silent, 2)
            cpu = int(time.process_time() + 5 * cpu_s + _FURTHER_CPU_S)
            size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu))
            resource.setrlimit(resource.RLIMIT_AS, (size + _FURTHER_BYTES,) * 2)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(_FURTHER_WALL_S)
            passed = what()
        finally:
            os._exit(0 if passed else 1)
    return os.waitpid(child, 0)[1] == 0


def _judge(tester: Tester) -> Iterator[str]:
    """What is wrong, a line each."""
    known = tomllib.loads(KNOWN.read_text())
    of_all = known[_EVERY_MODULE]
    everyone = [each for found in tester.survivors.values() for each in found]
    print(f"{'module':22}{'mutants':>9}{'killed':>8}{'share':>8}{'not excused':>13}")
    for name, survivors in tester.survivors.items():
        excuses = known.get(name, [])
        used = [[each for each in survivors if _excuses(excuse, each)] for excuse in excuses]
        left = [each for each in survivors if not any(each in found for found in used)]
        left = [each for each in left if not any(_excuses(excuse, each) for excuse in of_all)]
        killed = tester.counts[name] - len(survivors)
        share = killed / tester.counts[name]
        print(f"{name:22}{tester.counts[name]:9}{killed:8}{share:8.1%}{len(left):13}")
        if share < ENOUGH:
            yield f"{name}: {share:.1%} are killed; {ENOUGH:.0%} are wanted"
        for each in left:
            yield f"{name}: survived: {each.name}\n  - {each.was}\n  + {each.now}"
        for excuse, found in zip(excuses, used, strict=True):
            if not found:
                yield f"{name}: excused, and none of them survived: {excuse}"
    for excuse in of_all if tester.survivors.keys() == MODULES.keys() else ():
        if not any(_excuses(excuse, each) for each in everyone):
            yield f"{_EVERY_MODULE}: excused, and none of them survived: {excuse}"


def _excuses(excuse: Mapping[str, Any], survivor: Mutant) -> bool:
    """`name` is that of the function, `was` and `now` are parts of the lines that differ.

    Of several in a list, any.
    """

    def fits(part: str) -> bool:
        wanted = excuse.get(part, "")
        texts = [wanted] if isinstance(wanted, str) else wanted
        return any(text in getattr(survivor, part) for text in texts)

    return excuse.get("name", survivor.name) == survivor.name and fits("was") and fits("now")


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the tests on mutants of what they test.")
    parser.add_argument("module", nargs="*", help=f"of {', '.join(MODULES)} (default: all)")
    modules = parser.parse_args().module or list(MODULES)
    for name in modules:
        if name not in MODULES:
            parser.error(f"{name}: is none of {', '.join(MODULES)}")
    hypothesis.settings.register_profile(
        "mutants", derandomize=True, database=None, phases=[Phase.explicit, Phase.generate]
    )
    hypothesis.settings.load_profile("mutants")
    tests = sorted({f"tests/unit/test_{stem}.py" for name in modules for stem in MODULES[name]})
    tester = Tester(modules)
    with tempfile.TemporaryDirectory() as directory:
        options = ["-q", "-s", "--tb=no", "--assert=plain", f"--basetemp={directory}/tests"]
        options += ["-p", "no:cacheprovider", f"--rootdir={ROOT}"]
        status = pytest.main([*options, *tests], plugins=[tester])
    if status:
        return int(status)
    wrong = list(_judge(tester))
    print(*wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
