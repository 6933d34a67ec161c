# SPDX-License-Identifier: GPL-2.0-only
"""scripts/setup.sh installs what is missing on Debian, and elsewhere says how to."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from mptcplab.lab import doctor

ROOT = Path(__file__).parents[2]
SETUP = ROOT / "scripts" / "setup.sh"
# What setup.sh calls on its own account.
SHELL = (
    *("bash", "sh", "env", "dirname", "basename", "cut", "sort", "tail", "sed"),
    *("mkdir", "mv", "rm", "cat"),
)
TOOLS = ("python3", "make", "flex", "bison", "bc", "patch", "ld", "xz", "perl", "tar", "find")
# apt knows the packages of $KNOWN; what it is asked to do is written down.
FAKES = {
    "gcc": "echo /lib/libc.a",
    "apt-get": 'echo "$*" >>"$CALLS"',
    "apt-cache": '[[ " $KNOWN " == *" $2 "* ]]',
    "sudo": '"$@"',
}
INSTALL = "install --yes --no-install-recommends --quiet=2"
ELSEWHERE = (
    "This system has no package of the source of Linux 6.12. Get it as an archive, and choose it:\n"
    "  make demo KERNEL_SOURCE=ARCHIVE\n"
    "It is remembered from then on. See docs/systems.md.\n"
)


class System:
    """A system with all tools but some, and with no kernel source."""

    def __init__(self, root: Path) -> None:
        self.root, self.bin, self.calls = root, root / "bin", root / "calls"
        self.release = root / "os-release"
        self.cache = root / "cache"
        self.bin.mkdir()
        self.calls.touch()
        for name in SHELL:
            found = doctor.find_tool(name)
            assert found
            (self.bin / name).symlink_to(found)
        for name in (*TOOLS, "cmp"):
            self.program(name, "exit 0")
        for name, text in FAKES.items():
            self.program(name, text)

    def program(self, name: str, text: str) -> None:
        (self.bin / name).write_text(f"#!{self.bin}/bash\n{text}\n")
        (self.bin / name).chmod(0o755)

    def setup(
        self,
        release: str,
        *lacking: str,
        source: Path | None = None,
        known: str = "",
        what: str = "",
    ) -> subprocess.CompletedProcess[str]:
        self.release.write_text(release)
        for name in lacking:
            (self.bin / name).unlink()
        return subprocess.run(
            [self.bin / "bash", SETUP, *([what] if what else [])],
            env={
                "PATH": str(self.bin),
                "XDG_CACHE_HOME": str(self.cache),
                "OS_RELEASE": str(self.release),
                "KERNEL_SOURCE": str(source or self.root / "missing"),
                "CALLS": str(self.calls),
                "KNOWN": known,
            },
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def system(tmp_path: Path) -> System:
    return System(tmp_path)


@pytest.mark.parametrize(
    ("release", "command"),
    [
        ("ID=fedora\n", "dnf install flex xz glibc-devel glibc-static"),
        ('ID="rocky"\nID_LIKE="rhel fedora"\n', "dnf install flex xz glibc-devel glibc-static"),
        ("ID=arch\n", "pacman -S --needed flex xz glibc"),
    ],
)
def test_other_systems_get_the_command_alone(system: System, release: str, command: str) -> None:
    for manager in ("dnf", "pacman"):
        system.program(manager, FAKES["apt-get"])
    # a missing source alone needs no package
    done = system.setup(release)
    assert (done.returncode, done.stderr) == (1, ELSEWHERE)
    system.program("gcc", "echo libc.a")
    done = system.setup(release, "flex", "xz")
    assert done.returncode == 1
    assert done.stderr == (
        "Packages are missing (their names have not been tried here).\n"
        f"As root, run:\n  {command}\n{ELSEWHERE}"
    )
    assert done.stdout == system.calls.read_text() == ""


def test_on_an_unknown_system_debians_names_are_reported(system: System) -> None:
    done = system.setup("ID=void\n", "flex")
    assert done.returncode == 1
    assert done.stderr == (
        "The packages of this system are not known. Install what Debian's hold: "
        "flex linux-source-6.12\n"
    )


@pytest.mark.parametrize("release", ["ID=debian\n", 'ID=linuxmint\nID_LIKE="ubuntu debian"\n'])
def test_apt_installs_missing_packages(system: System, release: str) -> None:
    done = system.setup(release, "flex", known="linux-source-6.12")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Installing these Debian packages: flex linux-source-6.12\n" in done.stdout
    calls = system.calls.read_text().splitlines()
    assert calls == ["update --quiet=2", f"{INSTALL} flex linux-source-6.12"]


@pytest.mark.parametrize("lacking", [(), ("flex",)])
def test_apt_may_have_no_source(system: System, lacking: tuple[str, ...]) -> None:
    done = system.setup("ID=debian\n", *lacking)
    assert (done.returncode, done.stderr) == (1, ELSEWHERE)
    calls = system.calls.read_text().splitlines()
    assert calls == ["update --quiet=2", *(f"{INSTALL} {name}" for name in lacking)]


@pytest.mark.parametrize("release", ["ID=debian\n", "ID=fedora\n", "ID=void\n"])
def test_a_given_or_remembered_source_will_do(system: System, release: str) -> None:
    archive = system.root / "linux-6.12.tar.xz"
    archive.touch()
    remembered = system.cache / "mptcplab" / "kernel" / "source.json"
    remembered.parent.mkdir(parents=True)
    for source in (archive, None):
        done = system.setup(release, source=source)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        remembered.write_text("{}")
    assert system.calls.read_text() == ""


def test_every_package_has_a_name_everywhere() -> None:
    file = ROOT / "src" / "mptcplab" / "lab" / "packages.txt"
    rows = [line.split() for line in file.read_text().splitlines() if not line.startswith("#")]
    assert {len(row) for row in rows} == {3}
    named = set(re.findall(r"need_command \S+ ([a-z0-9-]+)", SETUP.read_text()))
    named |= set(" ".join(re.findall(r"missing\+=\(([a-z0-9 -]+)\)", SETUP.read_text())).split())
    named |= {"linux-source-6.12", "util-linux", "gcc", "bc"}  # of doctor, and of its loop
    assert {"flex", "libc6-dev", "python3-venv", "tshark"} - {row[0] for row in rows} == set()
    assert named - {row[0] for row in rows} == set()


def test_every_program_that_a_test_looks_for_is_installed_for_tests() -> None:
    """A test that is skipped where a program is missing is never run by most people."""
    looked_for = re.compile(r"""which\("([\w-]+)"\)|\(\n? *"shell", \["([\w-]+)", "([\w-]+)"\]\)""")
    names = {
        name
        for file in (ROOT / "tests").rglob("*.py")
        for found in looked_for.findall(file.read_text())
        for name in found
        if name
    }
    assert names >= {"chromium", "fish", "gcc", "zsh", "zstd"}
    setup = SETUP.read_text()
    always, for_tests = (
        setup.split("if [[ ${1-} == --lint ]]")[0],
        setup.split("== --test ]]; then"),
    )
    installed = set(re.findall(r"need_command (\S+)", always))
    installed |= set(re.findall(r"(?<=for tool in )[\w ]+", always)[0].split())
    for part in for_tests[1:]:
        installed |= set(re.findall(r"need_command (\S+)", part.split("\nfi\n")[0]))
    # of packetdrill there is no package
    assert names - installed == {"packetdrill"}


def test_make_hands_a_source_on_only_if_one_is_given() -> None:
    made = {
        given: subprocess.run(
            ["make", "--dry-run", "--no-print-directory", "--assume-old=venv", "kernel", *given],
            cwd=ROOT,
            env={**os.environ, "MAKEFLAGS": ""},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for given in ((), ("KERNEL_SOURCE=/a place/linux.tar.xz",))
    }
    without, with_source = (text.rstrip().splitlines()[-1] for text in made.values())
    assert without.rstrip().endswith("mptcplab kernel build")
    assert with_source.endswith('mptcplab kernel build --source "/a place/linux.tar.xz"')


# apt that has a mirror, and a package of each source that is asked for; dpkg-deb that unpacks it.
MIRROR = "http://mirror.example/debian/"
APT_WITH_MIRROR = f"""
echo "$*" >>"$CALLS"
case "$*" in
    indextargets*) printf '%s\\n' {MIRROR} http://another.example/debian/ ;;
    *update) while [[ $1 != Dir::Etc::SourceList=* ]]; do shift; done; cat "${{1#*=}}" >>"$CALLS" ;;
    *download*) : >"${{*: -1}}_7_all.deb" ;;
