# SPDX-License-Identifier: GPL-2.0-only
"""Kernels by name: the user names a kernel when building it, and a series of Linux has its own.

A name stands for a source and a variant: its kernel follows our patches and files. The user's names
are in `names.json` of the kernels' cache. A series, such as 6.12, is a name wherever its source has
been set up: Debian's archive of it, or `sources/linux-source-SERIES.tar.xz` in the cache.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from mptcplab.errors import InputError, MachineError, MptcplabError, Problem
from mptcplab.lab import doctor, kernel, prebuilt, stock_package
from mptcplab.lab.brought import Brought
from mptcplab.lab.choices import CURRENT, DEFAULT_FLAVOUR, FLAVOURS
from mptcplab.lab.kernel import KernelBuild
from mptcplab.lab.kernel_tree import (
    KERNEL_VERSION,
    OUT_OF_TREE,
    series_of,
    supported_series,
    write_json,
)
from mptcplab.mistakes import suggestion

#: The variants for the kernel's own tests: without our framework, with it, and with only those of
#: our patches for MPTCP that a run needs.
UPSTREAM, OURS, ENGINE = "selftest-upstream", "selftest", "selftest-engine"
ACCEPTED = "a name is a letter or digit, then up to 30 of a-z, 0-9, ., _ and -"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,30}")
_SERIES = re.compile(r"[0-9]+\.[0-9]+")
_BUILD_ID = re.compile("[0-9a-f]{12}")
_BLOCK_BYTES = 512


@dataclass(frozen=True)
class Named:
    """The meaning of a name: a source, one of `kernel.VARIANTS`, and the user's patches."""

    name: str
    source: Path
    variant: str = "lab"
    patches: tuple[Path, ...] = ()

    @property
    def is_series(self) -> bool:
        return _SERIES.fullmatch(self.name) is not None

    @property
    def gone(self) -> Path | None:
        """The source of a name of the user's own, or a patch, if that is gone."""
        wanted = () if self.is_series else (self.source, *self.patches)
        return next((each for each in wanted if not each.exists()), None)

    @property
    def is_out_of_tree(self) -> bool:
        """Whether its source has the out-of-tree MPTCP. Raises InputError if that is gone."""
        version = kernel.Source.chosen(self.source).version
        return series_of(version) == OUT_OF_TREE

    @property
    def brought(self) -> tuple[str, ...]:
        """As in KernelBuild, before it is built. Raises InputError if a patch is gone."""
        return tuple(Brought.read(self.patches).schedulers)

    @property
    def tested(self) -> tuple[str, ...]:
        """The variants for the kernel's own tests: upstream's, then our framework's if any."""
        if self.variant == kernel.ENGINE_ONLY:
            return (ENGINE,)
        return (UPSTREAM,) if self.variant in ("upstream", UPSTREAM) else (UPSTREAM, OURS)

    @property
    def variants(self) -> set[str]:
        """All variants that commands build for it, also for its tests and for --kernel-like."""
        like = FLAVOURS.values() if self.variant == FLAVOURS[DEFAULT_FLAVOUR] else ()
        return {self.variant, *self.tested, *like}

    @property
    def tree(self) -> Path:
        """The directory for its unpacked source."""
        return kernel.tree_of(self.source)

    def current(self) -> KernelBuild | None:
        """Its kernel, if it is built."""
        found = kernel.current(self.variant, self.source, self.patches)
        return found and replace(found, name=self.name)

    def all_current(self) -> list[KernelBuild]:
        """Its kernels of all variants that are built."""
        found = (
            kernel.current(variant, self.source, self.patches) for variant in sorted(self.variants)
        )
        return [each for each in found if each is not None]


@dataclass(frozen=True)
class Piece:
    """A directory of the cache: its content in words, and its size on the disk."""

    what: str
    directory: Path
    size_bytes: int

    @classmethod
    def of(cls, what: str, directory: Path) -> Piece:
        return cls(what, directory, size_bytes(directory))


def known() -> dict[str, Named]:
    """All names: the series whose sources are here, the oldest first, then the user's own.

    Raises MptcplabError if the file of the user's names is damaged.
    """
    found = {name: Named(name, source) for name, source in _series()}
    file = _file()
    try:
        notes = json.loads(file.read_text()) if file.exists() else {}
        own = {
            name: Named(
                name,
                Path(of["source"]),
                of["variant"],
                tuple(map(Path, of.get("patches", ()))),
            )
            for name, of in notes.items()
        }
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        raise MptcplabError(f"{file}: not a table of kernels' names; remove it") from None
    return found | own


