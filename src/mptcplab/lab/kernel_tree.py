# SPDX-License-Identifier: GPL-2.0-only
"""A kernel source in the cache: unpacked, with our patches and files in it.

A tree contains `src`, `originals` (the files that patches change, as they were) and, if it is an
archive's, `source.json` (its origin). A file is written only if its content changes, since make
compares times.

Programs started here hold the `locks` of the build, too, and end with this process: if it is
killed, none of them continues beside the next build.
"""

from __future__ import annotations

import fnmatch
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mptcplab import resources
from mptcplab.errors import InputError, MptcplabError, Problem
from mptcplab.files import new_directory, new_file

#: The series that has patches for the out-of-tree implementation of MPTCP, and none for upstream's,
#: which is younger. docs/out-of-tree.md.
OUT_OF_TREE = "4.19"
#: The series of Debian's own archive, which the lab uses unless another source is chosen.
KERNEL_VERSION = "6.12"
# In the source tree; one of the patches makes the kernel build this directory.
OWN_DIRECTORY = "net/mptcp/lab"
#: In a tree: the originals of the files that patches change, and the list of these.
ORIGINALS, PATCHED = "originals", "patched.json"

# Parts of a source that are never compiled here, as patterns for tar below the top directory. Files
# without a dot in their names stay: Kconfig reads files of all parts and architectures.
_OTHER_ARCHITECTURES = (
    *("alpha", "arc", "arm", "arm64", "csky", "hexagon", "loongarch", "m68k", "microblaze"),
    *("mips", "nios2", "openrisc", "parisc", "powerpc", "riscv", "s390", "sh", "sparc", "xtensa"),
)
_OTHER_DRIVERS = (
    *("accel", "acpi", "bluetooth", "clk", "comedi", "crypto", "dma", "edac", "gpu", "hid"),
    *("hwmon", "i2c", "iio", "infiniband", "input", "iommu", "isdn", "leds", "md", "media", "mfd"),
    *("misc", "mmc", "mtd", "nvme", "pci", "phy", "pinctrl", "platform", "power", "regulator"),
    *("s390", "scsi", "soc", "spi", "staging", "target", "thermal", "usb", "video"),
)
_OTHER_FILE_SYSTEMS = (
    *("bcachefs", "btrfs", "ceph", "ext4", "f2fs", "gfs2", "jfs", "jffs2", "nfs", "nfsd", "nilfs2"),
    *("nls", "ntfs3", "ocfs2", "orangefs", "smb", "ubifs", "udf", "ufs", "xfs"),
)
_OTHER_NETWORKS = ("batman-adv", "bluetooth", "mac80211", "rds", "rxrpc", "sctp", "sunrpc", "tipc")
_NOT_UNPACKED = (
    *(f"arch/{name}/*.*" for name in _OTHER_ARCHITECTURES),
    *(f"drivers/{name}/*.[ch]" for name in _OTHER_DRIVERS),
    "drivers/net/*/*.[ch]",
    *(f"fs/{name}/*.[ch]" for name in _OTHER_FILE_SYSTEMS),
    *(f"net/{name}/*.[ch]" for name in _OTHER_NETWORKS),
    *(f"{name}/*.*" for name in ("Documentation", "samples", "sound")),
    "rust/*.[ch]",
    "rust/*.rs",
    *(f"tools/{name}" for name in ("perf", "testing")),
)
# Files in a tree that has been built in: kernel builds refuse such a tree.
_NOT_SOURCE = (
    *(".git", ".config", ".config.old", "include/config", "include/generated"),
    *("arch/*/include/generated", "*.o", "*.a", "*.ko", "*.cmd", "vmlinux", "linux"),
)
# As tar matches the same patterns with the options below: a directory, with all that is in it.
_LEFT_OUT = re.compile(
    "|".join(rf"{fnmatch.translate(each)[:-2]}(/|\Z)" for each in (*_NOT_UNPACKED, *_NOT_SOURCE))
)

_TAR_MATCHING = ("--anchored", "--wildcards", "--wildcards-match-slash")
# Extracted files are ours, with the present time.
_TAR_OURS = ("--no-same-owner", "--no-same-permissions", "--touch")
# To find the Makefile of an archive: Debian's takes one.
_MOST_SECONDS = 120
_LINES_SHOWN = 12
# A series may add to the configuration: patches/SERIES/series.config.
_SERIES_CONFIG = "series.config"
# Below the patches of a series: directories for older versions.
_UNTIL = "until-"


