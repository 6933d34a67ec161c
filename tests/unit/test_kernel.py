# SPDX-License-Identifier: GPL-2.0-only
"""How a kernel is built, with a `make` that only pretends to compile."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from mptcplab import resources
from mptcplab.errors import InputError, MachineError, MptcplabError
from mptcplab.lab import doctor, kernel, kernel_make, kernel_names, kernel_tree
from mptcplab.lab.doctor import Check
from mptcplab.lab.kernel_make import Places
from mptcplab.lab.kernel_names import Named
from tests.vocabulary import until

MAKEFILE = "# SPDX\nVERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 3\nEXTRAVERSION =\n"

# Does what the kernel's own Makefile does, as far as kernel.py can see it. The image holds the
# patched file and our files, and is made again when one of them is newer. A file `slow.c` among
# ours makes it take for ever, `broken.c` fail. A module of a person's own is compiled without any
# flags.
FAKE_MAKE = """#!/bin/bash
for word; do
    case $word in
        --version) echo "GNU Make"; exit ;;
        --directory=*) source=${word#*=} ;;
        O=*) obj=${word#*=} ;;
        KCONFIG_ALLCONFIG=*) fragment=${word#*=} ;;
        M=*) external=${word#*=} ;;
        NOSTDINC_FLAGS=*) header=${word#*-include } header=${header%% *} ;;
        allnoconfig | prepare | linux | modules | modules_prepare) target=${target:-$word} ;;
    esac
done
if [ "$external" ]; then
    file=$external/$(sed -n 's/^obj-m := //p' "$external/Makefile")
    gcc -c -o "${file%.o}.ko" "${file%.o}.c"
    exit
fi
echo "$target" >>"$obj/../calls"
lab=$source/net/mptcp/lab
case $target in
    allnoconfig) grep -v UNKNOWN "$fragment" >"$obj/.config" ;;
    prepare)
        mkdir -p "$obj/init" "$obj/lib/kunit"
        echo "savedcmd_init/init_task.o := gcc -O2 -c -o init/init_task.o i.c" \\
            >"$obj/init/.init_task.o.cmd"
        echo "savedcmd_lib/kunit/assert.o := gcc -O2 -DMODULE -c -o lib/kunit/assert.o a.c" \\
            >"$obj/lib/kunit/.assert.o.cmd"
        ;;
    linux)
        if [ "$header" ] && ! (cd "$obj" && [ -e "$header" ]); then
            echo "<command-line>: fatal error: $header: No such file or directory"
            exit 2
        fi
        echo "  CC      net/mptcp/protocol.o"
        if [ -e "$lab/broken.c" ]; then
            echo "$lab/broken.c: In function 'f':"
            echo "$lab/broken.c:3:5: error: 'x' undeclared"
            echo "    3 |     x = 1;"
            echo "make[1]: *** [net/mptcp/lab/broken.o] Error 1"
        fi
        if [ -e "$lab/slow.c" ]; then
            sh -c "sleep 600 & trap 'sleep 0.3; kill \\$!; exit' TERM; wait" & # a little later
            trap 'kill $!; echo "make: *** Deleting file"; exit 2' TERM
            echo "$$ $!" >"$obj/../pids"
            # not `wait`, which can miss a signal that comes as it begins
            while kill -0 $! 2>/dev/null; do sleep 0.1; done
        fi
        if [ -e "$lab/broken.c" ]; then exit 2; fi
        if [ "$(find "$source/net/mptcp" "$obj/.config" -newer "$obj/linux" 2>&1)" ]; then
            cat "$source/net/mptcp/protocol.c" "$lab"/*.c >"$obj/linux"
        fi
        echo "0x0 printk vmlinux EXPORT_SYMBOL" >"$obj/vmlinux.symvers"
        ;;
    modules)
        echo module >"$obj/lib/kunit/kunit.ko"
        echo lib/kunit/kunit.o >"$obj/modules.order"
        ;;
esac
"""

PATCH = """An example.

--- a/net/mptcp/protocol.c
+++ b/net/mptcp/protocol.c
@@ -1,3 +1,3 @@
 one
-two
+TWO
 three
"""


class Repository:
    """A kernel directory as in the repository, a kernel source, and a cache, all made up."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.own = root / "kernel/mptcp"
        self.patches = root / "kernel/patches/6.12/mptcp"
        self.config = root / "kernel/lab.config"
        self.source = root / "source"
        self.cache = root / "cache/mptcplab/kernel"
        self.write(
            "kernel/lab.config", "CONFIG_NET=y\nCONFIG_TCP_CONG_BBR=y\n# CONFIG_X is not set\n"
        )
        self.write("kernel/debug.config", "CONFIG_KASAN=y\n")
        self.write("kernel/upstream.config", "CONFIG_TCP_CONG_BBR=n\n")
        self.write("kernel/adapter.config", "")
        self.write("kernel/mptcp/probe.c", "probe\n")
        self.write("kernel/mptcp/sched/roundrobin.c", "roundrobin\n")
        self.write("kernel/patches/6.12/mptcp/0001-an-example.patch", PATCH)
        self.write("kernel/precompiled/headers.h", "")
        self.write("kernel/precompiled/names.h", "")
        self.write("source/Makefile", MAKEFILE)
        self.write("source/net/mptcp/protocol.c", "one\ntwo\nthree\n")
        self.write("bin/make", FAKE_MAKE)
        (root / "bin/make").chmod(0o755)

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def packed(self, name: str = "linux.tar", *, top: str = "linux") -> Path:
        """The source as an archive."""
        with tarfile.open(self.root / name, "w:gz" if name.endswith(".gz") else "w") as archive:
            archive.add(self.source, arcname=top)
        return self.root / name

    def build(self, variant: str = "lab") -> kernel.KernelBuild:
        return kernel.build(self.source, variant=variant, quiet=True)

    @property
    def tree(self) -> Path:
        (tree,) = (self.cache / "trees").iterdir()
        return tree

    def calls(self, variant: str = "lab") -> list[str]:
        """What make was called for so far."""
        return (self.tree / variant / "calls").read_text().split()

    def finished(self) -> list[Path]:
        """Everything in the cache that looks like a finished kernel."""
        return sorted(self.cache.glob("*/linux"))

    def start(
        self, do: str = "print(build.id)", source: Path | None = None
    ) -> subprocess.Popen[str]:
        """The same build in a process of its own, with its progress on standard error; then `do`
        something with it.
        """
        program = (
            "from pathlib import Path; from mptcplab import resources;"
            "from mptcplab.lab import kernel;"
            f"resources.KERNEL = Path({str(self.root / 'kernel')!r});"
            f"build = kernel.build(Path({str(source or self.source)!r})); {do}"
        )
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [sys.executable, "-c", program], stdout=pipe, stderr=pipe, text=True
        )

    def start_and_hang(self) -> tuple[subprocess.Popen[str], list[int]]:
        """A build that is compiling, for ever; and the process ids of its make and compiler."""
        self.write("kernel/mptcp/slow.c", "slow\n")
        process = self.start()
        (pids,) = until(lambda: [*self.cache.glob("trees/*/lab/pids")])
        until(lambda: pids.read_text().endswith("\n"))
        return process, [int(pid) for pid in pids.read_text().split()]

    def mend(self) -> None:
        """The file that makes the build hang or fail is taken away again."""
        for name in ("slow.c", "broken.c"):
            (self.own / name).unlink(missing_ok=True)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    made = Repository(tmp_path)
    monkeypatch.setattr(resources, "KERNEL", tmp_path / "kernel")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    return made


