# SPDX-License-Identifier: GPL-2.0-only
"""The commands of README.md, CONTRIBUTING.md and docs/ are taken as they stand there.

Each is carried out up to where a kernel would be started: files, names, options, formulas and
queries are read and checked, so that none can be renamed without the pages. `make docs-commands`
runs them to their ends (tests/docs).
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
import polars as pl
import pytest

from mptcplab import __version__
from mptcplab.cli import cli
from mptcplab.errors import MptcplabError
from mptcplab.lab import doctor, guest, kernel, kernel_names
from mptcplab.lab.kernel import KernelBuild
from mptcplab.papers import catalogue
from mptcplab.runs import archive, experiment, index
from tests import docs_commands
from tests.cli.calls import mptcplab
from tests.docs_commands import PAGES, ROOT, SYSTEM, Block
from tests.unit import stored
from tests.unit.synthetic import Flow

#: Commands of which only the options are read, by what they begin with, and why.
ONLY_READ = {
    "bisect": "the repository of Linux is the reader's",
    "analyze": "the captures are those of a run",
    "figure": "as of explain",
    "fit": "the captures are those of a run",
    "explain": "the runs are not there; those that are named were made before, see `Reader`",
    "kernel build": "ARCHIVE is the reader's",
    "kernel compare": "the kernels are those of the reader",
    "kernel remove": "as of kernel build",
    "papers publish": "it would take the pages of docs/results anew; `make papers-check` does",
    "papers show": "the runs are not there",
    "report": "as of explain",
    "results fetch": "as of explain",
    "selftests": "it would build kernels",
    "show": "as of explain",
}
#: Commands that make runs.
RUNNING = (
    "advise",
    "compare",
    "exec",
    "leaderboard",
    "papers run",
    "run",
    "shell",
    "sweep",
    "tune",
)
#: Places with runs that a page speaks of without making them.
ASSUMED = {"docs/cluster.md": {"OUT/runs/KEY"}, "docs/report.md": {"before", "after"}}
#: Programs of other packages than Debian's that a page runs.
OTHERS = {"docs/exec.md": ("tquic_client", "tquic_server")}
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


class ReachedError(Exception):
    """Everything that was asked for is understood; now it would be run."""


class Reader:
    """Follows the commands of a page, one after the other."""

    def __init__(self, page: str, kernel: KernelBuild, monkeypatch: pytest.MonkeyPatch) -> None:
        self.page = page
        self.kernel = kernel
        self.monkeypatch = monkeypatch
        self.made = {Path(each) for each in ASSUMED.get(page, ())}
        for program in OTHERS.get(page, ()):
            Path(program).touch(mode=0o755)
            monkeypatch.setenv("PATH", str(Path.cwd()), prepend=os.pathsep)

    def follow(self, call: Sequence[str]) -> None:
        """Whether a call of a program would be one that works."""
        program, *arguments = call
        if program in SYSTEM:
            self._system(program, arguments)
        else:
            getattr(self, f"_{program.rstrip('3')}")(arguments)

    def _system(self, program: str, arguments: Sequence[str]) -> None:
        if program == "cc":
            assert all(Path(x).is_file() for x in arguments if x.endswith(".c")), arguments
            made = Path(arguments[arguments.index("-o") + 1])
            made.touch(mode=0o755)

    def _mptcplab(self, arguments: list[str]) -> None:
        command, words = resolved(arguments)
        rest = arguments[len(words) :]
        name = " ".join(words)
        try:
            options = command.make_context(words[-1], [*rest]).params
        except click.exceptions.Exit:  # --list, whose reading is all there is to do
            return
        if name in ONLY_READ:
            self._read(name, options)
        elif "cluster" in options and options["cluster"] is None and is_sweep(name, options):
            with self.monkeypatch.context() as patched:
                # the sources of further series need not be on this machine
                patched.setattr(experiment, "kernel_by_name", lambda *_, **__: self.kernel)
                cli.main([*arguments, "--dry-run"], standalone_mode=False)
        else:
            with self.monkeypatch.context() as patched:
                for builds in ("built", "kernels", "kernel_by_name"):
                    patched.setattr(experiment, builds, reach)
                # makes the directory
                patched.setattr(archive, "require", lambda _url: None)
                # names of the user's own, whose sources may be gone
                patched.setattr(kernel_names, "_file", lambda: Path("names.json"))
                reached = reaches(lambda: cli.main(arguments, standalone_mode=False))
            planned = options.get("only_plan") or options.get("dry_run")
            assert reached or planned or name not in RUNNING
        if options.get("out") and words[0] != "results":
            self.made.add(options["out"])

    def _read(self, name: str, options: dict[str, Any]) -> None:
        if name == "papers show":
            assert catalogue.chosen(options["names"])
        if name in ("show", "explain", "report"):
            for place in options["places"]:
                known = {*place.parents, place} & {*self.made}
                known |= {made for made in self.made if made.match(str(place))}
                assert known, f"{place}: nothing was put there, only into {self.made}"

    def _make(self, arguments: Sequence[str]) -> None:
        for argument in arguments:
            name, equals, _ = argument.partition("=")
            if equals:
                assert re.search(rf"\$\({name}\)", MAKEFILE), f"{name}: not used by make"
            else:
                assert re.search(rf"^{name}:.*## ", MAKEFILE, re.MULTILINE), f"no target {name}"
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
        done = subprocess.run(
            ["make", "--dry-run", *arguments],
            cwd=ROOT,
            env=kept,
            capture_output=True,
            text=True,
            check=True,
        )
        for line in done.stdout.replace("\\\n", " ").splitlines():
            if called := re.search(r"python (-m checks\..*)", line):
                self._python(shlex.split(called[1]))

    def _python(self, arguments: list[str]) -> None:
        if arguments[:2] == ["-m", "venv"]:
            return
        if arguments[:2] == ["-m", "pytest"]:
            self._pytest(arguments[2:])
        elif arguments[0] == "-m":
            self._check(arguments[1], arguments[2:])
        else:
            assert (ROOT / "examples" / arguments[0]).is_file(), arguments[0]
            self.follow(arguments[1:])

    def _pytest(self, arguments: Sequence[str]) -> None:
        (file,) = (Path(x) for x in arguments if x.endswith(".py"))
        if "-k" in arguments:
            wanted = arguments[arguments.index("-k") + 1]
            assert re.search(rf"^def test_\w*{wanted}", file.read_text(), re.MULTILINE), wanted
        else:
            assert file.is_file(), file

    def _check(self, module: str, arguments: list[str]) -> None:
        """A check reads all its options before it builds, asks or calls anything."""
        is_package = module.endswith((".oracle", ".stock", ".vm"))
        check = importlib.import_module(f"{module}.__main__" if is_package else module)
        with self.monkeypatch.context() as patched:
            for of, name in (
                *((kernel, "build"), (guest, "build"), (doctor, "require")),
                *((subprocess, "run"), (experiment, "built")),
            ):
                patched.setattr(of, name, reach)
            if hasattr(check, "machine"):
                patched.setattr(check.machine, "require", reach)
            if any("*" in argument for argument in arguments):  # files that runs made
                read = argparse.ArgumentParser.parse_args
                patched.setattr(argparse.ArgumentParser, "parse_args", lambda *x: reach(read(*x)))
            # one reads pages, and calls nothing
            assert reaches(lambda: check.main(arguments)) or module == "checks.prose"

    def _pip(self, arguments: Sequence[str]) -> None:
        assert arguments[0] == "install"
        for argument in arguments[1:]:
            if argument.endswith(".lock"):
                assert (ROOT / argument).is_file(), argument
            elif found := re.fullmatch(r"dist/([^\[]+)(?:\[(.+)\])?", argument):
                assert found[1] == f"mptcplab-{__version__}-py3-none-linux_x86_64.whl"
                project = (ROOT / "pyproject.toml").read_text()
                for extra in (found[2] or "").split(","):
                    assert not extra or re.search(rf"^{extra} = \[", project, re.MULTILINE)
            else:
                assert argument in ("-r", "-e", ".", "--require-hashes", "--no-deps"), argument

    def _podman(self, arguments: list[str]) -> None:
        assert (ROOT / "Containerfile").is_file()
        if arguments[0] == "run":
            self._mptcplab(arguments[arguments.index("mptcplab") + 1 :])

    def _dask(self, arguments: list[str]) -> None:
        module = importlib.import_module(f"distributed.cli.dask_{arguments[0]}")
        module.main.make_context(arguments[0], arguments[1:])


def reach(*_: object, **__: object) -> None:
    raise ReachedError


def reaches(function: Callable[[], object]) -> bool:
    """Whether it would run something; if not, it has to end well."""
    try:
        status = function()
    except ReachedError:
        return True
    except (SystemExit, click.exceptions.Exit) as ended:
        status = ended.code if isinstance(ended, SystemExit) else ended.exit_code
    assert not status, f"exit status {status}"
    return False


def resolved(arguments: Sequence[str]) -> tuple[click.Command, list[str]]:
    """The command that arguments call, and the words of its name."""
    command: click.Command = cli
    words: list[str] = []
    context = click.Context(cli)
    while isinstance(command, click.Group):
        name = arguments[len(words)]
        _, found, _ = command.resolve_command(context, [name])
        assert found, f"{' '.join(arguments)}: there is no {name}"
        command = found
        words.append(name)
    return command, words


def is_sweep(name: str, options: dict[str, Any]) -> bool:
    return name == "sweep" or bool(options.get("axes"))


def keep_runs(out: Path) -> None:
    """Some runs, at two points of a sweep."""
    for seed in (1, 2):
        stored.keep(out, stored.scenario(seed=seed), Flow(4000), Flow(1000))
    keys = [each.name for each in (out / "runs").iterdir()]
    points = pl.DataFrame({"key": keys, "rate": [20, 50], "delay": [10, 40]})
    index.write_table(points, out / index.POINTS)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_is_taken(
    page: Path, lab_kernel: KernelBuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = str(page.relative_to(ROOT))
    docs_commands.make_files(name, tmp_path)
    keep_runs(tmp_path / "mptcplab-out")
    monkeypatch.chdir(tmp_path)
    reader = Reader(name, lab_kernel, monkeypatch)
    for block in docs_commands.blocks(page):
        for call in docs_commands.calls(block.script, tmp_path) if block.script else ():
            try:
                reader.follow(call)
            except Exception as error:
                raise AssertionError(f"{block.place}: {shlex.join(call)}: {error}") from error


@pytest.mark.parametrize(
    "script",
    [
        "curl http://server",
        "make nothing",
        "make oracle ORACLE_ARGS='--only nobody'",
        "make oracle ORACLES=1",
        "mptcplab compare --path wifi --scheduler minrt",
        "mptcplab compare --path wifi --sweep path.lte.rate=1mbit",
        "mptcplab results query 'SELECT gooput FROM runs'",
        "mptcplab papers run cech2020/fig1000",
        "mptcplab run --path a:1mbit,1ms --bogus",
        "mptcplab run --path a:1mbit,1ms --expect 'gooput > 1mbit'",
        "mptcplab run nothing.toml",
        "mptcplab show elsewhere",
        "pip install dist/mptcplab-0.0.0-py3-none-linux_x86_64.whl",
        "mptcplab selftests --bogus",
        "python -m pytest tests/scenario/test_sttf.py -k no_such",
    ],
)
def test_what_does_not_work_is_found(
    script: str, lab_kernel: KernelBuild, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs_commands.make_files("page", tmp_path)
    keep_runs(tmp_path / "mptcplab-out")
    monkeypatch.chdir(tmp_path)
    reader = Reader("page", lab_kernel, monkeypatch)

    def follow() -> None:
        for call in docs_commands.calls(script, tmp_path):
            reader.follow(call)

    with pytest.raises((AssertionError, click.ClickException, MptcplabError, SystemExit)):
        follow()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_command_in_the_text_has_these_words_and_options(page: Path) -> None:
    """It may be a part of one, such as `mptcplab report`, or have `...` in it."""
    for text in dict.fromkeys(docs_commands.inline(page)):
        program, *arguments = shlex.split(re.sub(r"[\[\]]", "", text))
        if program == "make":
            for argument in arguments:
                name, equals, _ = argument.partition("=")
                form = rf"\$\({name}\)" if equals else rf"^{name}:"
                assert re.search(form, MAKEFILE, re.MULTILINE), text
            continue
        own = arguments[: arguments.index("--")] if "--" in arguments else arguments
        if own in (["--help"], ["--version"]):
            continue
        command, words = resolved(own)
        known = {option for each in command.params for option in each.opts + each.secondary_opts}
        options = {each.partition("=")[0] for each in own if re.match(r"--?[a-z]", each)}
        assert options <= known | {"--help"}, text
        if words == ["papers", "run"] and re.fullmatch(r"[a-z]+\d{4}/.*", own[2]):
            published = catalogue.load(own[2]).experiment
            given = [own[at + 1] for at, each in enumerate(own) if each == "--variant"]
            assert {*given} <= {*published.variants()}, text


#: What a snippet in Python takes long for, and what it does instead, here.
SHORTER = {
    'duration="5s"': 'duration="1s"',
    'scheduler=["default", "blest"], repeat=5)': (
        'scheduler=["default", "blest"], repeat=1, duration="1s"), jobs=1'
    ),
    'run_sweep("sweep.toml"': 'run_sweep("sweep.toml", jobs=1',
}


@pytest.fixture(scope="module")
def one_run(lab_kernel: KernelBuild, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output directory of a run, with all that a run can leave."""
    assert lab_kernel
    out = tmp_path_factory.mktemp("one") / "mptcplab-out"
    run = (
        "run --path a:10mbit,10ms --path b:10mbit,20ms --scheduler minrtt --duration 1s --decisions"
    )
    for command in (f"{run} --out", "show --data"):
        mptcplab(*command.split(), str(out))
    return out