def find(
    name: str,
    option: str = "--kernel",
    *,
    to_remove: bool = False,
    also: Sequence[str] = (f"{stock_package.PREFIX}PACKAGE.deb",),
) -> Named:
    """The meaning of a name. If it has none, raises InputError with the accepted names: those that
    can be removed if it is `to_remove`, or else used, and whatever is accepted `also`.
    """
    names = known()
    if name in names:
        return names[name]
    hint = suggestion(name, list(names)) or ";"
    accepted = ", ".join(names if to_remove else [*names, *also])
    message = f"no kernel has this name{hint} accepted is one of {accepted}"
    if stock_package.is_stock(name):
        message = _ONLY_IN_RUNS + ("; mptcplab kernel prune removes it" if to_remove else "")
    elif name in supported_series():
        message += "; to add it: make setup-kernels"
    elif not to_remove:
        own = name if _cannot_be(name) is None else "NAME"
        message += f"; to add it: mptcplab kernel build --source ARCHIVE --name {own}"
    raise InputError([Problem(option, "", name, message)])


def build(named: Named, *, quiet: bool = False) -> KernelBuild:
    """Builds the kernel of a name unless it is built; see `kernel.build`.

    Raises MptcplabError, too, if the source or a patch of a name of the user's own is gone.
    """
    kept = known().get(named.name)
    # a new name takes its source and patches from the options
    if kept is not None and (kept.source, kept.patches) == (named.source, named.patches):
        _require_source(named)
    made = kernel.build(
        named.source,
        patches=named.patches,
        variant=named.variant,
        quiet=quiet,
        remember=False,
    )
    return replace(made, name=named.name)


def build_any(name: str, option: str = "--kernel") -> KernelBuild:
    """The kernel of a name, an id in the cache, or `choices.CURRENT`; a missing one is built, but
    not from an id.

    Raises InputError if there is none, and for the kernels of distributions; others as
    `kernel.build`.
    """
    if name == CURRENT:
        return kernel.build()
    if stock_package.is_stock(name):
        why = "computing takes time in an emulated machine, and every packet differs"
        raise InputError([Problem(option, "", name, f"{_ONLY_IN_RUNS}: {why}")])
    if not _BUILD_ID.fullmatch(name):
        named = find(name, option, also=(CURRENT, "an id of mptcplab kernel list"))
        _require_source(named)
        _refuse_out_of_tree(named, name, option)
        return build(named)
    for found in kernel.built():
        if found.id == name:
            _refuse_out_of_tree(found, name, option)
            return replace(found, name=name)
    message = "no kernel in the cache has this id; accepted is an id of mptcplab kernel list"
    raise InputError([Problem(option, "", name, message)])


def _refuse_out_of_tree(of: Named | KernelBuild, name: str, option: str) -> None:
    if of.is_out_of_tree:
        why = "every packet differs: its MPTCP is the out-of-tree one, of version 0"
        message = f"only --kernel of runs takes this kernel: {why}"
        raise InputError([Problem(option, "", name, message)])


_ONLY_IN_RUNS = "this names a distribution's package, which only --kernel of runs takes"


def check(name: str) -> None:
    """Raises InputError for what cannot be a name of the user's own."""
    message = _cannot_be(name)
    if message is not None:
        raise InputError([Problem("--name", "", name, message)])


def _cannot_be(name: str) -> str | None:
    """Why something cannot be a name of the user's own, None if it can."""
    if _SERIES.fullmatch(name):
        return f"names of this form are for series of Linux; {ACCEPTED}"
    if _BUILD_ID.fullmatch(name):
        return f"names of this form are ids of kernels; {ACCEPTED}"
    if name == CURRENT:
        return f"this means the kernel of runs without --kernel; {ACCEPTED}"
    return None if _NAME.fullmatch(name) else ACCEPTED


def keep(named: Named) -> None:
    """Keeps a name of the user's own, and replaces its former meaning."""
    check(named.name)
    with kernel.naming():
        _write({**known(), named.name: named})


def remove(name: str) -> list[Piece]:
    """Removes a name of the user's own, and all that was built for it unless another name needs it;
    returns the removed pieces.

    The name and the source of a series stay. Raises InputError for an unknown name, and
    MptcplabError during a build.
    """
    with kernel.removing():
        named, others = find(name, "NAME", to_remove=True), known()
        del others[name]
        builds, trees = _needed(list(others.values()))
        gone = []
        for mine in named.all_current() if named.source.exists() else ():
            if mine.id not in builds and not kernel.came_along(mine):
                gone.append(Piece.of(f"kernel {mine.id}", mine.image.parent))
                gone += [each for each in _modules() if _kernel_of(each) == mine.id]
        if named.tree not in trees and named.tree.exists():
            gone.append(Piece.of("source and objects", named.tree))
        _write(others)
        _delete(gone)
    return gone