esac
"""
UNPACK = """
name=${2##*/}
mkdir -p "$3/usr/src"
echo "the source" >"$3/usr/src/${name%%_*}.tar.xz"
"""


def test_the_sources_of_other_series_come_from_the_mirror_that_apt_uses(system: System) -> None:
    system.program("apt-get", APT_WITH_MIRROR)
    system.program("dpkg-deb", UNPACK)
    source = system.root / "linux.tar.xz"
    source.touch()
    sources = system.cache / "mptcplab" / "sources"
    done = system.setup("ID=debian\n", source=source, what="--kernels")
    assert (done.returncode, done.stderr) == (0, "")
    # one for each series but Debian's own, and nothing else is left
    assert sorted(path.name for path in sources.iterdir()) == ["linux-source-7.3.tar.xz"]
    assert (sources / "linux-source-7.3.tar.xz").read_text() == "the source\n"
    calls = system.calls.read_text()
    assert f"URIs: {MIRROR}\nSuites: trixie-backports\n" in calls
    assert "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n" in calls
    assert "install" not in calls
    # apt's own lists and sources are not touched
    ours = [line for line in calls.splitlines() if line.endswith(("update", "linux-source-7.3"))]
    assert len(ours) == 2
    for line in ours:
        assert f"Dir::State::Lists={sources}/apt/lists" in line
        assert f"Dir::Cache={sources}/apt/cache" in line
        assert "Dir::Etc::SourceParts=-" in line
    # once
    before = system.calls.read_text()
    assert system.setup("ID=debian\n", source=source, what="--kernels").stdout == ""
    assert "download" not in system.calls.read_text().removeprefix(before)


def test_without_a_mirror_nothing_is_downloaded(system: System) -> None:
    system.program("dpkg-deb", UNPACK)
    source = system.root / "linux.tar.xz"
    source.touch()
    done = system.setup("ID=debian\n", source=source, what="--kernels")
    assert done.returncode == 1
    assert done.stderr == "apt knows no mirror of Debian. As root, run: apt-get update\n"
    assert not (system.cache / "mptcplab" / "sources").exists()


def test_debian_packages_need_dpkg(system: System) -> None:
    source = system.root / "linux.tar.xz"
    source.touch()
    done = system.setup("ID=fedora\n", source=source, what="--deb")
    assert done.returncode == 1
    assert done.stderr.endswith("As root, run:\n  dnf install dpkg\n")
    system.program("dpkg-deb", "exit 0")
    assert system.setup("ID=fedora\n", source=source, what="--deb").returncode == 0
