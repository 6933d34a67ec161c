# SPDX-License-Identifier: GPL-2.0-only
"""The lab kernel: Linux as a User-Mode-Linux program, built out of tree in the cache.

It has variants, and modules: the user's own schedulers. Below `cache_dir()/kernel`:

- `BUILD-ID/{linux,config,build.json}`: a finished kernel, put there by one rename; `about.json`,
  its source and variant; `modules`, KUnit and our tests, once somebody asked for them;
- `trees/KEY/`: one per source, or repository of sources (kernel_files.py), and set of patches:
  `src` (unpacked, patched, with our files), `originals` (the files that our patches change, as they
  were), and one directory per variant, and per compiler other than gcc, with `obj` (make's output),
  `build.log`, and `built` (the kernel that `obj` corresponds to);
- `modules/DIGEST/NAME.ko`: a scheduler, compiled for one of the kernels, with its NAME.c; `kernel`,
  the id of the kernel;
- `locks/KEY`: held by the build in progress in a tree; `lock`: shared by all builds, and held alone
  by removals; `source.json`: the latest choice of `--source`;
- `names.json`: the names that the user gave to kernels (kernel_names.py);
- `digests.json`: SHA-256 and version of source archives, `directories/KEY.json`: the times and
  hashes of the files of a directory: each is read only once.

A build id identifies everything that determines the kernel: the source, the configuration, the
patches, our files, the compiler and its flags. The version of the source decides on the patches;
the user's own (brought.py) come before them.

A wheel brings the kernel `lab` along (prebuilt.py), with the files that modules need. It is used
unless the user has chosen a source.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any, Self

from mptcplab import resources
from mptcplab.errors import InputError, MptcplabError, Problem
from mptcplab.files import locked, new_directory, remove_abandoned
from mptcplab.lab import doctor, kernel_files, kernel_module, kernel_tree, module_kit, prebuilt
from mptcplab.lab.brought import Brought
from mptcplab.lab.doctor import Check
from mptcplab.lab.kernel_files import Commit, Directory, Files
from mptcplab.lab.kernel_make import (
    GCC,
    MAKE_ENVIRONMENT,
    PRECOMPILED,
    TIMES,
    BuildProgress,
    Make,
    arguments_of,
    configure,
)
from mptcplab.lab.kernel_module import Scheduler
from mptcplab.lab.kernel_tree import Locks

#: The variants of the kernel: for each, the fragments kernel/NAME.config on top of lab.config.
VARIANTS: Mapping[str, tuple[str, ...]] = {
    "lab": (),
    "cloud": ("cloud",),
    "debug": ("debug",),
    "selftest": ("selftest",),
    "upstream": ("upstream",),
    "selftest-upstream": ("selftest", "upstream"),
    "engine": ("upstream",),
    "selftest-engine": ("selftest", "upstream"),
    "out-of-tree": ("upstream", "out-of-tree"),
}
#: The variant of a source with the out-of-tree MPTCP (kernel_tree.OUT_OF_TREE), and of no other.
OUT_OF_TREE = "out-of-tree"
#: The variant of a distribution's kernel.
STOCK = "stock"
#: As `upstream`, and of the patches for MPTCP only the one that builds our files: --engine-only.
ENGINE_ONLY = "engine"
_ENGINE_VARIANTS = (ENGINE_ONLY, "selftest-engine")
_ENGINE_PATCHES, _OWN_FILES_PATCH = "engine", "-mptcp-build-the-files-"
# Kernels with the fragment `upstream` lack the framework's patches, and the files that need it.
_FRAMEWORK_PATCHES = "-mptcp-sched-"
_TESTS = "tests/"
_FRAMEWORK_FILES = ("sched/", "parts/", _TESTS)
# Or the adapter, which carries most schedulers without these patches; not all, as a file says. It
# is tried with the series that we have patches for.
_ADAPTER, _REFUSED = "adapter", "adapter/refused"
# The files of the out-of-tree MPTCP, and those that it shares with upstream's.
_V0, _OF_BOTH = "v0/", ("stream.", "uapi/probe.h", "drop.c")
_HAS_ADAPTER = "\nCONFIG_MPTCP_LAB_ADAPTER=y\n"
# Beside the objects of a variant, if they are complete: the id of their kernel.
_BUILT = "built"
# Beside a finished kernel, and beside a module.
_ABOUT, OF_KERNEL = "about.json", "kernel"
# Below kernel/mptcp: a run uses one or two of these files.
_EXCHANGEABLE = ("sched/", "cc/")


@dataclass(frozen=True)
class Stock:
    """A distribution's kernel (stock_package.py): its package, and what it brings.

    `release` is the version that the kernel reports. `modules` are files, NAME.ko, and `ccs` the
    congestion controls that it can have; the modules of `schedulers` are beside `image`. In its
    virtual machine an instruction takes `instruction_ns`. `packages` are the files that it was
    extracted from.
    """

    package: str
    version: str
    release: str
    modules: tuple[Path, ...] = ()
    ccs: tuple[str, ...] = ()
    schedulers: tuple[str, ...] = ()
    instruction_ns: int = 1
    packages: tuple[Path, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class KernelBuild:
    """A finished kernel: the program `image`, and the configuration it was built with.

    `name` is the name that the user called it by, empty for the current kernel. With `stock` it is
    a distribution's kernel, of the variant STOCK, which runs in a virtual machine. `brought` are
    the schedulers that the user's patches add to the out-of-tree MPTCP.
    """

    id: str
    variant: str
    image: Path
    config: Path
    name: str = field(default="", compare=False)
    stock: Stock | None = None
    brought: tuple[str, ...] = field(default=(), compare=False)

    @property
    def has_framework(self) -> bool:
        """Whether it can have all our schedulers, not only upstream's own, `default`."""
        return self.stock is None and _has_framework(self.variant)

    @property
    def is_out_of_tree(self) -> bool:
        """Whether its MPTCP is the out-of-tree implementation: out_of_tree.py."""
        return self.variant == OUT_OF_TREE

    @property
    def has_adapter(self) -> bool:
        """Whether it can have those schedulers that need no patches for MPTCP."""
        if self.stock:
            return bool(self.stock.schedulers)
        here = self.variant in _ENGINE_VARIANTS and self.config.is_file()
        return here and _HAS_ADAPTER in self.config.read_text()

    @property
    def flavour(self) -> str:
        """The one of FLAVOURS whose arithmetic it has: constants.c ensures it in our kernels, a
        distribution's may have "neither".
        """
        if self.stock:
            return configured_flavour(self)
        return "cloud" if "cloud" in VARIANTS[self.variant] else "amd64"