def snippets() -> list[Block]:
    # few pages have any, and to parse all takes seconds, in each worker of pytest
    pages = (page for page in PAGES if "```python" in page.read_text(encoding="utf-8"))
    return [x for page in pages for x in docs_commands.blocks(page) if x.language == "python"]


@pytest.mark.parametrize("block", snippets(), ids=lambda block: block.place)
def test_a_snippet_in_python_runs(
    block: Block, one_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs_commands.make_files(block.page, tmp_path)
    shutil.copytree(one_run, tmp_path / "mptcplab-out")
    (run,) = (tmp_path / "mptcplab-out" / "runs").iterdir()
    for file in run.iterdir():  # a page on the files of a run speaks of them alone
        (tmp_path / file.name).symlink_to(file)
    index.read(tmp_path / "mptcplab-out")  # the table, as any query makes it
    monkeypatch.chdir(tmp_path)
    text = block.text
    for long, short in SHORTER.items():
        assert block.page != "docs/python.md" or text.count(long) == 1, long
        text = text.replace(long, short)
    exec(compile(text, block.place, "exec"), {"__name__": "snippet"})


def test_all_snippets_were_found() -> None:
    # agent.md, gym.md, python.md, radio.md, records.md, results-store.md, show.md, traces.md
    assert len({block.page for block in snippets()}) == 8
    assert len({*docs_commands.inline(ROOT / "CONTRIBUTING.md")}) > 25
