# SPDX-License-Identifier: GPL-2.0-only
"""Missing parts of the machine are found, and every command reports them with their remedies."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from mptcplab.errors import MachineError
from mptcplab.lab import doctor
from mptcplab.lab.doctor import Check


@pytest.fixture
def no_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No program is found, as on a Debian where none of them is installed."""
    monkeypatch.setattr(doctor, "find_tool", lambda _name: None)
    monkeypatch.setattr(doctor, "DEBIAN_SOURCE", tmp_path / "missing")
    release(monkeypatch, ID="debian")


def release(monkeypatch: pytest.MonkeyPatch, **words: str) -> None:
    """What /etc/os-release says."""
    monkeypatch.setattr("platform.freedesktop_os_release", lambda: words)


@pytest.mark.parametrize(("user", "command"), [(0, "apt-get"), (1000, "sudo apt-get")])
@pytest.mark.usefixtures("no_tools")
def test_one_command_installs_all(monkeypatch: pytest.MonkeyPatch, user: int, command: str) -> None:
    monkeypatch.setattr("os.geteuid", lambda: user)
    with pytest.raises(MachineError) as failure:
        doctor.require("machine", "flex", "bison", "patch", "ld")
    assert failure.value.what == "flex: missing; bison: missing; patch: missing; ld: missing"
    assert failure.value.remedy == f"{command} install binutils bison flex patch"
    assert failure.value.exit_status == 3


@pytest.mark.parametrize(
    ("system", "remedy"),
    [
        ({"ID": "linuxmint", "ID_LIKE": "ubuntu debian"}, "apt-get install libc6-dev xz-utils"),
        (
            {"ID": "rocky", "ID_LIKE": "rhel centos fedora"},
            "dnf install glibc-devel glibc-static xz",
        ),
        ({"ID": "arch"}, "pacman -S --needed glibc xz"),
        ({"ID": "void"}, "install the equivalents of Debian's libc6-dev xz-utils"),
    ],
)
@pytest.mark.usefixtures("no_tools")
def test_packages_have_the_names_of_this_system(
    monkeypatch: pytest.MonkeyPatch, system: dict[str, str], remedy: str
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    release(monkeypatch, **system)
    with pytest.raises(MachineError) as failure:
        doctor.require("xz", "libc")
    assert failure.value.remedy == remedy


@pytest.mark.usefixtures("no_tools")
def test_another_source_will_do_without_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    assert doctor.debian_source().packages == ("linux-source-6.12",)
    assert "mptcplab kernel build --source ARCHIVE" in doctor.debian_source().detail

    def unknown() -> dict[str, str]:
        raise OSError("there is no /etc/os-release")

    for system in (lambda: {"ID": "fedora"}, unknown):
        monkeypatch.setattr("platform.freedesktop_os_release", system)
        assert doctor.remedies([doctor.debian_source()]) == [
            "get an archive of Linux 6.12, then: mptcplab kernel build --source ARCHIVE"
        ]


@pytest.mark.usefixtures("no_tools")
def test_the_table_is_grouped_by_what_needs_the_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    found = doctor.checks("0123456789ab", came_along=True)
    console = Console(width=60)
    with console.capture() as capture:
        console.print(doctor.table(found), crop=False)
    lines = [line.rstrip() for line in capture.get().splitlines()]
    titles = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert titles == [
        "To run:",
        "To compile schedulers of your own (not for runs):",
        "To build the kernel (not for runs):",
        "To run distributions' kernels (not for runs):",
        "To run the kernel's selftests (not for runs):",
    ]
    remedies = [line.strip() for line in lines if line.startswith("    to fix it: ")]
    assert remedies == [
        "to fix it: apt-get install util-linux",
        "to fix it: apt-get install binutils gcc",
        "to fix it: apt-get install bc bison flex libc6-dev linux-source-6.12 make patch tar"
        " xz-utils",
        "to fix it: apt-get install dpkg qemu-system-x86",
        "to fix it: apt-get install ethtool iproute2 iptables iputils-ping nftables procps",
    ]
    assert len([line for line in lines if line[:2] in ("ok", "no", "- ")]) == len(found)
    # other commands report the same
    with pytest.raises(MachineError) as failure:
        doctor.require("util-linux")
    (missing,) = (check for check in found if check.name == "util-linux")
    assert missing.detail in failure.value.what
    assert missing.detail in " ".join(capture.get().split())
    assert f"to fix it: {failure.value.remedy}" in remedies
    assert doctor.exit_status(found) == failure.value.exit_status
    # advice does not change the exit status
    assert doctor.exit_status([replace(missing, required=False)]) == 0


def test_too_little_room_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "MEMORY_NEEDED_BYTES", 1 << 60)
    with pytest.raises(MachineError, match=r"memory: \d+ MiB available, \d+ MiB needed"):
        doctor.require("memory")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "not" / "there"))
    with pytest.raises(MachineError, match=f"free for {tmp_path}/not/there/mptcplab") as failure:
        doctor.require_disk(1 << 60)
    assert failure.value.remedy.startswith("export XDG_CACHE_HOME=")