def unneeded() -> list[Piece]:
    """The pieces of the cache that serve no name and no run without one: old kernels, their
    modules, unpacked sources, the builds of bisections, and the content of distributions' packages,
    which the next run unpacks again. All kernels of a source that is gone serve its names.

    Raises MachineError without a compiler, which decides on the current kernels.
    """
    if not kernel.compiler_version():
        raise MachineError("gcc is missing: the current kernels depend on its version")
    (builds, trees), came = _needed(list(known().values())), prebuilt.came()
    kit = came.kit_id if came else ""
    built, unpacked, kits = (
        sorted(kernel.place().glob(pattern)) for pattern in ("*/build.json", "trees/*", "kits/*")
    )
    old = [file.parent for file in built if file.parent.name not in builds]
    return [
        *(Piece.of(f"kernel {each.name}", each) for each in old),
        *(Piece.of("source and objects", each) for each in unpacked if each not in trees),
        *(each for each in _modules() if _kernel_of(each) not in builds),
        *(Piece.of("module kit", each) for each in kits if each.name != kit),
        *(Piece.of("distribution's kernel", each) for each in stock_package.directories()),
    ]


def _require_source(named: Named) -> None:
    """Raises MptcplabError if the source of a name of the user's own, or a patch, is gone."""
    if named.gone:
        raise MptcplabError(
            f"the {'source' if named.gone == named.source else 'patch'} of {named.name} is gone: "
            f"{named.gone}\n"
            f"  to choose another: mptcplab kernel build --source ARCHIVE --name {named.name}\n"
            f"  to give up the name: mptcplab kernel remove {named.name}"
        )


def prune() -> list[Piece]:
    """Removes and returns the `unneeded` pieces. Raises MptcplabError, too, during a build."""
    with kernel.removing():
        gone = unneeded()
        _delete(gone)
    return gone


def _delete(pieces: Sequence[Piece]) -> None:
    for each in pieces:
        shutil.rmtree(each.directory)
    kernel.remove_notes()


def size_bytes(directory: Path) -> int:
    """The space that a directory takes on the disk."""
    total = 0
    for path in directory.rglob("*"):
        with suppress(OSError):
            total += path.lstat().st_blocks * _BLOCK_BYTES
    return total


def _needed(names: Sequence[Named]) -> tuple[set[str], set[Path]]:
    """The ids of the kernels of names, and of those used without one; and their trees."""
    builds = {build.id for each in names for build in each.all_current()}
    builds |= {build.id for each in kernel.VARIANTS if (build := kernel.current(each))}
    # it decides which kernel is current
    gone = {str(each.source) for each in names if each.gone}
    made = (
        (file.parent, kernel.about(file.parent)) for file in kernel.place().glob("*/build.json")
    )
    builds |= {directory.name for directory, about in made if about and about.source in gone}
    trees = {each.tree for each in names}
    with suppress(MptcplabError):
        trees.add(kernel.tree_of(kernel.chosen_source()))
    return builds, trees


def _modules() -> list[Piece]:
    return [Piece.of("module", each) for each in sorted(kernel.place().glob("modules/*"))]


def _kernel_of(module: Piece) -> str:
    """The kernel that a module is for, empty for an incomplete one."""
    note = module.directory / kernel.OF_KERNEL
    return note.read_text() if note.exists() else ""


def _series() -> Iterator[tuple[str, Path]]:
    """The series that we have patches for, each with the first of its sources that is here.

    The series of Debian's own archive always counts: a wheel brings its kernel along.
    """
    for series in supported_series():
        archive = f"linux-source-{series}.tar.xz"
        places = (doctor.cache_dir() / "sources" / archive, Path("/usr/src") / archive)
        if series == KERNEL_VERSION:
            yield series, doctor.DEBIAN_SOURCE
        elif found := next(filter(Path.exists, places), None):
            yield series, found


def _file() -> Path:
    return kernel.place() / "names.json"


def _write(names: Mapping[str, Named]) -> None:
    own = {
        each.name: {
            "source": str(each.source),
            "variant": each.variant,
            **({"patches": [str(patch) for patch in each.patches]} if each.patches else {}),
        }
        for each in names.values()
        if not each.is_series
    }
    write_json(_file(), own)