#: The file descriptors of the locks of a build, which hold until all of its programs have ended.
Locks = Sequence[int]


class SourceError(MptcplabError):
    """A kernel, or a module for it, cannot be built from this source, on no machine."""


def supported_series() -> list[str]:
    """The series of Linux with upstream's MPTCP that there are patches for, the oldest first."""
    found = (path.name for path in (resources.KERNEL / "patches").glob("[0-9]*.[0-9]*"))
    return sorted((name for name in found if name != OUT_OF_TREE), key=_number)


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def series_of(version: str) -> str:
    """The series of a version: 6.12 of 6.12.117."""
    return ".".join(version.split(".")[:2])


def patch_files(version: str) -> list[Path]:
    """The patches for a version, of both sets, in the order of their numbers: docs/kernels.md."""
    found = {path.name: path for each in _places(version) for path in each.glob("*/*.patch")}
    return [found[name] for name in sorted(found)]


def config_files(version: str) -> list[Path]:
    """The additions of a version to the configuration; the last one takes precedence."""
    found = (each / _SERIES_CONFIG for each in _places(version))
    return [path for path in found if path.exists()]


def _places(version: str) -> list[Path]:
    """The directories that a version has its patches from: its own series', the next newer one's
    that has some, or the newest; and below it until-VERSION and until-SERIES.

    These are for that version and older ones: a file replaces one of the same name in an earlier
    directory of the list.
    """
    if series_of(version) == OUT_OF_TREE:
        return [resources.KERNEL / "patches" / OUT_OF_TREE]
    known, number = supported_series(), _number(version)
    not_older = [each for each in known if _number(each) >= number[:2]]
    own = resources.KERNEL / "patches" / (not_older or known[-1:])[0]
    older = {_number(path.name.removeprefix(_UNTIL)): path for path in own.glob(f"{_UNTIL}*")}
    lasts = [last for last in sorted(older, reverse=True) if number[: len(last)] <= last]
    return [own, *(older[last] for last in lasts)]


def directory_version(directory: Path, source: Path) -> str:
    """The version of the kernel in `directory`, which is or came from `source`.

    Raises InputError if it is no kernel.
    """
    makefile = directory / "Makefile"
    text = makefile.read_text(errors="replace") if makefile.is_file() else ""
    return version_of(text, source)


