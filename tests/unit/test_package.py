# SPDX-License-Identifier: GPL-2.0-only
"""Debian packages of schedulers: their content, and what their installation says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from mptcplab import __version__, resources
from mptcplab.errors import MachineError
from mptcplab.lab import adapter, doctor, kernel, package
from mptcplab.lab.kernel import KernelBuild
from mptcplab.scenario import scheduler
from tests.cli.calls import mptcplab

pytestmark = pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="dpkg-deb is not installed")

TEMPLATE = (resources.SCHEDULER_TEMPLATES / "mine.c").read_text()
# Debian 12's first kernel, and a later one
OLD, NEW = "6.1.0-56-amd64", "6.12.117+deb12-amd64"
KEY = "/var/lib/dkms/mok.pub"
# what the installation says
SETS = "sets --prefix=/net/mptcp\n"
TOO_OLD = (
    f"mptcplab-schedulers: Linux {OLD} cannot have other MPTCP schedulers: install Linux 6.6 or "
    "later (Debian 12: linux-image-6.12-amd64 and linux-headers-6.12-amd64), and restart.\n"
)
SECURE_BOOT = (
    "mptcplab-schedulers: Secure Boot is on: the kernel loads only modules that are signed with a "
    "key it trusts.\nmptcplab-schedulers: To have it trust DKMS' key: "
    f"mokutil --import {KEY}, then restart and confirm.\n"
)
NOT_LOADED = (
    "mptcplab-schedulers: a module was not loaded; see: journalctl -u systemd-modules-load\n"
)


def own(folder: Path, name: str = "mine", text: str = TEMPLATE) -> scheduler.Scheduler:
    folder.mkdir(exist_ok=True)
    file = folder / f"{name}.c"
    file.write_text(text.replace("mine", name))
    os.utime(file, (1_700_000_000, 1_700_000_000))
    return scheduler.read(file, scheduler.known())


def unpacked(deb: Path, into: Path) -> Path:
    subprocess.run(["dpkg-deb", "--raw-extract", deb, into], check=True)
    return into


def content(deb: Path) -> str:
    command = ["dpkg-deb", "--contents", str(deb)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def field(deb: Path, name: str) -> str:
    command = ["dpkg-deb", "--field", str(deb), name]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def modules_of(tree: Path) -> tuple[list[str], list[str]]:
    """The modules that DKMS installs, and those that are loaded at boot."""
    (conf,) = tree.glob("usr/src/*/dkms.conf")
    (boot,) = tree.glob("usr/lib/modules-load.d/*.conf")
    built = [line.split('"')[1] for line in conf.read_text().splitlines() if "_NAME[" in line]
    return built, [line for line in boot.read_text().splitlines() if not line.startswith("#")]


def test_our_package_has_the_adapter_and_what_it_carries(tmp_path: Path) -> None:
    deb = package.make(tmp_path)
    assert deb.name == f"mptcplab-schedulers-dkms_{__version__}_all.deb"
    assert field(deb, "Depends") == "dkms (>= 3.0), pahole"
    tree = unpacked(deb, tmp_path / "tree")
    schedulers = [f"mptcp_{name}" for name in adapter.carried()]
    assert "mptcp_overflow" in schedulers
    assert modules_of(tree) == (["mptcp_adapter", *schedulers], schedulers)
    source = tree / f"usr/src/mptcplab-schedulers-{__version__}"
    assert {f"mptcp_{file.stem}" for file in (source / "lab/sched").iterdir()} == set(schedulers)
    ours = resources.KERNEL / "mptcp"
    for file in (source / "lab").rglob("*.[ch]"):
        assert file.read_bytes() == (ours / file.relative_to(source / "lab")).read_bytes()
    assert not [
        file for file in tree.rglob("*") if file.is_file() and b"@NAME@" in file.read_bytes()
    ]


def test_the_package_of_a_users_scheduler_installs_it_alone(tmp_path: Path) -> None:
    deb = package.make(tmp_path, own(tmp_path, "my_own"))
    assert deb.name == f"mptcplab-scheduler-my-own-dkms_{__version__}+20231114221320_all.deb"
    assert field(deb, "Depends").endswith(f", mptcplab-schedulers-dkms (= {__version__})")
    tree = unpacked(deb, tmp_path / "tree")
    assert modules_of(tree) == (["mptcp_my_own"], ["mptcp_my_own"])
    (source,) = tree.glob("usr/src/mptcplab-scheduler-my-own-*")
    assert [file.name for file in (source / "lab/sched").iterdir()] == ["my_own.c"]
    assert (source / "lab/adapter/adapter.c").exists()
    assert not (source / "lab/parts").exists()
    uses = own(tmp_path, text=TEMPLATE.replace('"mpsched.h"', '"parts/turns.h"'))
    assert "lab/parts/turns.h" in content(package.make(tmp_path, uses))


def test_the_bytes_of_a_users_file_need_no_encoding(tmp_path: Path) -> None:
    scheduler_ = own(tmp_path)
    assert scheduler_.file is not None
    text = scheduler_.file.read_bytes() + b"/* caf\xe9 */\n"
    scheduler_.file.write_bytes(text)
    tree = unpacked(package.make(tmp_path, scheduler_), tmp_path / "tree")
    (found,) = tree.glob("usr/src/*/lab/sched/mine.c")
    assert found.read_bytes() == text


@pytest.mark.parametrize("of_a_user", [False, True])
def test_the_same_files_give_the_same_bytes(tmp_path: Path, of_a_user: bool) -> None:
    made = []
    for number, mask in enumerate((0o022, 0o077)):
        before = os.umask(mask)
        try:
            place = tmp_path / str(number)
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
        ("mine", "!= MPS_NEW", "== MPS_DUPLICATE", "it sends copies (MPS_DUPLICATE), which needs"),
        ("mine", ".owner", ".takes_units = true, .owner", "it uses units (takes_units)"),
    ],
)
def test_a_scheduler_that_cannot_be_packaged_is_refused(
    tmp_path: Path, name: str, old: str, new: str, expected: str
) -> None:
    assert old in TEMPLATE
    file = tmp_path / f"{name}.c"
    file.write_text(TEMPLATE.replace("mine", name).replace(old.replace("mine", name), new, 1))
    done = mptcplab("scheduler", "package", file, "--out", tmp_path / "out", status=2)
    assert f"{file}: " in done.stderr
    assert expected in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_comment_names_no_function_and_the_author_may_know_better(tmp_path: Path) -> None:
    package.check(own(tmp_path, text=TEMPLATE + "/* mps_next_unsent() */"), anyway=False)
    uses = own(tmp_path, text=TEMPLATE.replace("mps_head(", "mps_next_unsent("))
    with pytest.raises(ValueError, match="out of order"):
        package.check(uses, anyway=False)
    package.check(uses, anyway=True)


def test_the_rule_of_each_refused_scheduler_of_ours_is_found() -> None:
    # otias picks a segment by number, which others do to send in order
    for name in kernel.refused_by_adapter().keys() - {"otias"}:
        assert adapter.rules_lost(resources.SCHEDULERS / f"{name}.c"), name


@pytest.mark.kernel
def test_the_command_compiles_before_it_packages(lab_kernel: KernelBuild, tmp_path: Path) -> None:
    del lab_kernel  # built by now
    mptcplab("scheduler", "new", "mine", cwd=tmp_path)
    done = mptcplab("scheduler", "package", "./mine.c", "--out", "made", cwd=tmp_path)
    (deb,) = (tmp_path / "made").iterdir()
    assert done.stdout == (
        "without our patches for MPTCP: mine\n"
        f"written: made/{deb.name}\ninstall it: apt install made/{deb.name}\n"
    )
    (tmp_path / "mine.c").write_text(TEMPLATE.replace("return true;", "return truth;"))
    done = mptcplab("scheduler", "package", "./mine.c", cwd=tmp_path, status=1)
    assert "mine.c" in done.stderr
    assert "'truth' undeclared" in done.stderr.replace("\u2018", "'").replace("\u2019", "'")
    assert not list(tmp_path.glob("*.deb"))


class Installation:
    """The scripts of our package among fake programs, with the system's folders below `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.tree = unpacked(package.make(root), root / "tree")
        for name in ("dkms", "modprobe", "mokutil", "systemctl", "uname"):
            self.program(f"bin/{name}", f"echo {NEW}" if name == "uname" else "")
        self.program("usr/lib/dkms/common.postinst", "echo builds")
        self.program("lib/systemd/systemd-sysctl", 'echo "sets $*"')
        (root / "run/systemd/system").mkdir(parents=True)

    def program(self, name: str, text: str) -> None:
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)

    def says(self, script: str, *arguments: str) -> str:
        text = (self.tree / "DEBIAN" / script).read_text()
        text = re.sub(r"(?<!\w)/(usr|lib|run|sys)/", rf"{self.root}/\1/", text)
        done = subprocess.run(
            ["sh", "-c", text, script, *arguments],
            env={"PATH": f"{self.root}/bin:/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    return Installation(tmp_path)


def mokutil(*, on: bool, enrolled: bool) -> str:
    """As mokutil 0.6 answers."""
    state = "SecureBoot " + ("enabled" if on else "disabled")
    key = f"{KEY} is " + ("already enrolled" if enrolled else "not enrolled")
    return f'case $* in --sb-state) echo {state} ;; "--test-key {KEY}") echo "{key}" ;; esac'


@pytest.mark.parametrize(
    ("program", "text", "expected"),
    [
        ("uname", f"echo {NEW}", SETS),
        ("uname", f"echo {OLD}", TOO_OLD),
        ("mokutil", mokutil(on=False, enrolled=False), SETS),
        ("mokutil", mokutil(on=True, enrolled=True), SETS),
        ("mokutil", mokutil(on=True, enrolled=False), SECURE_BOOT + SETS),
        ("systemctl", "exit 1", NOT_LOADED + SETS),
    ],
)
def test_the_installation_says_what_is_left_to_do(
    installation: Installation, program: str, text: str, expected: str
) -> None:
    installation.program(f"bin/{program}", text)
    assert installation.says("postinst", "configure", "") == "builds\n" + expected
    assert installation.says("postinst", "abort-upgrade", __version__) == ""


def test_an_image_loads_no_module(installation: Installation) -> None:
    (installation.root / "run/systemd/system").rmdir()
    installation.program("bin/systemctl", "echo called")
    assert installation.says("postinst", "configure", "") == "builds\n"


def test_a_module_in_use_stays(installation: Installation) -> None:
    for name in ("mptcp_overflow", "mptcp_minrtt"):
        (installation.root / "sys/module" / name).mkdir(parents=True)
    installation.program("bin/modprobe", '[ "$2" != mptcp_overflow ]')
    installation.program("bin/dkms", 'echo "$*"')
    assert installation.says("prerm", "remove") == (
        "mptcplab-schedulers: sockets use mptcp_overflow, which stays loaded until the next start."
        f"\nremove -m mptcplab-schedulers -v {__version__} --all\n"
    )