@dataclass(frozen=True)
class Module:
    """The user's scheduler, compiled for one kernel: its name, and the file NAME.ko.

    `digest` identifies everything it was made from, the kernel included.
    """

    name: str
    digest: str
    path: Path


def build(
    source: Path | None = None,
    *,
    patches: Sequence[Path] = (),
    variant: str = "lab",
    compiler: str = GCC,
    quiet: bool = False,
    remember: bool = True,
) -> KernelBuild:
    """Builds the kernel in one of VARIANTS, unless it is built already or came with the package.

    `source` is an archive or a directory with a kernel. If it builds, with `remember`, it is used
    by later calls without `source`, here and in `current`, until Debian's own archive is chosen.
    `patches` are the user's own (brought.py). Commands use the kernel of another `compiler`, such
    as clang, only by its id. `quiet` suppresses the progress on standard error.

    Raises InputError for a source or patches that cannot be used or an unknown variant,
    MachineError if the machine lacks something, MptcplabError if the build fails.
    """
    if variant not in VARIANTS:
        accepted = f"accepted is one of {', '.join(VARIANTS)}"
        raise InputError([Problem("--variant", "", variant, f"unknown kernel variant; {accepted}")])
    remember = remember and source is not None
    with _refusals_as_failure():
        if compiler == GCC and not remember and (came := _came_along(variant, source, patches)):
            return came
        chosen = Source.chosen(source, patches)
        finished = _built(_Inputs.read(chosen, variant, Compiler.named(compiler)), quiet)
        if remember and chosen.path == doctor.DEBIAN_SOURCE:
            _choice().unlink(missing_ok=True)
        elif remember:
            kernel_tree.write_json(_choice(), {"path": str(chosen.path)})
    return finished


def build_commit(commit: Commit, *, variant: str = "lab", quiet: bool = False) -> KernelBuild:
    """Builds the kernel of a commit, unless there is one of the same files already.

    All commits of a repository share a tree: a build compiles only the files that differ from the
    commit built last. The choice of `--source` stays as it was.

    Raises SourceError if there are no patches for its series, these do not apply, or it does not
    build; others as `build`.
    """
    with _refusals_as_failure():
        return _built(_Inputs.read(Source.of(commit), variant), quiet)


def of_commit(commit: Commit, variant: str = "lab") -> KernelBuild:
    """The kernel of a commit, built or not. Raises SourceError if there are no patches for it."""
    return _build_of(_Inputs.read(Source.of(commit), variant))


def built() -> list[KernelBuild]:
    """All kernels in the cache, and the one that came with the package, the newest first.

    Anything else there is skipped.
    """
    variants = {
        file.parent: note.variant
        for file in place().glob("*/build.json")
        if (note := about(file.parent))
    }
    variants |= {file.parent: "lab" for file in resources.PREBUILT.glob("*/build.json")}
    found = []
    for directory, variant in variants.items():
        with suppress(OSError, ValueError, TypeError, KeyError):
            identity = json.loads((directory / "build.json").read_bytes())["id"]
            build = KernelBuild(identity, variant, directory / "linux", directory / "config")
            found.append((build.image.stat().st_mtime_ns, build))
    return [build for _, build in sorted(found, key=lambda each: each[0], reverse=True)]