def archive_version(archive: Path) -> str:
    """The version of the kernel in an archive, from its Makefile, without unpacking the rest.

    Raises InputError as `directory_version` does, and for a file that is not an archive.
    """
    command = ["tar", "--extract", "--to-stdout", "--file", str(archive), "--occurrence=1"]
    makefile = f"{_top_directory(archive)}/Makefile"
    try:
        done = subprocess.run(
            ending_with_us([*command, makefile]),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            errors="replace",
            timeout=_MOST_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise bad_source(archive, f"no Makefile found within {_MOST_SECONDS} s") from None
    return version_of(done.stdout, archive)


def version_of(makefile: str, source: Path) -> str:
    """The version in the text of a Makefile. Raises InputError as `directory_version`."""
    lines = r"^VERSION = (\d+)\nPATCHLEVEL = (\d+)(?:\nSUBLEVEL = (\d+))?$"
    found = re.search(lines, makefile, re.MULTILINE)
    if found is None:
        raise bad_source(source, "not a kernel source: no Makefile with VERSION and PATCHLEVEL")
    return ".".join(found.groups(default="0"))


def bad_source(path: Path, what: str) -> InputError:
    series = " or ".join(supported_series())
    accepted = f"accepted is a Linux {series} source, an archive or a directory"
    accepted += f", or {OUT_OF_TREE} with the out-of-tree MPTCP"
    return InputError([Problem("--source", "", str(path), f"{what}; {accepted}")])


def require_out_of_tree(directory: Path, source: Path) -> None:
    """Raises InputError if `directory`, which came from `source`, is a plain Linux 4.19."""
    if not (directory / "net/mptcp/mptcp_ctrl.c").is_file():
        what = f"Linux {OUT_OF_TREE} without MPTCP: there is no net/mptcp/mptcp_ctrl.c"
        raise bad_source(source, what)


def is_unpacked_name(name: str) -> bool:
    """Whether the file with this name in a source gets into a tree."""
    return not _LEFT_OUT.match(name)


def is_unpacked(tree: Path, digest: str) -> bool:
    """Whether `tree` holds the source with that digest, complete.

    A tree from the future, since the clock was set back, does not count: make would compile all of
    it every time.
    """
    note, makefile = tree / "source.json", tree / "src" / "Makefile"
    return (
        note.exists()
        and bool(json.loads(note.read_text())["digest"] == digest)
        and makefile.exists()
        and makefile.stat().st_mtime_ns <= now_ns(tree)
    )


def now_ns(directory: Path) -> int:
    """The timestamp of files written now; a file server may set it."""
    with tempfile.TemporaryFile(dir=directory) as file:
        return os.fstat(file.fileno()).st_mtime_ns


def unpack(source: Path, digest: str, tree: Path, locks: Locks, *, whole: bool = False) -> None:
    """Makes `tree` from an archive; it gets its name only when it is complete.

    It has what User-Mode Linux needs, or else the `whole` source. Raises InputError if it is not a
    kernel source, or has links that lead out of it.
    """
    tree.parent.mkdir(parents=True, exist_ok=True)
    with new_directory(tree) as part:
        (part / "src").mkdir()
        _tar(source, part / "src", locks, _NOT_SOURCE if whole else (*_NOT_UNPACKED, *_NOT_SOURCE))
        directory_version(part / "src", source)
        check_links(part / "src", source)
        write_json(part / "source.json", {"path": str(source), "digest": digest})


def check_links(directory: Path, source: Path) -> None:
    """Raises InputError for a link that leads out of a source, since builds write into it."""
    inside = f"{directory.resolve()}/"
    for place, directories, files in os.walk(directory):
        for path in (os.path.join(place, name) for name in (*directories, *files)):
            if os.path.islink(path) and not f"{os.path.realpath(path)}/".startswith(inside):
                name = os.path.relpath(path, directory)
                raise bad_source(source, f"its {name} is a link that leads out of it")


def _top_directory(archive: Path) -> str:
    """The directory that has everything in an archive. Raises InputError if tar cannot read it."""
    with subprocess.Popen(
        ["tar", "--list", "--file", str(archive)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as listing:
        assert listing.stdout is not None
        first = listing.stdout.readline().strip().removesuffix("/")
        listing.kill()
    if not first:
        raise bad_source(archive, "not an archive that tar can read")
    return first.partition("/")[0]


def _tar(source: Path, target: Path, locks: Locks, without: Sequence[str]) -> None:
    """Extracts what a build needs, with GNU tar, which writes nothing outside `target`."""
    top = _top_directory(source)
    left_out = [f"--exclude={top}/{pattern}" for pattern in without]
    what = ["--extract", "--file", str(source), "--strip-components=1", "--directory", str(target)]
    done = subprocess.run(
        ending_with_us(["tar", *what, *_TAR_MATCHING, *left_out, *_TAR_OURS]),
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        # xz before 5.6 uses one CPU unless asked otherwise
        env={"XZ_DEFAULTS": "--threads=0", **os.environ, "LC_ALL": "C"},
        pass_fds=locks,
        check=False,
    )
    if done.returncode:
        last = done.stderr.strip().splitlines()[-3:]
        raise MptcplabError(
            "\n  ".join([f"the kernel source {source} could not be unpacked", *last])
        )


def ending_with_us(command: Sequence[str], number: str = "KILL") -> list[str]:
    """A command that gets a signal when this process ends, for any reason."""
    return ["setpriv", "--pdeathsig", number, *command] if shutil.which("setpriv") else [*command]


class PatchError(SourceError):
    """A patch, `patch`, does not apply."""

    def __init__(self, patch: str, message: str) -> None:
        super().__init__(message)
        self.patch = patch


def patch(tree: Path, patches: Mapping[str, bytes], locks: Locks) -> None:
    """Updates the patches in `tree/src`; only files whose content changes are written.

    They are applied to copies of the original files: the patches that were in the tree before do
    not matter.
    """
    source, originals, scratch = tree / "src", tree / ORIGINALS, tree / "scratch"
    patched = read_patched(tree)
    touched = {name for content in patches.values() for name in _files_of_patch(content)}

    # First save the originals, then change the tree: a killed build leaves it repairable.
    for name in sorted(touched - patched.keys()):
        patched[name] = (source / name).is_file()
        if patched[name]:
            _copy(source / name, originals / name)
    write_json(tree / PATCHED, patched)

    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    for name, existed in patched.items():
        if existed:
            _copy(originals / name, scratch / name)
    for patch, content in patches.items():
        _apply_patch(scratch, patch, content, locks)
    for name in patched:
        if (scratch / name).is_file():
            write_if_changed(source / name, (scratch / name).read_bytes())
        else:
            (source / name).unlink(missing_ok=True)
    shutil.rmtree(scratch)


def read_patched(tree: Path) -> dict[str, bool]:
    """The files that patches have changed, each with whether it has an original."""
    note = tree / PATCHED
    return dict(json.loads(note.read_text())) if note.exists() else {}


def _apply_patch(directory: Path, name: str, content: bytes, locks: Locks) -> None:
    options = ["--strip=1", "--batch", "--forward", "--no-backup-if-mismatch", "--fuzz=1"]
    done = subprocess.run(
        ending_with_us(["patch", *options]),
        cwd=directory,
        pass_fds=locks,
        input=content,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if done.returncode == 0:
        return
    output = done.stdout.decode(errors="replace").strip().splitlines()
    lines = [f"the patch {name} does not apply to this kernel source", *_rejected(output)]
    raise PatchError(name, "\n  ".join(lines))


def _rejected(output: Sequence[str]) -> list[str]:
    """The hunks that patch(1) rejected; the end of its output if it names none."""
    file, found = "", []
    for line in output:
        if begun := re.match(r"patching file (\S+)", line):
            file = begun[1]
        elif failed := re.match(r"Hunk #(\d+) (?:FAILED|NOT MERGED) at (\d+)", line):
            found.append(f"rejected: {file}, hunk {failed[1]}, at line {failed[2]}")
    return found or list(output[-_LINES_SHOWN:])


def _files_of_patch(content: bytes) -> set[str]:
    """The files that a patch changes, creates, removes or renames, without the leading `a/`.

    patch(1) itself refuses a name that leads out of the source.
    """
    text = content.decode(errors="replace")
    changed = re.findall(r"^(?:---|\+\+\+) [^/\s]+/([^\t\n]+)", text, re.MULTILINE)
    renamed = re.findall(r"^rename (?:from|to) (.+)$", text, re.MULTILINE)
    return {name for name in (*changed, *renamed) if ".." not in Path(name).parts}


def synchronise(directory: Path, files: Mapping[str, bytes]) -> None:
    """Makes `directory` hold exactly `files`, and writes only those whose content changed."""
    present = [path for path in directory.rglob("*") if path.is_file()]
    for path in present:
        if str(path.relative_to(directory)) not in files:
            path.unlink()
    for name, content in files.items():
        write_if_changed(directory / name, content)


def keep_times(source: Path, names: Iterable[str], note: Path) -> None:
    """Gives files the times at which a variant got their present content.

    Variants share a source, and patches and our files differ: each variant writes its own content.
    Without this, make would compile these files again after each change of the variant. `note` has
    the content that the variant had, and its times; any other content is new.
    """
    before = json.loads(note.read_text()) if note.exists() else {}
    now, found = now_ns(source), {}
    for name in sorted(names):
        path = source / name
        if not path.is_file():
            continue
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        had, time_ns = before.get(name, ("", now))
        # a time to come, since the clock was set back, would be compiled each time
        if had != digest or time_ns > now:
            time_ns = now
        if path.stat().st_mtime_ns != time_ns:
            os.utime(path, ns=(time_ns, time_ns))
        found[name] = (digest, time_ns)
    write_json(note, found)


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with new_file(path) as part:
        part.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n")


def write_if_changed(path: Path, content: bytes) -> None:
    """make compares times: it would compile a file that is written again with the same content.

    It would also compile, each time, a file from the future, since the clock was set back.
    """
    if path.is_file() and path.read_bytes() == content:
        if path.stat().st_mtime_ns > now_ns(path.parent):
            os.utime(path)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def digests(contents: Mapping[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
