# SPDX-License-Identifier: GPL-2.0-only
"""The lab kernel: Linux, built as an ordinary program."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from rich.console import Console
from rich.table import Table

from mptcplab.cli import completion, options
from mptcplab.lab import kernel, kernel_names, stock_package
from mptcplab.lab.kernel import KernelBuild
from mptcplab.lab.kernel_names import Named, Piece

# Of a list, also where its output is no terminal.
_WIDTH = 100

command = click.Group("kernel", help=__doc__)


@command.command("build")
@click.option(
    "--source",
    type=options.PLACE,
    help="Archive or directory of a Linux source; remembered for later builds unless it gets a "
    "name.  [Debian's package linux-source-6.12]",
)
@click.option(
    "--patch",
    "patches",
    type=options.FILE,
    multiple=True,
    help="Patch for the source, before ours; may be repeated. Also a scheduler for the out-of-tree "
    "MPTCP, mptcp_NAME.c, and its headers. Needs --name.",
)
@click.option(
    "--name",
    shell_complete=completion.kernels,
    help="Name for this kernel, for --kernel NAME of runs; a kernel that has it already is built.",
)
@click.option(
    "--engine-only",
    "variant",
    flag_value=kernel.ENGINE_ONLY,
    help="Without our schedulers and fixes of MPTCP, for a source that their patches do not fit.",
)
@click.option(
    "--variant",
    type=click.Choice(list(kernel.VARIANTS)),
    default="lab",
    show_default=True,
    help="With the arithmetic of kernels for virtual machines (cloud), with run-time checks "
    "(debug), for the kernel's own tests (selftest), without our schedulers (upstream), or as "
    "--engine-only (engine). Linux 4.19 with the out-of-tree MPTCP has one of its own.",
)
@click.pass_context
def kernel_build(
    context: click.Context,
    source: Path | None,
    patches: tuple[Path, ...],
    name: str | None,
    variant: str,
) -> None:
    """Build the kernel into the cache.

    Later builds compile only what has changed. If it came with mptcplab there is nothing to build,
    unless you choose a source.

    \b
    mptcplab kernel build
    mptcplab kernel build --source linux-6.12.30 --name mine
    mptcplab kernel build --source linux-6.15.tar.xz --name newer --engine-only
    mptcplab kernel build --source mptcp-v0.95.tar --name v0.95
    mptcplab kernel build --source v0.95.tar --patch mptcp_otias.c --name otias
    """
    started = time.monotonic()
    if name is None:
        if patches:
            raise click.UsageError("--patch needs --name: later commands would use it, too")
        known = kernel.current(variant)
        built = kernel.build(source, variant=variant)
    else:
        given = context.get_parameter_source("variant") is ParameterSource.COMMANDLINE
        named = _named(name, source, patches, variant if given else None)
        known = named.current()
        built = kernel_names.build(named)
        if not named.is_series:
            kernel_names.keep(named)
    if kernel.came_along(built):
        click.echo(
            f"kernel {built.id} came with mptcplab: nothing to build; --source ARCHIVE builds "
            "another, and mptcplab doctor lists the programs for it"
        )
    elif known == built:
        click.echo(f"kernel {built.id} is up to date")
    else:
        click.echo(f"kernel {built.id} built in {time.monotonic() - started:.0f} s")
    if built.brought:
        _say_brought(built)


def _say_brought(built: KernelBuild) -> None:
    """The schedulers that patches add, by the names that runs have for them."""
    from mptcplab.lab import out_of_tree
    from mptcplab.scenario import scheduler

    added = out_of_tree.schedulers(built.brought).keys() - out_of_tree.SCHEDULERS.keys()
    if known := sorted(added & scheduler.known().keys()):
        click.echo(f"schedulers of --patch, for --scheduler: {', '.join(known)}")
    if unknown := sorted(added - scheduler.known().keys()):
        why = "the lab has no scheduler of this name"
        click.echo(f"no run can ask for {', '.join(unknown)}: {why}")


def _named(name: str, source: Path | None, patches: Sequence[Path], variant: str | None) -> Named:
    """The kernel that a name shall stand for; whatever is not given stays as it was.

    A new source has no patches of the one before.
    """
    before = kernel_names.known().get(name)
    if before is None or not before.is_series:
        kernel_names.check(name)
    elif source is not None or patches or variant is not None:
        raise click.UsageError(f"--name {name} is a series of Linux; choose another name")
    kept = before.patches if before and source is None else ()
    return Named(
        name,
        source.absolute() if source else before.source if before else kernel.chosen_source(),
        variant or (before.variant if before else "lab"),
        tuple(each.absolute() for each in patches) or kept,
    )


@command.command("list")
def kernel_list() -> None:
    """List the kernels, their names, and which are current.

    A run uses the current kernel, or the kernels that --kernel names, and builds missing ones. The
    kernel of a distribution's package is listed once a run has used it.
    """
    current = {kernel.current(variant) for variant in kernel.VARIANTS}
    names = {each: each.current() for each in kernel_names.known().values()}
    sources: dict[str, Table] = {}

    def add(series: str, source: str, name: str, variant: str, build: KernelBuild | None) -> None:
        title = f"{f'Linux {series}'.rstrip()}: {source or 'unknown source'}"
        if title not in sources:
            sources[title] = table = Table(box=None, pad_edge=False)
            for head in ("id", "name", "variant", "like", "size", "built"):
                table.add_column(head, no_wrap=head != "name", overflow="fold")
        built = ("", name, variant, "", "", "not built")
        if build:
            when = datetime.fromtimestamp(build.image.stat().st_mtime).strftime("%Y-%m-%d %H:%M")
            made = "with mptcplab" if kernel.came_along(build) else when
            size = _size(kernel_names.size_bytes(build.image.parent))
            like = kernel.configured_flavour(build)
            is_current = ", current" if build in current else ""
            built = (build.id, name, variant, like, size, f"{made}{is_current}")
        sources[title].add_row(*built)

    for build in kernel.built():
        own = [named for named, its_build in names.items() if its_build == build]
        series, source = next((each.name for each in own if each.is_series), ""), ""
        if about := kernel.about(build.image.parent):
            patched = ", ".join(Path(each).name for each in about.patches)
            series, source = about.series, about.source + (f" with {patched}" if patched else "")
        elif own:
            source = str(own[0].source)
        add(series, source, ", ".join(each.name for each in own), build.variant, build)
    for build in stock_package.kept():
        assert build.stock is not None
        series = ".".join(map(str, stock_package.series(build.stock)))
        add(series, ", ".join(map(str, build.stock.packages)), build.name, build.variant, build)
    for named, its_build in names.items():
        if its_build is None:
            series = named.name if named.is_series else ""
            add(series, str(named.source), named.name, named.variant, None)
    console = Console(width=_WIDTH)
    for title, table in sources.items():
        click.echo(title)
        console.print(table, "")
    click.echo(f"built ones are in {kernel.place()}, a directory for each")
    if stock_package.kept():
        click.echo(f"distributions' ({kernel.STOCK}) are in {stock_package.packages_dir()}")


@command.command("compare")
@click.argument("a", metavar="A", shell_complete=completion.compared_kernels)
@click.argument("b", metavar="B", shell_complete=completion.compared_kernels)
@click.argument("files", metavar="[SCENARIO.toml]...", type=options.PLACE, nargs=-1)
@click.option("--only", metavar="TEXT", help="Run only scenarios whose names contain this.")
@click.option(
    "--but",
    metavar="FIELD,...",
    help="Leave these fields of packets out, such as window, so that an early difference in one "
    "does not hide the next.",
)
@click.option(
    "--equal",
    metavar="FILE",
    type=options.FILE,
    help="If nothing differs, note it in FILE, such as docs/results/data/equal.json; published "
    "results then do not count as stale.",
)
@options.jobs_option
@options.out_option_of(Path("kernel-compare-out"), "Directory for the runs and the differences.")
@options.wall_limit_option
@options.disk_limit_option
@options.json_option
def kernel_compare(a: str, b: str, files: tuple[Path, ...], **given: Any) -> None:
    """Show where two kernels differ: in packets, records and figures.

    It runs each scenario with both kernels: the project's own set of about a hundred, or your
    files. For each scenario that differs, it shows the first packet that differs, and the figures.
    A and B are names (mptcplab kernel list), ids of kernels in the cache, or `current`; with
    ID+GUEST an old kernel runs the guest program that was made for it. docs/kernels.md

    It makes no run twice: after Ctrl-C the same command resumes. The exit status is 0 if only
    random numbers differ, 4 if anything else does, 1 if a run failed.

    \b
    mptcplab kernel compare 6.12 7.3
    mptcplab kernel compare 6.12 mine --only lossy
    mptcplab kernel compare current mine scenario.toml
    """
    from mptcplab.cli.actions import kernels

    kernels.compare_kernels((a, b), files, given)


@command.command("remove")
@click.argument("name", shell_complete=completion.kernels)
def kernel_remove(name: str) -> None:
    """Remove a kernel by its name, and the files that only it needs.

    The kernels for its selftests go, too. The source of a series of Linux stays.
    """
    named = kernel_names.find(name, "NAME", to_remove=True)
    _say_gone(kernel_names.remove(name), "freed")
    if named.is_series:
        click.echo(f"{name} can be built again: its source is {named.source}")


@command.command("prune")
@click.option("--dry-run", is_flag=True, help="Only list the files to remove.")
def kernel_prune(dry_run: bool) -> None:
    """Remove all kernels that have no name and are not current.

    Their modules, unpacked sources with objects, and files from distributions' packages go, too.
    """
    if dry_run:
        _say_gone(kernel_names.unneeded(), "would be freed")
    else:
        _say_gone(kernel_names.prune(), "freed")
    for name, named in kernel_names.known().items():
        if named.gone:
            give_up = f"to give them up: mptcplab kernel remove {name}, then prune"
            click.echo(f"kept: kernels of {name}, whose source is gone: {named.gone}; {give_up}")


def _say_gone(pieces: Sequence[Piece], freed: str) -> None:
    for each in pieces:
        click.echo(f"{each.what}: {each.directory}, {_size(each.size_bytes)}")
    click.echo(f"{freed}: {_size(sum(each.size_bytes for each in pieces))}")


def _size(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:.1f} MB"