def configured_flavour(build: KernelBuild) -> str:
    """The one of FLAVOURS that a configuration matches, "neither" for some of distributions."""
    options = build.config.read_text().splitlines()
    if not {"CONFIG_NET_IPIP=m", "CONFIG_NET_IPIP=y"} & set(options):
        return "neither"
    return "amd64" if "CONFIG_WLAN=y" in options else "cloud"


def current(
    variant: str = "lab", source: Path | None = None, patches: Sequence[Path] = ()
) -> KernelBuild | None:
    """The kernel for the present inputs if it is built, or came with the package, else None.

    `source` and `patches` are as for `build`, without being remembered. None also if one of them,
    or a program that reads the source, is missing: then no build can be the present one.
    """
    try:
        came = _came_along(variant, source, patches)
        return came or _finished(_Inputs.read(Source.chosen(source, patches), variant))
    except MptcplabError:
        return None


@dataclass(frozen=True)
class About:
    """The origin of a finished kernel: the path of its source, its series, its variant, the
    compiler's name, and the paths of the user's patches.
    """

    source: str
    series: str
    variant: str
    compiler: str
    patches: list[str] = field(default_factory=list)


def about(directory: Path) -> About | None:
    """The origin of the kernel in a directory, None if it came with the package."""
    with suppress(OSError, ValueError, TypeError):
        note = About(**json.loads((directory / _ABOUT).read_bytes()))
        if note.variant in VARIANTS:
            return note
    return None


# Old versions of the lab, which `make bench-against` runs, compile in trees of their own: they
# change files, and leave objects of them, of which the times that this version keeps know nothing.
_KEPT_AS = b"\0with times"


def tree_of(source: Path, *, commits: bool = False) -> Path:
    """Where a source is unpacked, or the commits of a repository are."""
    text = os.fsencode(source) + (b"\0commits" if commits else b"") + _KEPT_AS
    return place() / "trees" / hashlib.sha256(text).hexdigest()[:12]


@contextmanager
def removing() -> Iterator[None]:
    """Keeps everybody else from building. Raises MptcplabError if the cache cannot be written, and
    during a build.
    """
    with _refusals_as_failure(), _lock_file("lock") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise MptcplabError("a kernel is being built; try again afterwards") from None
        yield


