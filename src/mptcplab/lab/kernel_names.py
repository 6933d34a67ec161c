# SPDX-License-Identifier: GPL-2.0-only
"""Kernels by name: those that the user named when building them, and the series of Linux.

A name stands for a source and a variant, so that its kernel follows our patches and files. The
user's names are in `names.json` of the kernels' cache. A series, such as 6.12, is a name wherever
its source has been set up: Debian's archive of it, or `sources/linux-source-SERIES.tar.xz` in the
cache.
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
from mptcplab.lab.choices import CURRENT, DEFAULT_FLAVOUR, FLAVOURS
from mptcplab.lab.kernel import KernelBuild
from mptcplab.lab.kernel_tree import KERNEL_VERSION, supported_series, write_json
from mptcplab.mistakes import printable, suggestion

#: The variants for the kernel's own tests: without our framework, with it, and without all of our
#: patches for MPTCP that a run can do without.
UPSTREAM, OURS, ENGINE = "selftest-upstream", "selftest", "selftest-engine"
ACCEPTED = "a name is a letter or digit, then up to 30 of a-z, 0-9, ., _ and -"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,30}")
_SERIES = re.compile(r"[0-9]+\.[0-9]+")
_BUILD_ID = re.compile("[0-9a-f]{12}")
_BLOCK_BYTES = 512


@dataclass(frozen=True)
class Named:
    """What a name stands for: a source, and one of `kernel.VARIANTS`."""

    name: str
    source: Path
    variant: str = "lab"

    @property
    def is_series(self) -> bool:
        return _SERIES.fullmatch(self.name) is not None

    @property
    def tested(self) -> tuple[str, ...]:
        """The variants for the kernel's own tests: upstream's, then, if it can have that, the one
        with our framework.
        """
        if self.variant == kernel.ENGINE_ONLY:
            return (ENGINE,)
        return (UPSTREAM,) if self.variant in ("upstream", UPSTREAM) else (UPSTREAM, OURS)

    @property
    def variants(self) -> set[str]:
        """All variants that are built for it: its own, those of its tests, and --kernel-like's."""
        like = FLAVOURS.values() if self.variant == FLAVOURS[DEFAULT_FLAVOUR] else ()
        return {self.variant, *self.tested, *like}

    def trees(self) -> set[Path]:
        """Where its source is unpacked, or would be."""
        return {kernel.tree_of(self.source, variant) for variant in self.variants}

    def current(self) -> KernelBuild | None:
        """Its kernel, if it is built."""
        found = kernel.current(self.variant, self.source)
        return None if found is None else replace(found, name=self.name)

    def all_current(self) -> list[KernelBuild]:
        """All kernels that are built for it, of those that are built now."""
        found = (kernel.current(variant, self.source) for variant in sorted(self.variants))
        return [each for each in found if each is not None]


@dataclass(frozen=True)
class Piece:
    """A directory of the cache: what it holds, in words, and its size on the disk."""

    what: str
    directory: Path
    size_bytes: int


def known() -> dict[str, Named]:
    """All names: the series whose sources are here, the oldest first, then the user's own.

    Raises MptcplabError if the file of the user's names is damaged, or has one that cannot be given
    to a kernel.
    """
    found = {name: Named(name, source) for name, source in _series()}
    file = _file()
    try:
        notes = json.loads(file.read_text()) if file.exists() else {}
    except (OSError, ValueError):
        notes = None
    if not isinstance(notes, dict):
        raise MptcplabError(f"{file}: does not say which kernels have names; remove it")
    for name, of in notes.items():
        wrong = _cannot_be(name) or _cannot_stand_for(of)
        if wrong:
            raise MptcplabError(f'{file}: "{printable(name)}": {wrong}; remove it there')
        found[name] = Named(name, Path(of["source"]), of["variant"])
    return found