def is_running(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


# --- what is built, and when


def test_a_build_holds_the_patched_source_and_our_files(repository: Repository) -> None:
    built = repository.build()
    assert built.image.read_text() == "one\nTWO\nthree\nprobe\n"
    assert built.image.stat().st_mode & 0o111
    assert "CONFIG_NET=y" in built.config.read_text()
    assert kernel.current() == built
    # nothing is built twice
    calls = repository.calls()
    for path in repository.own.rglob("*.c"):
        path.touch()
    for name in ("probe.c~", ".probe.c.swp"):  # an editor's
        repository.write(f"kernel/mptcp/{name}", "old")
    assert repository.build() == built
    assert repository.calls() == calls


@pytest.mark.parametrize(
    "changed",
    [
        "kernel/lab.config",
        "kernel/mptcp/probe.c",
        "kernel/mptcp/sched/roundrobin.c",
        "kernel/mptcp/sched/new.c",
        "kernel/precompiled/headers.h",
        "source/net/mptcp/protocol.c",
        "the compiler",
    ],
)
def test_another_input_is_another_build(
    repository: Repository, changed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = repository.build()
    if changed == "the compiler":
        monkeypatch.setattr(kernel, "compiler_version", lambda _name="gcc": "gcc 99")
        assert kernel.current() is None
    else:
        path = repository.root / changed
        repository.write(changed, (path.read_text() if path.exists() else "") + "\n")
    assert repository.build().id != first.id
    assert len(repository.finished()) == 2


def test_only_files_that_changed_are_written(repository: Repository) -> None:
    repository.build()
    lab = repository.tree / "src" / kernel_tree.OWN_DIRECTORY
    files = (
        lab / "probe.c",
        lab / "sched/roundrobin.c",
        repository.tree / "src/net/mptcp/protocol.c",
    )
    before = [path.stat().st_mtime_ns for path in files]
    repository.write("kernel/mptcp/probe.c", "another probe\n")
    repository.build()
    after = [path.stat().st_mtime_ns for path in files]
    assert after[0] > before[0]
    assert after[1:] == before[1:]


def test_a_change_of_the_variant_and_back_leaves_nothing_to_compile(repository: Repository) -> None:
    """But never would make take an object for newer than another content of its source."""
    shared = kernel.tree_of(repository.source) / "src/net/mptcp/protocol.c"

    def time_of(variant: str) -> tuple[str, int]:
        repository.build(variant)
        return shared.read_text(), shared.stat().st_mtime_ns

    lab, plain = time_of("lab"), time_of("engine")
    assert lab[0] != plain[0]
    assert lab[1] < plain[1]
    # each gets back its own content, with the time that it had, although another wrote it last
    for name, path in (("kernel/mptcp/a.c", "a"), ("kernel/mptcp/b.c", "b")):
        repository.write(name, path)
        assert (time_of("lab"), time_of("engine")) == (lab, plain)
    # the engine's content becomes the lab's: that is new for it, whatever its time in the lab
    engine = repository.root / "kernel/patches/6.12/engine"
    engine.mkdir(parents=True)
    (repository.patches / "0001-an-example.patch").rename(engine / "0001-an-example.patch")
    text, time_ns = time_of("engine")
    assert text == lab[0]
    assert time_ns > plain[1]
    repository.write("kernel/mptcp/c.c", "c")
    assert time_of("lab") == lab
    # a new variant takes for old the content with which the objects were made that it begins with
    assert time_of("upstream") == (text, time_ns)


def test_a_variant_begins_with_the_objects_of_the_most_similar_one(repository: Repository) -> None:
    for variant in ("lab", "upstream"):
        repository.build(variant)
        (repository.tree / variant / "obj" / f"{variant}.o").write_text("object")
    repository.build("engine")
    objects = repository.tree / "engine/obj"
    assert (objects / "upstream.o").exists()
    assert objects.joinpath("upstream.o").stat().st_mtime_ns == (
        repository.tree.joinpath("upstream/obj/upstream.o").stat().st_mtime_ns
    )
    # but not with objects that a killed build may have left in part
    (repository.tree / "lab/built").unlink()
    repository.build("debug")
    assert (repository.tree / "debug/obj/upstream.o").exists()
    assert "CONFIG_KASAN=y" in (repository.tree / "debug/obj/.config").read_text()


def test_objects_depend_on_the_options_that_precompiled_headers_mention(
    repository: Repository,
) -> None:
    header = repository.write("kernel/precompiled/headers.h", "#ifdef CONFIG_USED\n#endif\n")
    autoconf = repository.write("generated/autoconf.h", "")
    header.write_text(f'#include "{autoconf}"\n' + header.read_text())

    def name(options: str) -> str:
        autoconf.write_text(options)
        repository.write("kernel/lab.config", f"CONFIG_NET=y\n# {options}\n")
        repository.build()
        (found,) = (repository.tree / "lab/obj").glob("precompiled-*")
        return found.name

    without = name("#define CONFIG_OTHER 1\n")
    assert name("#define CONFIG_ANOTHER 1\n#define CONFIG_USED_BY_NONE 1\n") == without
    with_it = name("#define CONFIG_USED 1\n")
    assert len({without, with_it, name("#define CONFIG_USED 2\n")}) == 3
    assert name("#define CONFIG_USED_MODULE 1\n") not in (without, with_it)


@pytest.mark.parametrize("packed", [False, True])
def test_a_source_that_was_unpacked_in_part_is_unpacked_anew(
    repository: Repository, packed: bool
) -> None:
    source = repository.packed() if packed else repository.source
    kernel.build(source, quiet=True)
    (repository.tree / ("source.json" if packed else "files.json")).unlink()
    (repository.tree / "src/Makefile").unlink()
    repository.write("kernel/mptcp/probe.c", "another\n")
    assert "another" in kernel.build(source, quiet=True).image.read_text()
    assert (repository.tree / "src/Makefile").exists()


def test_a_cache_that_was_moved_is_built_in(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.build()
    (repository.root / "cache").rename(repository.root / "moved")
    monkeypatch.setenv("XDG_CACHE_HOME", str(repository.root / "moved"))
    repository.cache = repository.root / "moved/mptcplab/kernel"
    repository.write("kernel/mptcp/extra.c", "extra\n")
    assert "extra" in repository.build().image.read_text()


def test_the_next_build_lacks_removed_files_and_former_patches(repository: Repository) -> None:
    extra = repository.write("kernel/mptcp/extra.c", "extra\n")
    new = "--- /dev/null\n+++ b/net/mptcp/new.c\n@@ -0,0 +1 @@\n+new\n"
    patch = repository.write("kernel/patches/6.12/mptcp/0002-new.patch", new)
    assert "extra" in repository.build().image.read_text()
    extra.unlink()
    assert "extra" not in repository.build().image.read_text()
    made = repository.tree / "src/net/mptcp/new.c"
    assert made.read_text() == "new\n"
    patch.unlink()
    repository.build()
    assert not made.exists()
    patch = repository.patches / "0001-an-example.patch"
    patch.write_text(PATCH.replace("TWO", "2"))
    assert repository.build().image.read_text().startswith("one\n2\nthree\n")
    patch.unlink()
    assert repository.build().image.read_text().startswith("one\ntwo\nthree\n")


def test_a_patch_that_does_not_apply_is_named_with_file_and_hunk(repository: Repository) -> None:
    text = "one\ntwo\nthree\n" + "\n" * 20 + "four\nfive\nsix\n"
    repository.write("source/net/mptcp/protocol.c", text.replace("five", "another"))
    # the second hunk begins after the three lines of the first and 20 empty ones
    second = "@@ -24,3 +24,3 @@\n four\n-five\n+FIVE\n six\n"
    repository.write("kernel/patches/6.12/mptcp/0001-an-example.patch", PATCH + second)
    with pytest.raises(MptcplabError) as failure:
        repository.build()
    assert "the patch 0001-an-example.patch does not apply" in str(failure.value)
    assert "rejected: net/mptcp/protocol.c, hunk 2, at line 24\n" in str(failure.value)
    assert f"kernel build --engine-only --source {repository.source}" in str(failure.value)
    assert repository.finished() == []


def test_engine_only_needs_one_patch_for_mptcp(repository: Repository) -> None:
    repository.write("source/net/mptcp/protocol.c", "another\ntext\naltogether\n")
    new = "--- /dev/null\n+++ b/net/mptcp/{0}.c\n@@ -0,0 +1 @@\n+{0}\n"
    of_engine, of_ours = (
        "engine/0002-um-faster",
        "mptcp/0006-mptcp-build-the-files-in-net-mptcp-lab",
    )
    repository.write(f"kernel/patches/6.12/{of_engine}.patch", new.format("um"))
    repository.write(f"kernel/patches/6.12/{of_ours}.patch", new.format("ours"))
    built = repository.build("engine")
    assert built.image.read_text() == "another\ntext\naltogether\nprobe\n"
    assert not built.has_framework
    assert {path.name for path in (repository.tree / "src/net/mptcp").glob("*.c")} == {
        "protocol.c",
        "um.c",
        "ours.c",
    }
    (listed,) = kernel.built()
    assert listed == built
    # what it cannot do without is not offered to be left out
    repository.write(f"kernel/patches/6.12/{of_engine}.patch", PATCH)
    with pytest.raises(MptcplabError, match=r"0002-um-faster\.patch does not apply") as failure:
        repository.build("engine")
    assert "--engine-only" not in str(failure.value)


def test_an_option_without_effect_is_named_with_the_fragments(repository: Repository) -> None:
    repository.write("kernel/debug.config", "CONFIG_UNKNOWN_THING=y\n")
    with pytest.raises(
        MptcplabError,
        match=r"^1 option of kernel/lab\.config and kernel/debug\.config took no effect: .*\n"
        r"  CONFIG_UNKNOWN_THING=y: the kernel has n$",
    ):
        repository.build("debug")
    assert repository.finished() == []


@pytest.mark.parametrize(
    ("fragment", "config", "lost"),
    [
        ("CONFIG_A=y", "CONFIG_A=y", []),
        ("CONFIG_A=y", "# CONFIG_A is not set", ["CONFIG_A=y: the kernel has n"]),
        ("CONFIG_A=n", "", []),
        ("# CONFIG_A is not set", "CONFIG_A=y", ["CONFIG_A=n: the kernel has y"]),
        ("CONFIG_A=4", "CONFIG_A=2", ["CONFIG_A=4: the kernel has 2"]),
        ("# a comment\n\nCONFIG_A=y", "CONFIG_A=y\nCONFIG_B=y", []),
    ],
)
def test_options_are_compared_by_value(fragment: str, config: str, lost: list[str]) -> None:
    assert kernel_make.options_without_effect(fragment, config) == lost


# --- variants


SCHEDULER_PATCH = PATCH.replace("TWO", "SCHED").replace("-two", "-TWO")


def test_each_variant_has_its_fragments_on_top_of_the_labs(repository: Repository) -> None:
    before = repository.build(), repository.build("debug")
    repository.write("kernel/debug.config", "CONFIG_KASAN=y\nCONFIG_TCP_CONG_BBR=n\n")
    assert repository.build() == before[0]
    debug = repository.build("debug")
    assert debug.id != before[1].id
    options = "CONFIG_NET=y\nCONFIG_KASAN=y\nCONFIG_TCP_CONG_BBR=n"
    assert kernel_make.options_without_effect(options, debug.config.read_text()) == []


def test_the_upstream_kernel_lacks_our_schedulers(repository: Repository) -> None:
    repository.write("kernel/patches/6.12/mptcp/0002-mptcp-sched-carry.patch", SCHEDULER_PATCH)
    lab = repository.build()
    upstream = repository.build("upstream")
    assert lab.image.read_text().startswith("one\nSCHED\n")
    assert upstream.image.read_text().startswith("one\nTWO\n")
    repository.write("kernel/mptcp/sched/roundrobin.c", "another\n")
    repository.write("kernel/mptcp/tests/roundrobin_test.c", "test\n")
    assert repository.build("upstream") == upstream
    assert repository.build() != lab


def test_switching_between_variants_builds_nothing_again(repository: Repository) -> None:
    variants = ("lab", "debug", "upstream")
    first = [repository.build(variant) for variant in variants]
    assert len({build.id for build in first}) == len(variants)
    calls = {path: path.read_text() for path in repository.cache.glob("trees/*/*/calls")}
    assert len(calls) == len(variants)
    assert [repository.build(variant) for variant in variants] == first
    assert [kernel.current(variant) for variant in variants] == first
    assert {path: path.read_text() for path in calls} == calls


def test_the_newest_kernels_are_listed_first(repository: Repository) -> None:
    repository.write("kernel/cloud.config", "# CONFIG_WLAN is not set\n")
    old = repository.build()
    repository.write(
        "kernel/lab.config",
        "CONFIG_NET=y\nCONFIG_TCP_CONG_BBR=y\nCONFIG_WLAN=y\nCONFIG_NET_IPIP=m\n",
    )
    lab, cloud = repository.build(), repository.build("cloud")
    cloud.config.write_text("CONFIG_NET_IPIP=m\n# CONFIG_WLAN is not set\n")
    for age, build in enumerate((old, lab, cloud)):
        os.utime(build.image, (age, age))
    repository.write("cache/mptcplab/kernel/broken/build.json", "[]")
    assert kernel.built() == [cloud, lab, old]
    assert [kernel.configured_flavour(build) for build in (cloud, lab, old)] == [
        *("cloud", "amd64", "neither")
    ]
    assert (lab.flavour, cloud.flavour) == ("amd64", "cloud")


def test_the_parts_of_a_kernel_are_its_schedulers_and_all_else(repository: Repository) -> None:
    files = ("sched/fast.c", "sched/slow.c", "cc/kind.c", "framework.c", "tests/fast_test.c")
    for name in files:
        repository.write(f"kernel/mptcp/{name}", f"/* {name} */\n")
    first = kernel.parts(repository.build())
    assert {*first.files} >= {"sched/fast.c", "sched/slow.c", "cc/kind.c"}
    assert not {"framework.c", "tests/fast_test.c"} & {*first.files}

    def changed(name: str) -> kernel.Parts:
        repository.write(f"kernel/mptcp/{name}", "/* other */\n")
        return kernel.parts(repository.build())

    second = changed("sched/slow.c")
    assert second.base == first.base
    assert {n for n in first.files if first.files[n] != second.files[n]} == {"sched/slow.c"}
    # tests of the kernel do not go into it
    assert changed("tests/fast_test.c") == second
    third = changed("framework.c")
    assert (third.base != first.base, third.files) == (True, second.files)


# --- a scheduler of a person's own

SCHEDULER = """\
extern int mps_register(void);
struct { const char *name; } ops = { .name = "mine" };
int start(void) { return mps_register(); }
"""


@pytest.mark.parametrize("name", ["mine", "a23456789012345"])
def test_a_scheduler_is_compiled_once_for_each_kernel(repository: Repository, name: str) -> None:
    built, text = repository.build(), SCHEDULER.replace("mine", name)
    file = repository.write(f"{name}.c", text)
    made = kernel.module(built, file, quiet=True)
    assert (made.name, made.path.name) == (name, f"{name}.ko")
    assert made.path.read_bytes().startswith(b"\x7fELF")
    stamp = made.path.stat().st_mtime_ns
    file.touch()
    elsewhere = repository.write(f"elsewhere/{name}.c", text)
    assert kernel.module(built, elsewhere, quiet=True) == made
    assert made.path.stat().st_mtime_ns == stamp
    file.write_text(text + "int x;\n")
    assert kernel.module(built, file, quiet=True).digest != made.digest
    other = kernel.module(repository.build("debug"), elsewhere, quiet=True)
    assert other.digest != made.digest


def test_objects_that_are_at_another_kernel_are_brought_back_first(repository: Repository) -> None:
    first = repository.build()
    probe = repository.own / "probe.c"
    before = probe.read_text()
    probe.write_text("another\n")
    repository.build()
    probe.write_text(before)
    assert repository.build() == first
    calls = repository.calls().count("linux")
    kernel.module(first, repository.write("mine.c", SCHEDULER), quiet=True)
    assert repository.calls().count("linux") == calls + 1
    assert (repository.tree / "src" / kernel_tree.OWN_DIRECTORY / "probe.c").read_text() == before


def test_a_kernel_whose_files_have_changed_takes_no_new_module(repository: Repository) -> None:
    built = repository.build()
    repository.write("kernel/mptcp/probe.c", "another\n")
    with pytest.raises(MptcplabError, match=r"have changed since\n.*kernel build --variant lab"):
        kernel.module(built, repository.write("mine.c", SCHEDULER), quiet=True)
    with pytest.raises(MptcplabError, match=r"KUnit and its tests cannot be compiled for kernel"):
        kernel.kunit_modules(built, quiet=True)


def test_warnings_are_shown(repository: Repository, capfd: pytest.CaptureFixture[str]) -> None:
    built = repository.build()
    file = repository.write("mine.c", "#warning look here\n" + SCHEDULER)
    kernel.module(built, file)
    assert f"{file}:1:2: warning: #warning look here" in capfd.readouterr().err
    file.write_text("int f(void) { return 0; }\n")
    with pytest.raises(MptcplabError, match=r"mine\.c registers no scheduler"):
        kernel.module(built, file, quiet=True)


# --- the source


def test_the_source_is_remembered(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    debian = repository.packed("debian.tar")
    monkeypatch.setattr(doctor, "DEBIAN_SOURCE", debian)
    of_debian = kernel.build(quiet=True)
    chosen = repository.build()
    assert chosen.id != of_debian.id
    assert kernel.build(quiet=True) == chosen
    chosen_check = Check("kernel source", True, f"{repository.source}, chosen by --source")
    assert kernel.source_check() == chosen_check
    assert kernel.build(debian, quiet=True) == of_debian
    assert kernel.build(quiet=True) == of_debian
    assert kernel.source_check() == Check("kernel source", True, str(debian))


def test_a_remembered_source_that_is_gone_is_named(repository: Repository) -> None:
    repository.build()
    repository.source.rename(repository.root / "elsewhere")
    assert kernel.current() is None
    with pytest.raises(MptcplabError, match=r"is gone: .*/source\n.*kernel build --source"):
        kernel.build(quiet=True)
    check = kernel.source_check()
    assert not check.ok
    assert check.detail.endswith(f"is gone: {repository.source}")
    assert "kernel build --source" in check.remedy
    (repository.cache / "source.json").write_text("{}")
    assert "does not say where the kernel source is" in kernel.source_check().detail


@pytest.mark.parametrize("packed", [False, True])
def test_each_series_has_its_own_patches(repository: Repository, packed: bool) -> None:
    repository.write("kernel/patches/7.3/mptcp/0001-an-example.patch", PATCH.replace("TWO", "7"))
    # In the order of the numbers, whichever set a patch is in.
    next_patch = PATCH.replace("TWO", "seven").replace("-two", "-7")
    repository.write("kernel/patches/7.3/engine/0002-another.patch", next_patch)
    repository.write("source/Makefile", MAKEFILE.replace("6", "7").replace("12", "3"))
    path = repository.packed("linux.tar.gz", top=".") if packed else repository.source
    # the last fragment: its options take precedence
    repository.write("kernel/patches/7.3/series.config", "# CONFIG_NET is not set\nCONFIG_N=y\n")
    made = kernel.build(path, quiet=True)
    assert made.image.read_text().startswith("one\nseven\n")
    assert "CONFIG_N=y" in made.config.read_text()
    assert kernel.built() == [made]
    assert kernel.build(quiet=True) == made


@pytest.mark.parametrize(
    ("version", "place", "more"),
    [
        ("6.1.0", "6.12/until-6.12.9", True),
        ("6.12.0", "6.12/until-6.12.9", True),
        ("6.12.9", "6.12/until-6.12.9", True),
        # versions are numbers
        ("6.12.10", "6.12/until-6.12.111", True),
        ("6.12.111", "6.12/until-6.12.111", True),
        ("6.12.112", "6.12", False),
        # without patches of its own, a series has those of the next newer one
        ("6.13.0", "7.3/until-6.18", False),
        ("6.18.99", "7.3/until-6.18", False),
        ("6.19.0", "7.3/until-7.1", False),
        ("7.1.5", "7.3/until-7.1", False),
        ("7.2.0", "7.3", False),
        ("7.3.0", "7.3", False),
        ("10.0.0", "7.3", False),
    ],
)
def test_older_versions_have_other_patches(
    repository: Repository, version: str, place: str, more: bool
) -> None:
    example, another = "mptcp/0001-an-example.patch", "engine/0002-more.patch"
    for each in (
        *(f"6.12/until-6.12.{last}/{example}" for last in (9, 111)),
        f"6.12/until-6.12.111/{another}",
        *(f"7.3/{below}{example}" for below in ("", "until-6.18/", "until-7.1/")),
    ):
        repository.write(f"kernel/patches/{each}", PATCH)
    found = kernel_tree.patch_files(version)
    names = [str(file.relative_to(repository.root / "kernel/patches")) for file in found]
    assert names == [f"{place}/{example}", *[f"6.12/until-6.12.111/{another}"] * more]


@pytest.mark.parametrize("packed", [False, True])
def test_another_tree_is_refused(repository: Repository, packed: bool) -> None:
    repository.write("source/Makefile", "all:\n")
    path = repository.packed() if packed else repository.source
    refused = r"/(source|linux.tar): not a kernel source: .*; accepted is a Linux"
    with pytest.raises(InputError, match=refused):
        kernel.build(path, quiet=True)
    assert repository.finished() == []
    # a version of two numbers is the first of its series
    assert kernel_tree.version_of("VERSION = 6\nPATCHLEVEL = 13\n", Path()) == "6.13.0"


def test_wrong_builds_are_refused(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="not an archive"):
        kernel.build(repository.config, quiet=True)
    with pytest.raises(InputError, match="neither a file nor a directory"):
        kernel.build(repository.root / "nowhere", quiet=True)
    accepted = "unknown kernel variant; accepted is one of lab, cloud, debug"
    with pytest.raises(InputError, match=f"fast: {accepted}"):
        repository.build("fast")
    monkeypatch.setenv("XDG_CACHE_HOME", str(repository.write("no-directory", "")))
    with pytest.raises(MptcplabError, match="no-directory"):
        repository.build()


@pytest.mark.parametrize("tool", ["tar", "xz"])
def test_a_missing_unpacker_is_reported(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    path = repository.write("linux.tar.xz", "no archive, but that cannot be known")
    there = doctor.find_tool
    monkeypatch.setattr(doctor, "find_tool", lambda name: None if name == tool else there(name))
    with pytest.raises(MachineError, match=f"{tool}: missing"):
        kernel.build(path, quiet=True)


# --- what goes wrong


def test_a_failed_build_tells_the_first_error_and_leaves_no_kernel(repository: Repository) -> None:
    repository.write("kernel/mptcp/broken.c", "broken\n")
    with pytest.raises(MptcplabError) as failure:
        repository.build()
    assert str(failure.value).splitlines()[:4] == [
        "the kernel build failed",
        "  kernel/mptcp/broken.c: In function 'f':",
        "  kernel/mptcp/broken.c:3:5: error: 'x' undeclared",
        "      3 |     x = 1;",
    ]
    assert f"log: {repository.tree / 'lab/build.log'}" in str(failure.value)
    assert repository.finished() == []
    repository.mend()
    assert repository.build().image.exists()


LOG_OF_TWO_COMPILERS = """\
  CC      net/mptcp/lab/probe.o
  CC      net/mptcp/protocol.o
/cache/src/net/mptcp/lab/probe.c: In function 'sample':
/cache/src/net/mptcp/lab/probe.c:7:9: warning: unused variable 'y' [-Wunused-variable]
    7 |     int y;
      |         ^
/cache/src/net/mptcp/lab/probe.c:12:3: error: 'x' undeclared (first use in this function)
   12 |   x = 1;
      |   ^
/cache/src/net/mptcp/lab/probe.c:12:3: note: each undeclared identifier is reported only once
make[5]: *** [/cache/src/scripts/Makefile.build:234: net/mptcp/lab/probe.o] Error 1
/cache/src/net/mptcp/protocol.c:99:1: error: expected identifier
make[4]: *** Waiting for unfinished jobs....
"""


@pytest.mark.parametrize(
    ("log", "first"),
    [
        (
            "  LD      vmlinux\nld: net/x.o: in function `f':\nx.c:(.text+0x1): undefined"
            " reference to `g'\nmake: *** [Makefile:1: vmlinux] Error 1\n",
            "ld: net/x.o: in function `f':",
        ),
        (
            "/cache/src/net/mptcp/lab/Kconfig:3: syntax error\nmake: *** [x] Error 1\n",
            "kernel/mptcp/Kconfig:3: syntax error",
        ),
        ("a\nmake[1]: *** [Makefile:7: x] Killed\n", "make[1]: *** [Makefile:7: x] Killed"),
        (
            "src/a.c:1:10: fatal error: b.h: No such file or directory\ncompilation terminated.\n",
            "src/a.c:1:10: fatal error: b.h: No such file or directory",
        ),
    ],
)
def test_the_first_error_is_found(log: str, first: str) -> None:
    assert kernel_make.first_error(log, Places(Path("/cache/src")))[0] == first


def test_an_error_of_the_compiler_is_found_with_its_place() -> None:
    assert kernel_make.first_error(LOG_OF_TWO_COMPILERS, Places(Path("/cache/src"))) == [
        "kernel/mptcp/probe.c:12:3: error: 'x' undeclared (first use in this function)",
        "   12 |   x = 1;",
        "      |   ^",
    ]


def test_an_error_is_said_when_it_occurs_and_once(repository: Repository) -> None:
    repository.write("kernel/mptcp/broken.c", "broken\n")
    process, pids = repository.start_and_hang()
    assert process.stderr is not None
    lines = [process.stderr.readline() for _ in range(7)]
    assert lines[4:] == [
        "kernel/mptcp/broken.c: In function 'f':\n",
        "kernel/mptcp/broken.c:3:5: error: 'x' undeclared\n",
        "    3 |     x = 1;\n",
    ]
    assert is_running(pids[0])
    os.kill(pids[1], signal.SIGTERM)
    *_, last, log = process.communicate()[1].splitlines()
    assert last == "mptcplab.lab.kernel_make.MakeFailedError: the kernel build failed"
    assert log == f"  log: {repository.tree / 'lab/build.log'}"


def test_places_are_those_of_the_users_files(tmp_path: Path) -> None:
    """Our patches add lines, and a line of theirs is in no file of the user."""
    source = tmp_path / "tree/src"
    for name, text in {
        "tree/originals/net/a.c": "1\n2\n3\n4\n",
        "tree/src/net/a.c": "1\nours\nours\n2\n3\nours\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    log = f"""\
In file included from {source}/net/a.c:4,
                 from {source}/net/b.c:7:
{source}/net/a.c:5:9: error: no
    4 | 2
    5 | 3
      | ^
{source}/net/a.c:2:1: note: ours
    2 | ours
{source}/net/mptcp/lab/probe.c:8:1: note: our own file
"""
    wanted = f"""\
In file included from /home/me/linux/net/a.c:2,
                 from /home/me/linux/net/b.c:7:
/home/me/linux/net/a.c:3:9: error: no
    2 | 2
    3 | 3
      | ^
{source}/net/a.c:2:1: note: ours
    2 | ours
kernel/mptcp/probe.c:8:1: note: our own file
"""
    shown = Places(source, Path("/home/me/linux")).shown(log.splitlines())
    assert shown == wanted.splitlines()
    # of an archive, or a commit
    assert Places(source).shown([f"{source}/net/a.c:5:9: error: no"]) == ["net/a.c:3:9: error: no"]


LOG_OF_WARNINGS = """\
a.c:7: warning: "pr_fmt" redefined
    7 | #define pr_fmt(fmt) "a: " fmt
In file included from printk.h:1,
                 from /cache/obj/precompiled-0123/headers.h:5:
printk.h:4: note: this is the location of the previous definition
a.c: In function 'f':
a.c:9:3: warning: unused variable 'x'
    9 |   int x;
      |       ^
a.c:9:3: note: somewhere
b.c:1:1: fatal error: no
"""


def test_messages_of_the_compiler_are_told_apart() -> None:
    found = kernel_make.messages(LOG_OF_WARNINGS.splitlines())
    assert [len(each) for each in found] == [5, 5, 1]
    assert list(map(kernel_make.is_of_precompiled, found)) == [True, False, False]


def test_progress_never_passes_its_total(capfd: pytest.CaptureFixture[str]) -> None:
    with kernel_make.BuildProgress(quiet=False) as progress:
        for done in range(1, 951):
            progress.advance(done, 690)
    lines = capfd.readouterr().err.splitlines()
    assert lines[8:] == [
        "kernel: compile: 621 of about 690 files",
        "kernel: compile: 690 of about 690 files",
        "kernel: compile: 700 files",
        "kernel: compile: 800 files",
        "kernel: compile: 900 files",
    ]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_make(repository: Repository, number: signal.Signals) -> None:
    process, pids = repository.start_and_hang()
    process.send_signal(number)
    process.communicate()
    assert process.returncode != 0
    until(lambda: not any(is_running(pid) for pid in pids))
    assert repository.finished() == []
    repository.mend()
    assert repository.build().image.exists()


@pytest.mark.parametrize("with_make", [False, True])
def test_a_killed_build_goes_on_where_it_was(repository: Repository, with_make: bool) -> None:
    """make is there to delete what it was making, and nothing else is made anew. If it was killed,
    too, none of its objects is trusted.
    """
    process, pids = repository.start_and_hang()
    written = repository.tree / "lab/obj/written.o"
    written.touch()
    if with_make:
        process.send_signal(signal.SIGSTOP)  # it ends nothing in an orderly way
        os.killpg(os.getpgid(pids[0]), signal.SIGKILL)
    process.kill()
    process.communicate()
    assert repository.finished() == []
    repository.mend()
    calls = repository.calls()
    assert repository.build().image.exists()
    assert not any(is_running(pid) for pid in pids)
    assert written.exists() != with_make
    assert with_make or repository.calls() == [*calls, "linux"]


def test_two_builds_at_once_are_one(repository: Repository) -> None:
    first, pids = repository.start_and_hang()
    second = repository.start()
    assert second.stderr is not None
    line = "kernel: wait: another build of this source is at work\n"
    assert second.stderr.readline() == line
    # The compiler of the first ends; then the second finds the kernel built.
    os.kill(pids[1], signal.SIGTERM)
    ids = {process.communicate()[0] for process in (first, second)}
    assert (first.returncode, second.returncode) == (0, 0)
    assert len(ids) == 1
    assert repository.calls().count("linux") == 1


def test_a_build_of_one_source_delays_no_other(repository: Repository) -> None:
    """Neither its kernel nor a module for it, nor a name; but nothing is removed meanwhile."""
    built = repository.build()
    theirs = repository.root / "theirs"
    shutil.copytree(repository.source, theirs)
    (theirs / "net/mptcp/protocol.c").write_text("one\ntwo\nthree\nfour\n")
    mine, repository.source = repository.source, theirs
    process, pids = repository.start_and_hang()
    repository.mend()
    assert kernel.module(built, repository.write("mine.c", SCHEDULER), quiet=True).path.exists()
    (mine / "net/mptcp/protocol.c").write_text("one\ntwo\nthree\nfive\n")
    assert "five" in kernel.build(mine, quiet=True).image.read_text()
    kernel_names.keep(Named("mine", mine))
    assert "mine" in kernel_names.known()
    with pytest.raises(MptcplabError, match="a kernel is being built"):
        kernel_names.prune()
    os.kill(pids[1], signal.SIGTERM)
    process.communicate()
    assert process.returncode == 0
    assert len(kernel_names.prune()) > 0