@contextmanager
def naming() -> Iterator[None]:
    """Keeps everybody else from changing names, and from removing kernels; builds go on.

    Raises MptcplabError if the cache cannot be written.
    """
    with _refusals_as_failure(), _lock_file("lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        with locked(place()):
            yield


@dataclass(frozen=True)
class Parts:
    """What determines a kernel, in parts: `files` has the SHA-256 of each packet scheduler and
    congestion control, such as sched/minrtt.c, and `base` identifies everything else.
    """

    base: str
    files: Mapping[str, str]


def parts(build: KernelBuild) -> Parts:
    """The parts of a finished kernel."""
    if build.stock:
        return Parts(build.id, {})
    about = json.loads(build.image.with_name("build.json").read_bytes())
    own = about["own_files"]
    files = {name: own.pop(name) for name in list(own) if name.startswith(_EXCHANGEABLE)}
    # they become modules of their own
    rest = {name: digest for name, digest in own.items() if not name.startswith(_TESTS)}
    text = json.dumps({**about, "id": None, "own_files": rest}, sort_keys=True)
    return Parts(hashlib.sha256(text.encode()).hexdigest()[:12], files)


def module(
    build: KernelBuild, source_file: Path, *, commit: Commit | None = None, quiet: bool = False
) -> Module:
    """Compiles the scheduler in `source_file` for a finished kernel, unless it is compiled already.

    The scheduler's name is the file's, without `.c`. Compiler warnings go to standard error.
    `quiet` suppresses them, and the progress. A kernel that came with the package needs gcc and ld
    for it alone; `commit` is that of a kernel that `build_commit` has built.

    Raises MptcplabError, with the compiler's output, if it does not compile, or if `build` is not
    the kernel of the present inputs.
    """
    with _refusals_as_failure():
        source = Scheduler(source_file.stem, source_file, source_file.read_bytes())
    found = _compiled_module(build, source)
    if came_along(build):
        if not found.path.exists():
            _compile_with_kit(source, found.path, quiet=quiet)
        return found

    def compile_it(make: Make, progress: BuildProgress) -> None:
        progress.say(kernel_module.compile(make, source, found.path, {OF_KERNEL: build.id}))

    _make_once(build, str(source_file), found.path, compile_it, commit=commit, quiet=quiet)
    return found


def _compile_with_kit(source: Scheduler, target: Path, *, quiet: bool) -> None:
    doctor.require(*doctor.MODULE_CHECKS)
    came = prebuilt.came()
    assert came is not None
    with _refusals_as_failure(), BuildProgress(quiet) as progress:
        archive = came.file(prebuilt.MODULE_KIT)
        kit = module_kit.unpack(archive, place() / "kits" / came.kit_id)
        progress.step("compile", str(source.file))
        progress.say(module_kit.compile(kit, source, target))


def make_module_kit(build: KernelBuild, target: Path) -> None:
    """Makes the archive with which modules for a kernel are compiled without its objects.

    Raises MptcplabError if `build` is not the kernel of the present inputs.
    """
    (example,) = resources.SCHEDULER_TEMPLATES.glob("*.c")

    def make_it(make: Make, _progress: BuildProgress) -> None:
        schedulers = (make.source / kernel_tree.OWN_DIRECTORY / "sched").glob("*.c")
        module_kit.make_kit(make, example, sorted(schedulers), target)

    _make_once(build, "what modules need", target, make_it, quiet=False)


def kunit_modules(build: KernelBuild, *, quiet: bool = False) -> Path:
    """Compiles KUnit and our tests for a finished kernel, if necessary; returns their directory.

    Raises MptcplabError if they do not compile, or if `build` is not the kernel of the present
    inputs.
    """
    found = build.image.parent / "modules"

    def compile_them(make: Make, _progress: BuildProgress) -> None:
        with new_directory(found) as part:
            for path in make.modules():
                shutil.copyfile(path, part / path.name)

    _make_once(build, "KUnit and its tests", found, compile_them, quiet=quiet)
    return found


def source_check() -> Check:
    """Whether there is the source that a build would use: the latest choice, else Debian's."""
    try:
        path = _chosen_path()
    except MptcplabError as error:
        what, _, remedy = str(error).partition("\n")
        return Check("kernel source", False, what, remedy.strip())
    if path is None:
        return doctor.debian_source()
    return Check("kernel source", True, f"{path}, chosen by --source")


def chosen_source() -> Path:
    """The source of builds without `--source`. Raises MptcplabError if its choice is gone."""
    return _chosen_path() or doctor.DEBIAN_SOURCE


def source_of(build: KernelBuild) -> Source:
    """The source of a kernel. Raises MptcplabError if its inputs have changed since."""
    inputs = _inputs_of(build)
    if inputs.id != build.id:
        raise MptcplabError(f"kernel {build.id} is not made from the present inputs")
    return inputs.source


@contextmanager
def objects(compiler: str) -> Iterator[Make]:
    """The patched source of the lab's kernel, and its objects; nobody changes them meanwhile.

    Raises MptcplabError if that kernel is not built with the compiler.
    """
    inputs = _Inputs.read(Source.chosen(), "lab", Compiler.named(compiler))
    if _finished(inputs) is None:
        raise MptcplabError(f"the kernel lab is not built with {compiler}")
    progress = BuildProgress(quiet=True)
    with building(inputs.tree, progress) as locks:
        yield _objects_of(inputs, progress, locks)


def _make_once(
    build: KernelBuild,
    what: str,
    found: Path,
    compile_it: Callable[[Make, BuildProgress], None],
    *,
    commit: Commit | None = None,
    quiet: bool,
) -> None:
    """Compiles `found` with the objects of a kernel, if it does not exist."""
    if found.exists():
        remove_abandoned(found.parent)  # as in _built
        return
    doctor.require(*doctor.BUILD_CHECKS)
    tree = _inputs_of(build, commit).tree
    with BuildProgress(quiet) as progress, building(tree, progress) as locks:
        if found.exists():  # another process has made it meanwhile
            return
        inputs = _inputs_of(build, commit)
        if inputs.id != build.id:
            named = build.name not in ("", build.id)
            which = f"--name {build.name}" if named else f"--variant {build.variant}"
            raise MptcplabError(
                f"{what} cannot be compiled for kernel {build.id}:"
                " its inputs have changed since\n"
                f"  to fix it: mptcplab kernel build {which}"
            )
        make = _objects_of(inputs, progress, locks)
        progress.step("compile", what)
        compile_it(make, progress)


def _inputs_of(build: KernelBuild, commit: Commit | None = None) -> _Inputs:
    """The present inputs of a finished kernel: its own source if that is still there."""
    note = about(build.image.parent)
    if commit:
        source = Source.of(commit)
    else:
        own = Path(note.source) if note else None
        patches = [Path(each) for each in note.patches] if note else []
        source = Source.chosen(own if own and own.exists() else None, patches)
    return _Inputs.read(source, build.variant, Compiler.named(note.compiler) if note else None)


def schedulers() -> tuple[str, ...]:
    """The packet schedulers in the kernel: upstream's `default`, then one per file of ours."""
    own = (resources.KERNEL / "mptcp" / "sched").glob("*.c")
    return ("default", *sorted(path.stem for path in own))


def refused_by_adapter() -> dict[str, str]:
    """The schedulers that need our patches for MPTCP, each with the reason."""
    lines = (resources.KERNEL / "mptcp" / _REFUSED).read_text().splitlines()
    return dict(line.split(": ", 1) for line in lines if not line.startswith("#"))


def place() -> Path:
    """The directory of all kernels in the cache."""
    return doctor.cache_dir() / "kernel"


def came_along(build: KernelBuild) -> bool:
    """Whether a kernel came with the package, and was not built here."""
    return build.image.is_relative_to(resources.PREBUILT)


def _came_along(
    variant: str, source: Path | None, patches: Sequence[Path] = ()
) -> KernelBuild | None:
    """The kernel that came with the package, if it was made from the package's present files and
    `source`: Debian's, or None if the user has chosen none.

    Raises MptcplabError if it is damaged.
    """
    came = prebuilt.came()
    another = _choice().exists() if source is None else source != doctor.DEBIAN_SOURCE
    if came is None or another or patches:
        return None
    made_from = Source(resources.PREBUILT, came.source, came.version)
    if _Inputs.read(made_from, variant, Compiler(GCC, came.compiler)).id != came.kernel:
        return None
    image, config, _ = map(came.file, (prebuilt.KERNEL, prebuilt.CONFIG, prebuilt.BUILD))
    return KernelBuild(came.kernel, variant, image, config)


def _note_of(directory: Path) -> Path:
    """The note of the files of a source that is a directory."""
    return place() / "directories" / f"{tree_of(directory).name}.json"


def remove_notes() -> None:
    """Removes the notes of directories that are not in any tree."""
    for note in place().glob("directories/*.json"):
        if not any(place().glob(f"trees/{note.stem}*")):
            note.unlink()


def _choice() -> Path:
    """The note of the source that the user chose last."""
    return place() / "source.json"


def _built(inputs: _Inputs, quiet: bool) -> KernelBuild:
    if finished := _finished(inputs):
        # a process may have been killed as soon as it had put it there
        remove_abandoned(place(), inputs.id)
        note = inputs.about()
        if about(finished.image.parent) != note:
            # another source was the same, and may be so no longer when a module is compiled
            with suppress(OSError):  # a read-only cache is used as it is
                kernel_tree.write_json(finished.image.with_name(_ABOUT), asdict(note))
        return finished
    doctor.require(*doctor.BUILD_CHECKS)
    with BuildProgress(quiet) as progress, building(inputs.tree, progress) as locks:
        return _finished(inputs) or _build(inputs, progress, locks)


def _finished(inputs: _Inputs) -> KernelBuild | None:
    found = _build_of(inputs)
    return found if found.image.exists() else None


def _build_of(inputs: _Inputs) -> KernelBuild:
    """The kernel of some inputs, whether it is built or not."""
    directory = place() / inputs.id
    brought = tuple(inputs.source.brought.schedulers)
    image, config = directory / "linux", directory / "config"
    return KernelBuild(inputs.id, inputs.variant, image, config, brought=brought)


def _compiled_module(build: KernelBuild, source: Scheduler) -> Module:
    """The module's place, whether it exists or not."""
    text = f"{build.id}\0{source.name}\0".encode() + source.text
    came = prebuilt.came() if came_along(build) else None
    if came is not None and (compiler := compiler_version()) != came.compiler:
        text += f"\0{compiler}".encode()
    key = hashlib.sha256(text).hexdigest()[:12]
    return Module(source.name, key, place() / "modules" / key / f"{source.name}.ko")


# --- what determines the build id


@dataclass(frozen=True)
class Source:
    """A kernel source (an archive, a directory or a commit), its content's digest, its version.

    `files` are those of a directory or a commit, `brought` the user's patches for it.
    """

    path: Path
    digest: str
    version: str
    files: Files | None = None
    brought: Brought = field(default_factory=Brought)

    @classmethod
    def chosen(cls, path: Path | None = None, patches: Sequence[Path] = ()) -> Self:
        """The source at a path; without one the latest choice of `--source`, else Debian's.

        Raises MptcplabError if it is missing, InputError if it is no kernel source, or for wrong
        patches.
        """
        if path is None and (path := _chosen_path()) is None:
            doctor.require("kernel source")
            path = doctor.DEBIAN_SOURCE
        path = path.absolute()
        if path.is_dir():
            version = kernel_tree.directory_version(path, path)
            files = Directory.read(path, _note_of(path))
            digest = kernel_files.digest(files.files)
            return cls(path, digest, version, files, Brought.read(patches))
        if path.is_file():
            return cls(path, *_about_archive(path), brought=Brought.read(patches))
        raise kernel_tree.bad_source(path, "neither a file nor a directory")

    @classmethod
    def of(cls, commit: Commit) -> Self:
        return cls(commit.path, kernel_files.digest(commit.files), commit.version, commit)

    @property
    def commit(self) -> Commit | None:
        return self.files if isinstance(self.files, Commit) else None

    def lay_out(self, tree: Path, progress: BuildProgress, locks: Locks) -> None:
        """Makes `tree` hold the source; of a directory or commit, only changed files are written.

        `kernel_tree.patch` has to follow.
        """
        if self.files:
            if not kernel_files.is_checked_out(tree):
                doctor.require_disk()
            what = ("check out", self.commit.id[:12]) if self.commit else ("copy", str(self.path))
            progress.step(*what)
            kernel_files.check_out(self.files, tree)
        elif not kernel_tree.is_unpacked(tree, self.digest):
            doctor.require_disk()
            progress.step("unpack", str(self.path))
            kernel_tree.unpack(self.path, self.digest, tree, locks)


@dataclass(frozen=True)
class Compiler:
    """A C compiler: the program's name, and the first line of what it says of its version."""

    name: str
    version: str

    @classmethod
    def named(cls, name: str) -> Self:
        """The one of that name on this machine; its version is empty if there is none."""
        return cls(name, compiler_version(name))


@dataclass(frozen=True)
class _Inputs:
    """Everything that goes into a build, read once: files may change while a build waits."""

    variant: str
    source: Source
    fragments: Mapping[str, bytes]  # of the configuration, by path, in the order of precedence
    patches: Mapping[str, bytes]  # by name, in the order of the names
    own_files: Mapping[str, bytes]  # by path below kernel/mptcp
    precompiled: Mapping[str, bytes]  # headers.h and names.h
    compiler: Compiler

    @classmethod
    def read(cls, source: Source, variant: str, compiler: Compiler | None = None) -> Self:
        """Reads the files of the package; `compiler` is this machine's GCC unless given.

        A source with the out-of-tree MPTCP has a variant of its own, in place of `lab`. Raises
        InputError for another one.
        """
        variant = _variant_for(source, variant)
        with_adapter = (
            variant in _ENGINE_VARIANTS
            and source.commit is None
            and kernel_tree.series_of(source.version) in kernel_tree.supported_series()
        )
        names = ("lab", *VARIANTS[variant], *([_ADAPTER] if with_adapter else []))
        fragments = [resources.KERNEL / f"{name}.config" for name in names]
        for path in fragments:
            if not path.exists():
                raise MptcplabError(
                    f"{path} is missing; mptcplab works from a clone of its repository or a wheel"
                )
        fragments += kernel_tree.config_files(source.version)
        of_brought = "".join(f"CONFIG_{each}=y\n" for each in source.brought.options)
        precompiled = sorted((resources.KERNEL / "precompiled").glob("*.h"))
        patches, own = kernel_tree.patch_files(source.version), own_files()
        if variant in _ENGINE_VARIANTS:
            patches = [
                path
                for path in patches
                if path.parent.name == _ENGINE_PATCHES or _OWN_FILES_PATCH in path.name
            ]
        left_out: tuple[str, ...] = (f"{_ADAPTER}/",)
        if not _has_framework(variant):
            patches = [path for path in patches if _FRAMEWORK_PATCHES not in path.name]
            left_out = (_TESTS,) if with_adapter else (*left_out, *_FRAMEWORK_FILES)
        if variant == OUT_OF_TREE:
            # it reads scenarios, which most commands about kernels need not wait for
            from mptcplab.lab import out_of_tree

            # the others are for upstream's MPTCP, and today's headers
            own = {name: own[name] for name in own if name.startswith((_V0, *_OF_BOTH))}
            left_out, precompiled = (), []
            source.brought.require_free({*out_of_tree.SCHEDULERS, *out_of_tree.SCHEDULERS.values()})
        else:
            left_out += (_V0,)
            source.brought.require_diffs()
        own = {name: text for name, text in own.items() if not name.startswith(left_out)}
        return cls(
            variant=variant,
            source=source,
            fragments={
                str(path.relative_to(resources.KERNEL)): path.read_bytes() for path in fragments
            }
            | ({"brought": of_brought.encode()} if of_brought else {}),
            patches={path.name: path.read_bytes() for path in patches},
            own_files=own,
            precompiled={path.name: path.read_bytes() for path in precompiled},
            compiler=compiler or Compiler.named(GCC),
        )

    @property
    def tree(self) -> Path:
        """Where the source is unpacked; a newer source at the same path replaces the older."""
        return tree_of(self.source.path, commits=self.source.commit is not None)

    @property
    def id(self) -> str:
        text = json.dumps(self.provenance(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def provenance(self) -> dict[str, Any]:
        """The origin of a kernel, for build.json: a digest of each input."""
        return {
            "source": self.source.digest,
            "config": kernel_tree.digests(self.fragments),
            "patches": kernel_tree.digests(self.patches),
            "own_files": kernel_tree.digests(self.own_files),
            "precompiled": kernel_tree.digests(self.precompiled),
            "compiler": self.compiler.version,
            "make": [MAKE_ENVIRONMENT, PRECOMPILED],
            **self._brought(),
        }

    def _brought(self) -> dict[str, Any]:
        """Digests of the user's patches, in their order; nothing if there are none."""
        found = kernel_tree.digests(self.source.brought.patches)
        return {"brought": [*found.items()]} if found else {}

    def about(self) -> About:
        series, compiler = kernel_tree.series_of(self.source.version), self.compiler.name
        patches = [str(path) for path in self.source.brought.files]
        return About(str(self.source.path), series, self.variant, compiler, patches)

    def beside_config(self) -> dict[str, Any]:
        """What determines the configuration and headers, besides the fragments and headers.h."""
        kconfig = {name: text for name, text in self.own_files.items() if "Kconfig" in name}
        files = self.source.files
        return {
            "kconfig": kernel_tree.digests(kconfig),
            "patches": kernel_tree.digests(self.patches),
            "compiler": self.compiler.version,
            **self._brought(),
            # another archive is another tree
            **({"source": kernel_files.configuring(files.files)} if files else {}),
        }


def _variant_for(source: Source, variant: str) -> str:
    """OUT_OF_TREE for a source that has it; raises InputError if another one is asked for."""
    out_of_tree = kernel_tree.series_of(source.version) == kernel_tree.OUT_OF_TREE
    if out_of_tree and variant in ("lab", OUT_OF_TREE):
        return OUT_OF_TREE
    if out_of_tree or variant == OUT_OF_TREE:
        message = f"Linux {kernel_tree.OUT_OF_TREE} has the variant {OUT_OF_TREE}, and it alone"
        raise InputError([Problem("--variant", "", variant, message)])
    return variant


def _has_framework(variant: str) -> bool:
    return "upstream" not in VARIANTS[variant]


def own_files() -> dict[str, bytes]:
    """Our files of the kernel, by path below kernel/mptcp."""
    own = resources.KERNEL / "mptcp"
    return {
        str(path.relative_to(own)): path.read_bytes()
        for path in sorted(own.rglob("*"))
        # but for those of editors
        if path.is_file() and not path.name.startswith((".", "#")) and not path.name.endswith("~")
    }


def compiler_version(compiler: str = GCC) -> str:
    """The first line of its --version, "" if it is missing."""
    program = doctor.find_tool(compiler)
    if program is None:
        return ""
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    return done.stdout.partition("\n")[0]


def _about_archive(path: Path) -> tuple[str, str]:
    """SHA-256 and version of a file, remembered by size and time: reading 150 MB takes a second.

    Raises InputError if it is not the archive of a kernel, MachineError if the machine cannot
    build one.
    """
    stat = path.stat()
    stamp = [stat.st_size, stat.st_mtime_ns]
    notes = place() / "digests.json"
    known: dict[str, Any] = {}
    with suppress(OSError, ValueError, TypeError):
        known = dict(json.loads(notes.read_text()))
    with suppress(KeyError, TypeError):
        if known[str(path)]["stamp"] == stamp:
            return str(known[str(path)]["sha256"]), str(known[str(path)]["version"])
    # a build follows: name everything that the machine lacks for it at once
    doctor.require(*doctor.BUILD_CHECKS)
    version = kernel_tree.archive_version(path)
    with path.open("rb") as archive:
        digest = hashlib.file_digest(archive, "sha256").hexdigest()
    with suppress(OSError):  # a read-only cache is used as it is
        about = {"stamp": stamp, "sha256": digest, "version": version}
        kernel_tree.write_json(notes, known | {str(path): about})
    return digest, version


def _chosen_path() -> Path | None:
    """The latest choice of `--source`. Raises MptcplabError if it is gone."""
    note = _choice()
    if not note.exists():
        return None
    try:
        path = Path(json.loads(note.read_text())["path"])
    except (OSError, ValueError, KeyError, TypeError):
        raise MptcplabError(
            f"{note}: does not say where the kernel source is; remove it, or choose "
            f"one: mptcplab kernel build --source {doctor.DEBIAN_SOURCE}"
        ) from None
    if not path.exists():
        raise MptcplabError(
            f"the kernel source that --source chose is gone: {path}\n"
            f"  choose another, or Debian's: mptcplab kernel build"
            f" --source {doctor.DEBIAN_SOURCE}"
        )
    return path


# --- the build


def _build(inputs: _Inputs, progress: BuildProgress, locks: Locks) -> KernelBuild:
    make = _objects_of(inputs, progress, locks)
    progress.step("install")
    with new_directory(place() / inputs.id) as part:
        shutil.copyfile(make.obj / "linux", part / "linux")
        (part / "linux").chmod(0o755)
        shutil.copyfile(make.obj / ".config", part / "config")
        kernel_tree.write_json(part / "build.json", {"id": inputs.id, **inputs.provenance()})
        kernel_tree.write_json(part / _ABOUT, asdict(inputs.about()))
    progress.step("done", f"kernel {inputs.id}")
    return _build_of(inputs)


def _objects_of(inputs: _Inputs, progress: BuildProgress, locks: Locks) -> Make:
    """Updates the source and the objects to the inputs; unchanged files stay as they are."""
    source, tree = inputs.source, inputs.tree
    # also the old tree of a build that was killed while it removed it: it is half a gigabyte
    remove_abandoned(tree.parent)
    source.lay_out(tree, progress, locks)
    if inputs.variant == OUT_OF_TREE:
        kernel_tree.require_out_of_tree(tree / "src", source.path)
    compiler = inputs.compiler.name
    suffix = "" if compiler == GCC else f"-{compiler}"
    origin = source.path if isinstance(source.files, Directory) else None
    directory, arguments = tree / f"{inputs.variant}{suffix}", arguments_of(compiler)
    brought = source.brought
    make = Make(tree / "src", directory, locks, arguments, origin, brought.origins)
    note = make.directory / _BUILT
    built = note.exists() and note.read_text() == inputs.id
    if not make.obj.exists() and (other := _most_alike(tree, inputs.variant, suffix)):
        make.seed(other)
    if make.was_killed() or (not built and make.is_from_the_future()):
        # first the marker that says that they are complete
        built = False
        note.unlink(missing_ok=True)
        make.discard_objects()
    if not built:
        note.unlink(missing_ok=True)
        progress.step("patch", f"{len(brought.patches) + len(inputs.patches)} patches")
    # In any case: the source is shared, and another variant may have changed it.
    try:
        kernel_tree.patch(tree, {**brought.patches, **inputs.patches}, locks)
    except kernel_tree.PatchError as error:
        raise kernel_tree.SourceError(f"{error}{_without(error.patch, inputs)}") from None
    kernel_tree.synchronise(tree / "src" / kernel_tree.OWN_DIRECTORY, inputs.own_files)
    own = (f"{kernel_tree.OWN_DIRECTORY}/{name}" for name in inputs.own_files)
    kernel_tree.keep_times(make.source, (*kernel_tree.read_patched(tree), *own), make.times)
    if not built:
        progress.step("configure")
        configure(make, inputs.fragments, inputs.precompiled, inputs.beside_config())
        progress.step("compile")
        make.compile(progress)
        for name, file in brought.schedulers.items():
            if not (make.obj / file).with_suffix(".o").exists():
                what = f"the scheduler {name} of --patch was not compiled: {file}"
                needed = "an option of net/mptcp/Kconfig that is tristate, or obj-y += NAME.o"
                raise kernel_tree.SourceError(f"{what}\n  a patch has to add {needed}")
        note.write_text(inputs.id)
    return make


def _most_alike(tree: Path, variant: str, suffix: str) -> Path | None:
    """The directory of the variant with the most fragments in common whose objects are complete."""
    own = {*VARIANTS[variant]}
    made = [
        each
        for each in VARIANTS
        if all((tree / f"{each}{suffix}" / note).exists() for note in (_BUILT, TIMES))
    ]
    alike = max(made, key=lambda each: -len(own ^ {*VARIANTS[each]}), default=None)
    return tree / f"{alike}{suffix}" if alike else None


def _without(name: str, inputs: _Inputs) -> str:
    """How to build without a patch that does not apply."""
    if brought := inputs.source.brought.patches:
        return "" if name in brought else f"\n  it follows those of --patch: {', '.join(brought)}"
    needed = _Inputs.read(inputs.source, ENGINE_ONLY, inputs.compiler).patches
    if inputs.source.commit or name in needed:
        return ""
    build = f"mptcplab kernel build --engine-only --source {inputs.source.path}"
    return f"\n  to build without our schedulers, which need it: {build}"


# --- one build at a time in a tree, and how it ends


@contextmanager
def _refusals_as_failure() -> Iterator[None]:
    """Reports what the machine refuses: a full disk, a cache that cannot be written."""
    try:
        yield
    except OSError as error:
        raise MptcplabError(f"the kernel build failed: {error}") from error


@contextmanager
def building(tree: Path, progress: BuildProgress) -> Iterator[Locks]:
    """Keeps others from building in a tree, and from removing anything; yields the locks.

    Reports when it has to wait.
    """
    with _refusals_as_failure(), _lock_file("lock") as all_trees:
        fcntl.flock(all_trees, fcntl.LOCK_SH)
        with _lock_file(f"locks/{tree.name}") as its_own:
            try:
                fcntl.flock(its_own, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                progress.step("wait", "another build of this source is at work")
                fcntl.flock(its_own, fcntl.LOCK_EX)
            yield all_trees.fileno(), its_own.fileno()


@contextmanager
def _lock_file(name: str) -> Iterator[IO[str]]:
    """A file of the cache to be locked. Raises MachineError if the cache cannot be written."""
    path = place() / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        opened = path.open("a+")
    except OSError as error:
        without = "you can use the kernels there, but build none"
        raise doctor.unwritable(place(), error, without) from error
    with opened as file:
        yield file