def find(
    name: str,
    option: str = "--kernel",
    *,
    to_remove: bool = False,
    also: Sequence[str] = (f"{stock_package.PREFIX}PACKAGE.deb",),
) -> Named:
    """What a name stands for. Raises InputError, with the names there are, if it is none: those
    that can be removed if it is `to_remove`, or else used, with what is accepted `also`.
    """
    if stock_package.is_stock(name):
        message = "a distribution's package, for --kernel of runs"
        if to_remove:
            message += "; kernel prune removes it"
        raise InputError([Problem(option, "", name, message)])
    names = known()
    if name not in names:
        hint = suggestion(name, list(names)) or ";"
        if to_remove:
            message = f"no kernel of this name{hint} there are: {', '.join(names)}"
            raise InputError([Problem(option, "", name, message)])
        own = name if _cannot_be(name) is None else "NAME"
        how = f"mptcplab kernel build --source ARCHIVE --name {own}"
        if name in supported_series():
            how = "make setup-kernels"
        there = ", ".join([*names, *also])
        message = f"no kernel of this name{hint} known: {there}; to add it: {how}"
        raise InputError([Problem(option, "", name, message)])
    return names[name]


def build(named: Named, *, quiet: bool = False) -> KernelBuild:
    """Builds the kernel of a name unless it is built; see `kernel.build`.

    Raises MptcplabError, too, if the source of a name of the user's own is gone.
    """
    kept = known().get(named.name)
    # the source of a name that is to be given is that of --source
    if kept is not None and kept.source == named.source:
        _require_source(named)
    made = kernel.build(named.source, variant=named.variant, quiet=quiet, remember=False)
    return replace(made, name=named.name)


def build_any(name: str, option: str = "--kernel") -> KernelBuild:
    """The kernel of a name, of an id in the cache, or of `choices.CURRENT`, that is used without a
    name; built unless it is, but for one of an id.

    Raises InputError if there is none, and for the kernels of distributions; others as
    `kernel.build`.
    """
    if name == CURRENT:
        return kernel.build()
    if stock_package.is_stock(name):
        message = (
            "a distribution's package, for --kernel of runs: in an emulated machine computing "
            "takes time, so that every packet differs"
        )
        raise InputError([Problem(option, "", name, message)])
    if not _BUILD_ID.fullmatch(name):
        return build(find(name, option, also=(CURRENT, "ids in kernel list")))
    for found in kernel.built():
        if found.id == name:
            return replace(found, name=name)
    message = "no kernel of this id is in the cache; mptcplab kernel list has those that are"
    raise InputError([Problem(option, "", name, message)])


def check(name: str) -> None:
    """Raises InputError for what cannot be a name of the user's own."""
    message = _cannot_be(name)
    if message is not None:
        raise InputError([Problem("--name", "", name, message)])


def _cannot_be(name: str) -> str | None:
    """Why something cannot be a name of the user's own, None if it can."""
    if _SERIES.fullmatch(name):
        return f"names like this are those of series of Linux; {ACCEPTED}"
    if _BUILD_ID.fullmatch(name):
        return f"names like this are ids of kernels; {ACCEPTED}"
    if name == CURRENT:
        return f"this is the kernel that is used without a name; {ACCEPTED}"
    return None if _NAME.fullmatch(name) else ACCEPTED


def _cannot_stand_for(of: object) -> str | None:
    """Why something cannot be what a name stands for in the file of names, None if it can."""
    if (
        isinstance(of, dict)
        and all(isinstance(of.get(key), str) for key in ("source", "variant"))
        and of["variant"] in kernel.VARIANTS
    ):
        return None
    return f'expected is {{"source": PATH, "variant": one of {", ".join(kernel.VARIANTS)}}}'


def keep(named: Named) -> None:
    """Keeps a name of the user's own, in place of what it stood for before."""
    check(named.name)
    with kernel.locked(wait=True):
        _write({**known(), named.name: named})


def remove(name: str) -> list[Piece]:
    """Removes a name of the user's own, and what was built for it, in all variants, unless another
    name needs it; returns what was removed.

    Of a series only what was built is removed. Raises InputError for an unknown name, and
    MptcplabError while a kernel is being built.
    """
    with kernel.locked(wait=False):
        named, others = find(name, "NAME", to_remove=True), known()
        del others[name]
        builds, trees = _needed(list(others.values()))
        gone = []
        for mine in named.all_current() if named.source.exists() else ():
            if mine.id not in builds and not kernel.came_along(mine):
                gone.append(_piece(f"kernel {mine.id}", mine.image.parent))
                gone += [each for each in _modules() if _kernel_of(each) == mine.id]
        unpacked = sorted(tree for tree in named.trees() - trees if tree.exists())
        gone += [_piece("source and objects", tree) for tree in unpacked]
        _write(others)
        for each in gone:
            shutil.rmtree(each.directory)
    return gone


