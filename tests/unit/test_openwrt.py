# SPDX-License-Identifier: GPL-2.0-only
"""The package for OpenWrt has the modules and sources of the Debian package, and its patch applies.

Kbuild, which both share, takes what the kernel has: a tree, and exported functions.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from mptcplab.lab import adapter, kernel, kernel_names, kernel_tree, package
from mptcplab.lab.kernel_tree import supported_series

ROOT = Path(__file__).parents[2]
FEED = ROOT / "openwrt" / "mptcp-schedulers"
PATCH = ROOT / "openwrt" / "exports.patch"
PATCHED = ("net/mptcp/protocol.c", "net/mptcp/sched.c")
# As much of OpenWrt as the package's Makefile needs.
RULES = """
INCLUDE_DIR := $(TOPDIR)
PKG_BUILD_DIR = $(TOPDIR)/build
INSTALL_DIR := install -d
CP := cp -fpR
AutoProbe = $(1)
define KernelPackage
$(eval $(KernelPackage/$(1)))
prepare: ; $$(Build/Prepare)
files: ; @echo $$(notdir $$(FILES))
autoload: ; @echo $$(AUTOLOAD)
endef
"""


def say(*command: str | Path, cwd: Path = ROOT) -> list[str]:
    """The words that a command prints."""
    done = subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True)
    return done.stdout.split()


@pytest.fixture
def openwrt(tmp_path: Path) -> Path:
    """A directory that the package takes for OpenWrt's, with its sources in build/."""
    (tmp_path / "rules.mk").write_text(RULES)
    for name in ("kernel.mk", "package.mk"):
        (tmp_path / name).touch()
    say("make", "-s", "-C", FEED, f"TOPDIR={tmp_path}", "prepare")
    return tmp_path


@pytest.mark.parametrize("target", ["files", "autoload"])
def test_the_modules_are_those_that_the_adapter_carries(openwrt: Path, target: str) -> None:
    names = say("make", "-s", "-C", FEED, f"TOPDIR={openwrt}", target)
    assert sorted(name.removesuffix(".ko") for name in names) == sorted(
        f"mptcp_{name}" for name in ("adapter", *adapter.carried())
    )


@pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="dpkg-deb is not installed")
def test_the_sources_are_those_of_the_debian_package(openwrt: Path, tmp_path: Path) -> None:
    debian = package.make(tmp_path)
    say("dpkg-deb", "-x", debian, tmp_path / "deb")
    (source,) = (tmp_path / "deb/usr/src").iterdir()
    files = [path.relative_to(source) for path in source.rglob("*") if path.is_file()]
    own = [
        path for path in files if path.parts[0] == "lab" or path.name in ("Kbuild", "protocol.h")
    ]
    assert len(own) > len(adapter.carried())
    for path in own:
        assert (openwrt / "build" / path).read_bytes() == (source / path).read_bytes(), path


@pytest.mark.parametrize("tree", [True, False])
@pytest.mark.parametrize("exported", [True, False])
def test_kbuild_takes_what_the_kernel_has(openwrt: Path, tree: bool, exported: bool) -> None:
    if tree:
        (openwrt / "net/mptcp").mkdir(parents=True)
        (openwrt / "net/mptcp/protocol.h").touch()
    symbol = "mptcp_subflow_get_retrans" if exported else "mptcp_token_accept"
    (openwrt / "Module.symvers").write_text(f"0x0\t{symbol}\tvmlinux\tEXPORT_SYMBOL_GPL\t\n")
    (openwrt / "show.mk").write_text(
        "src := $(CURDIR)/build\nsrctree := $(CURDIR)\nobjtree := $(CURDIR)\n"
        "include build/Kbuild\nshow: ; @echo $(ccflags-y) $(mptcp_adapter-y)\n"
    )
    words = say("make", "-s", "-f", "show.mk", "show", cwd=openwrt)
    assert ("-DMPS_TREE" in words, f"-I{openwrt}" in words) == (tree, tree)
    assert ("-DMPS_EXPORTED" in words, "lab/adapter/lookup.o" in words) == (exported, not exported)
    objects = [word for word in words if word.endswith(".o")]
    missing = [
        each for each in objects if not (openwrt / "build" / each).with_suffix(".c").exists()
    ]
    assert objects
    assert not missing


@pytest.mark.parametrize("series", supported_series())
def test_the_patch_applies_to_the_kernel(series: str, tmp_path: Path) -> None:
    named = kernel_names.known().get(series)
    if not named or not named.source.is_file():
        pytest.skip(f"the source of Linux {series} is not here")
    tree = kernel.tree_of(named.source)
    if all((tree / "src" / name).exists() for name in PATCHED):
        for name in PATCHED:
            original, here = tree / kernel_tree.ORIGINALS / name, tmp_path / name
            here.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(original if original.exists() else tree / "src" / name, here)
    else:  # to unpack the archive takes 10 s
        wanted = ["--occurrence=1", "--wildcards", *(f"*/{name}" for name in PATCHED)]
        say("tar", "-xf", named.source, "--strip-components=1", "-C", tmp_path, *wanted)
    say("patch", "--fuzz=0", "-p1", "-d", tmp_path, "-i", PATCH)
    exported = "".join((tmp_path / name).read_text() for name in PATCHED)
    for name in ("register_scheduler", "unregister_scheduler", "subflow_get_retrans"):
        assert f"}}\nEXPORT_SYMBOL_GPL(mptcp_{name});\n" in exported
