# SPDX-License-Identifier: GPL-2.0-only
"""Debian packages of schedulers: their content, and what their installation says."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from mptcplab import __version__, resources
from mptcplab.errors import MachineError
from mptcplab.lab import adapter, doctor, kernel, package
from mptcplab.lab.kernel import KernelBuild
from tests.cli.calls import mptcplab

pytestmark = pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="dpkg-deb is not installed")

TEMPLATE = (resources.SCHEDULER_TEMPLATES / "mine.c").read_text()
KEY = "/var/lib/dkms/mok.pub"
OURS = "mptcplab-schedulers: "
# what the installation says
BUILDS, SETS = "builds\n", "sets --prefix=/net/mptcp\n"
TOO_OLD = (
    f"{OURS}Linux 6.1.0-56-amd64 cannot have other MPTCP schedulers: install Linux 6.6 or later "
    "(Debian 12: linux-image-6.12-amd64 and linux-headers-6.12-amd64), and restart.\n"
)
SECURE_BOOT = (
    f"{OURS}Secure Boot is on: the kernel loads only modules that are signed with a key it trusts."
    f"\n{OURS}To have it trust DKMS' key: mokutil --import {KEY}, then restart and confirm.\n"
)
SIGNATURES = (
    f"{OURS}module.sig_enforce is on: the kernel loads only modules that are signed with a key it "
    f"trusts.\n{OURS}With Secure Boot it can trust DKMS' key: turn that on, or "
    "module.sig_enforce off.\n"
)
NOT_LOADED = f"{OURS}a module was not loaded; see: journalctl -u systemd-modules-load\n"


def own(folder: Path, name: str = "mine", text: str = TEMPLATE) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / f"{name}.c"
    file.write_bytes(text.replace("mine", name).encode("latin-1"))
    os.utime(file, (1_700_000_000, 1_700_000_000))
    return file


def unpacked(deb: Path) -> Path:
    tree = deb.with_suffix("")
    subprocess.run(["dpkg-deb", "--raw-extract", deb, tree], check=True)
    return tree


def modules_of(tree: Path) -> tuple[list[str], list[str]]:
    """The modules that DKMS installs, and those that are loaded at boot."""
    (conf,) = tree.glob("usr/src/*/dkms.conf")
    (boot,) = tree.glob("usr/lib/modules-load.d/*.conf")
    built = re.findall(r'BUILT_MODULE_NAME\[\d+\]="(.*)"', conf.read_text())
    return built, [line for line in boot.read_text().splitlines() if not line.startswith("#")]


def test_our_package_has_the_adapter_and_what_it_carries(tmp_path: Path) -> None:
    deb = package.make(tmp_path)
    assert deb.name == f"mptcplab-schedulers-dkms_{__version__}_all.deb"
    tree = unpacked(deb)
    schedulers = [f"mptcp_{name}" for name in adapter.carried()]
    assert "mptcp_overflow" in schedulers
    assert modules_of(tree) == (["mptcp_adapter", *schedulers], schedulers)
    assert "\nDepends: dkms (>= 3.0), pahole\n" in (tree / "DEBIAN/control").read_text()
    lab = tree / f"usr/src/mptcplab-schedulers-{__version__}/lab"
    assert [f"mptcp_{file.stem}" for file in sorted((lab / "sched").iterdir())] == schedulers
    for file in lab.rglob("*.[ch]"):
        ours = resources.KERNEL / "mptcp" / file.relative_to(lab)
        assert file.read_bytes() == ours.read_bytes()
    for file in (each for each in tree.rglob("*") if each.is_file()):
        assert not re.search(rb"@[A-Z]+@", file.read_bytes()), file


def test_the_package_of_a_users_scheduler_installs_it_alone(tmp_path: Path) -> None:
    file = own(tmp_path, "my_own", TEMPLATE + "/* caf\xe9 */\n")
    deb = package.make(tmp_path, file)
    assert deb.name == f"mptcplab-scheduler-my-own-dkms_{__version__}+20231114221320_all.deb"
    tree = unpacked(deb)
    assert modules_of(tree) == (["mptcp_my_own"], ["mptcp_my_own"])
    needed = f", mptcplab-schedulers-dkms (= {__version__})\n"
    assert needed in (tree / "DEBIAN/control").read_text()
    (source,) = tree.glob("usr/src/mptcplab-scheduler-my-own-*")
    assert [each.name for each in (source / "lab/sched").iterdir()] == ["my_own.c"]
    assert (source / "lab/sched/my_own.c").read_bytes() == file.read_bytes()
    assert (source / "lab/adapter/adapter.c").exists()
    assert not list(source.glob("lab/parts/*.c"))
    uses = own(tmp_path, text=TEMPLATE.replace('"mpsched.h"', '"parts/turns.h"'))
    assert list(unpacked(package.make(tmp_path, uses)).glob("usr/src/*/lab/parts/watch.c"))


def registration(tree: Path) -> str:
    """The function that registers schedulers with the adapter, as Kbuild names it."""
    (source,) = tree.glob("usr/src/*")
    shows = f"include {source}/Kbuild\nall: ; @echo $(filter -Dmps_register=%,$(ccflags-y))"
    make = ["make", "-s", "-f", "-", f"src={source}", f"objtree={source}", f"srctree={source}"]
    done = subprocess.run(make, input=shows, capture_output=True, text=True, check=True)
    assert re.fullmatch(r"-Dmps_register=mps_register_\d+\n", done.stdout)
    return done.stdout


@pytest.mark.parametrize("changed", ["mpsched.h", "parts/watch.h"])
def test_an_adapter_with_other_headers_is_refused(tmp_path: Path, changed: str) -> None:
    ours = unpacked(package.make(tmp_path))
    users = unpacked(package.make(tmp_path, own(tmp_path)))
    assert registration(users) == registration(ours)
    (header,) = users.glob(f"usr/src/*/lab/{changed}")
    header.write_text(header.read_text().replace("u32", "u64", 1))
    assert registration(users) != registration(ours)


@pytest.mark.parametrize("of_a_user", [False, True])
def test_the_same_files_give_the_same_bytes(tmp_path: Path, of_a_user: bool) -> None:
    made = []
    for mask in (0o022, 0o077):
        before = os.umask(mask)
        try:
            place = tmp_path / str(mask)
            made.append(package.make(place, own(place) if of_a_user else None))
        finally:
            os.umask(before)
    assert made[0].name == made[1].name
    assert made[0].read_bytes() == made[1].read_bytes()


def test_a_machine_without_dpkg_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "find_tool", lambda _name: None)
    with pytest.raises(MachineError, match="dpkg-deb: missing"):
        package.make(tmp_path)


@pytest.mark.parametrize(
    ("name", "old", "new", "expected"),
    [
        ("Mine", "", "", "a scheduler's name is a letter, then up to 14 of a-z, 0-9 and _"),
        ("minrtt", "", "", "a scheduler of the lab kernel has this name; choose another"),
        ("path_manager", "", "", "the kernel has a setting of this name (net.mptcp)"),
        ("diag", "", "", "there is a module mptcp_diag already; choose another name"),
        ("mine", '.name\t\t= "mine"', '.name = "x"', 'it registers no scheduler "mine"'),
        ("mine", "= mps_head(", "= mps_next_unsent(", "it sends out of order (mps_next_unsent)"),
        ("mine", "!= MPS_NEW", "== MPS_DUPLICATE", "it sends duplicates (MPS_DUPLICATE), which"),
        ("mine", ".owner", ".takes_units = true, .owner", "it uses units (takes_units)"),
    ],
)
def test_a_scheduler_that_cannot_be_packaged_is_refused(
    tmp_path: Path, name: str, old: str, new: str, expected: str
) -> None:
    assert old in TEMPLATE
    file = own(tmp_path, name, TEMPLATE.replace(old, new, 1))
    done = mptcplab("scheduler", "package", file, "--out", tmp_path / "out", status=2)
    assert f"{file}: " in done.stderr
    assert expected in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_comment_names_no_function_and_the_author_may_know_better(tmp_path: Path) -> None:
    package.check(own(tmp_path, text=TEMPLATE + "/* mps_next_unsent() */"), anyway=False)
    package.check(own(tmp_path, text=TEMPLATE + "#define X mps_next_unsent"), anyway=True)


def test_the_rule_of_each_refused_scheduler_of_ours_is_found() -> None:
    # otias has no function of its own for it; agent needs none of net/mptcp, but the lab
    for name in kernel.refused_by_adapter().keys() - {"otias", "agent"}:
        assert adapter.rules_lost(resources.SCHEDULERS / f"{name}.c"), name


@pytest.mark.parametrize("out", [".", "made", "two words", "{}/absolute"])
def test_apt_gets_a_path_that_it_takes_for_a_file(tmp_path: Path, out: str) -> None:
    out = out.format(tmp_path)
    done = mptcplab("scheduler", "package", "--out", out, cwd=tmp_path)
    (_, shown) = done.stdout.splitlines()
    path = shlex.split(shown)[-1]
    assert path.startswith(("./", "/"))
    assert (tmp_path / path).is_file()


@pytest.mark.kernel
def test_the_command_compiles_before_it_packages(lab_kernel: KernelBuild, tmp_path: Path) -> None:
    del lab_kernel  # built by now
    own(tmp_path)
    done = mptcplab("scheduler", "package", "./mine.c", "--out", "made", cwd=tmp_path)
    (deb,) = (tmp_path / "made").iterdir()
    assert done.stdout == (
        "without our patches for MPTCP: mine\n"
        f"written: made/{deb.name}\ninstall it: apt install ./made/{deb.name}\n"
    )
    own(tmp_path, text=TEMPLATE.replace("return true;", "return truth;"))
    done = mptcplab("scheduler", "package", "./mine.c", cwd=tmp_path, status=1)
    assert re.search(r"mine\.c.*truth. undeclared", done.stderr)
    assert not list(tmp_path.glob("*.deb"))


class Installation:
    """The scripts of our package among fake programs, with the system's folders below `root`."""

    def __init__(self, root: Path) -> None:
        self.root, self.scripts = root, unpacked(package.make(root)) / "DEBIAN"
        for name in ("dkms", "modprobe", "mokutil", "systemctl"):
            self.program(f"bin/{name}", "")
        self.program("bin/uname", "echo 6.12.117+deb12-amd64")
        self.program("usr/lib/dkms/common.postinst", "echo builds")
        self.program("lib/systemd/systemd-sysctl", 'echo "sets $*"')
        (root / "run/systemd/system").mkdir(parents=True)

    def program(self, name: str, text: str) -> None:
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)

    def says(self, script: str, *arguments: str) -> str:
        text = (self.scripts / script).read_text()
        text = re.sub(r"(?<!\w)/(usr|lib|run|sys)/", rf"{self.root}/\1/", text)
        done = subprocess.run(
            ["sh", "-c", text, script, *arguments],
            env={"PATH": f"{self.root}/bin:/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stderr == ""
        return done.stdout


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    return Installation(tmp_path)


def mokutil(boot: str, key: str) -> str:
    """As mokutil 0.6 answers."""
    return f'case $* in --sb-state) echo SecureBoot {boot} ;; *{KEY}) echo "{KEY} is {key}" ;; esac'


@pytest.mark.parametrize(
    ("program", "text", "expected"),
    [
        ("uname", "echo 6.6.9-amd64", SETS),
        ("uname", "echo 6.1.0-56-amd64", TOO_OLD),
        ("mokutil", mokutil("disabled", "not enrolled"), SETS),
        ("mokutil", mokutil("enabled", "already enrolled"), SETS),
        ("mokutil", mokutil("enabled", "not enrolled"), SECURE_BOOT + SETS),
        ("systemctl", "exit 1", NOT_LOADED + SETS),
    ],
)
def test_the_installation_says_what_is_left_to_do(
    installation: Installation, program: str, text: str, expected: str
) -> None:
    installation.program(f"bin/{program}", text)
    assert installation.says("postinst", "configure", "") == BUILDS + expected
    assert installation.says("postinst", "abort-upgrade", __version__) == ""


@pytest.mark.parametrize(
    ("value", "boot", "expected"),
    [("N", "disabled", ""), ("Y", "disabled", SIGNATURES), ("Y", "enabled", SECURE_BOOT)],
)
def test_a_kernel_may_want_signatures_without_secure_boot(
    installation: Installation, value: str, boot: str, expected: str
) -> None:
    parameters = installation.root / "sys/module/module/parameters"
    parameters.mkdir(parents=True)
    (parameters / "sig_enforce").write_text(f"{value}\n")
    installation.program("bin/mokutil", mokutil(boot, "not enrolled"))
    assert installation.says("postinst", "configure", "") == BUILDS + expected + SETS


def test_an_image_loads_no_module(installation: Installation) -> None:
    (installation.root / "run/systemd/system").rmdir()
    installation.program("bin/systemctl", "echo called")
    assert installation.says("postinst", "configure", "") == BUILDS


def test_a_module_in_use_stays(installation: Installation) -> None:
    for name in ("mptcp_overflow", "mptcp_minrtt"):
        (installation.root / "sys/module" / name).mkdir(parents=True)
    installation.program("bin/modprobe", '[ "$2" != mptcp_overflow ]')
    installation.program("bin/dkms", 'echo "$*"')
    assert installation.says("prerm", "remove") == (
        f"{OURS}sockets use mptcp_overflow, which stays loaded until the next start.\n"
        f"remove -m mptcplab-schedulers -v {__version__} --all\n"
    )


def test_new_schedulers_do_not_get_the_adapter_of_the_version_before(
    installation: Installation,
) -> None:
    (installation.root / "sys/module/mptcp_adapter").mkdir(parents=True)
    installation.program("bin/systemctl", 'echo "loads $*"')
    assert installation.says("postinst", "configure", "0.0.9") == (
        f"{BUILDS}{OURS}sockets use modules of the version before; "
        "the new ones are loaded at the next start.\n"
    )