def unneeded() -> list[Piece]:
    """What is in the cache and is for no name, nor is used without one: old kernels, their modules,
    unpacked sources, what bisections built, and what was taken out of distributions' packages,
    which is done again when one is asked for.

    Raises MachineError without a compiler, since it determines which kernels are current, and
    MptcplabError if the source of a name is gone.
    """
    if not kernel.compiler_version():
        raise MachineError("gcc is missing, so it is not known which kernels are current")
    names = list(known().values())
    for each in names:
        _require_source(each)
    builds, trees = _needed(names)
    found = [
        _piece(f"kernel {file.parent.name}", file.parent)
        for file in sorted(kernel.place().glob("*/build.json"))
        if file.parent.name not in builds
    ]
    found += [
        _piece("source and objects", tree)
        for tree in sorted(kernel.place().glob("trees/*"))
        if tree not in trees
    ]
    found += [each for each in _modules() if _kernel_of(each) not in builds]
    came = prebuilt.came()
    kit = came.sha256[prebuilt.MODULE_KIT][:12] if came else ""
    kits = sorted(kernel.place().glob("kits/*"))
    found += [_piece("module kit", each) for each in kits if each.name != kit]
    stock = stock_package.directories()
    return [*found, *(_piece("distribution's kernel", each) for each in stock)]


def _require_source(named: Named) -> None:
    """Raises MptcplabError if the source of a name of the user's own is gone."""
    if not named.is_series and not named.source.exists():
        raise MptcplabError(
            f"the source of {named.name} is gone: {named.source}\n"
            f"  another one: mptcplab kernel build --source ARCHIVE --name {named.name}\n"
            f"  if it is for good: mptcplab kernel remove {named.name}"
        )


def prune() -> list[Piece]:
    """Removes what is `unneeded`, and returns it. Raises MptcplabError, too, during a build."""
    with kernel.locked(wait=False):
        gone = unneeded()
        for each in gone:
            shutil.rmtree(each.directory)
    return gone


def size_bytes(directory: Path) -> int:
    """What a directory takes on the disk."""
    total = 0
    for path in directory.rglob("*"):
        with suppress(OSError):
            total += path.lstat().st_blocks * _BLOCK_BYTES
    return total


def _needed(names: Sequence[Named]) -> tuple[set[str], set[Path]]:
    """The ids of the kernels that are built for names, or used without one, and the trees."""
    builds = {build.id for each in names for build in each.all_current()}
    builds |= {build.id for each in kernel.VARIANTS if (build := kernel.current(each))}
    trees = {tree for each in names for tree in each.trees()}
    with suppress(MptcplabError):
        source = kernel.chosen_source()
        trees |= {kernel.tree_of(source, variant) for variant in kernel.VARIANTS}
    return builds, trees


def _modules() -> list[Piece]:
    return [_piece("module", each) for each in sorted(kernel.place().glob("modules/*"))]


def _kernel_of(module: Piece) -> str:
    """The kernel that a module is for, empty for one that is not whole."""
    note = module.directory / kernel.OF_KERNEL
    return note.read_text() if note.exists() else ""


def _piece(what: str, directory: Path) -> Piece:
    return Piece(what, directory, size_bytes(directory))


def _series() -> Iterator[tuple[str, Path]]:
    """The series that there are patches for, with the first of their sources that is here.

    That of Debian's own archive is always among them: a wheel brings its kernel along.
    """
    for series in supported_series():
        archive = f"linux-source-{series}.tar.xz"
        places = [doctor.cache_dir() / "sources" / archive, Path("/usr/src") / archive]
        if series == KERNEL_VERSION:
            places = [doctor.DEBIAN_SOURCE]
        found = [place for place in places if place.exists()]
        if found or series == KERNEL_VERSION:
            yield series, (found or places)[0]


def _file() -> Path:
    return kernel.place() / "names.json"


def _write(names: Mapping[str, Named]) -> None:
    own = {
        each.name: {"source": str(each.source), "variant": each.variant}
        for each in names.values()
        if not each.is_series
    }
    write_json(_file(), own)