@pytest.mark.usefixtures("no_tools")
def test_what_only_builds_need_is_not_required_if_the_kernel_came_along() -> None:
    found = {check.name: check for check in doctor.checks("0123456789ab", came_along=True)}
    assert found["kernel"].detail.startswith("came with mptcplab: 0123456789ab, ")
    lacking = {name for name, check in found.items() if not check.ok and check.required}
    assert lacking == {"util-linux"}  # which every run needs
    *others, last = doctor.checks("0123456789ab")
    assert {check.name for check in others if check.required} >= {
        *("gcc", "bison", "libc", "kernel source")
    }
    # the kernel itself is reported but not required
    built = "built: 0123456789ab, with the arithmetic of Debian's linux-image-amd64"
    assert last == Check("kernel", True, built)
    lacks = Check("kernel", False, "not built yet", "mptcplab kernel build", required=False)
    assert doctor.checks()[-1] == lacks


@pytest.mark.parametrize("value", ["", "relative/cache"])
def test_the_cache_is_in_the_home_directory(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", value)
    monkeypatch.setenv("HOME", "/home/someone")
    assert doctor.cache_dir() == Path("/home/someone/.cache/mptcplab")


# As in a container: the kernel answers EPERM to the system call with the number given. The checks
# that fail then, and do not fail otherwise, are printed: what is installed here does not matter.
REFUSE = """
import ctypes, struct, sys

from mptcplab.lab import doctor
before = doctor.checks()

LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, ERRNO_EPERM = 0x7fff0000, 0x00050001
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2

def instruction(code, constant, if_true=0, if_false=0):
    return struct.pack("HBBI", code, if_true, if_false, constant)

number = int(sys.argv[1])
program = b"".join([
    instruction(LOAD, 0),
    instruction(JUMP_IF_EQUAL, number, 0, 1),
    instruction(RETURN, ERRNO_EPERM),
    instruction(RETURN, ALLOW),
])
buffer = ctypes.create_string_buffer(program)
header = ctypes.create_string_buffer(struct.pack("HP", 4, ctypes.addressof(buffer)))
libc = ctypes.CDLL(None)
assert libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
assert libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, header, 0, 0) == 0

for was, check in zip(before, doctor.checks(), strict=True):
    if was.ok and not check.ok:
        print(check.name, check.required, check.detail, check.remedy, sep="|")
"""
PTRACE, PERSONALITY, MEMFD_CREATE = 101, 135, 319


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            PTRACE,
            "ptrace|True|Operation not permitted: not permitted in this container or sandbox|"
            "docker run --cap-add=SYS_PTRACE --security-opt seccomp=unconfined ...",
        ),
        (
            PERSONALITY,
            "address layout|False|randomisation cannot be switched off here (EPERM), which runs do"
            " not need|docker run --security-opt seccomp=unconfined ...",
        ),
        (MEMFD_CREATE, "memory file|True|an executable memory file is refused"),
    ],
)
def test_what_a_container_refuses_is_found_by_trying(call: int, message: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", REFUSE, str(call)], capture_output=True, text=True, check=True
    )
    (line,) = done.stdout.splitlines()
    assert line.startswith(message)
