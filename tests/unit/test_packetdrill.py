# SPDX-License-Identifier: GPL-2.0-only
"""What runs packetdrill's scripts, and which tests there are."""

from __future__ import annotations

import ctypes
import os
import subprocess
from pathlib import Path

import pytest

from mptcplab import resources
from mptcplab.cli import load
from mptcplab.errors import InputError
from mptcplab.lab import doctor, guest
from mptcplab.lab.guest import Guest
from mptcplab.selftests import packetdrill

SCRIPTS = sorted((resources.GUEST / "packetdrill" / "scripts").glob("*.pkt"))


def test_times_answers_as_that_of_libc(tmp_path: Path) -> None:
    made = tmp_path / "times.so"
    source = resources.GUEST / "packetdrill" / "times.c"
    command = ("gcc", "-Wall", "-Wextra", "-Werror", "-O2", "-shared", "-fPIC", "-o")
    subprocess.run([*command, made, source], check=True)
    times = ctypes.CDLL(str(made)).times
    times.restype = ctypes.c_long
    before = int(os.times().elapsed * os.sysconf("SC_CLK_TCK"))
    assert before <= times(None) <= times(None)


def test_a_script_is_a_test_for_each_version_of_ip_that_its_name_allows() -> None:
    mapped = "ipv4-mapped-ipv6"
    for name, versions in (
        ("a/b", ["ipv4", mapped, "ipv6"]),
        ("b_v4", ["ipv4", mapped]),
        ("b_v6", ["ipv6"]),
    ):
        found = packetdrill.variants(Path(f"{name}.pkt"))
        assert [*found] == [(f"{name},{version}", version) for version in versions]


def test_other_scripts_get_a_tenth_of_their_tolerance() -> None:
    assert packetdrill.stricter_us("// a\n--tolerance_usecs=100000\n`x`\n") == 10000
    # what packetdrill has without is 4 ms
    assert packetdrill.stricter_us("+0 < S 0:0(0)\n") == 400


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_our_scripts_say_where_the_rule_is(script: Path) -> None:
    first, second, *_ = script.read_text().splitlines()
    assert first == "// SPDX-License-Identifier: GPL-2.0-only"
    assert second.startswith("// RFC 8684, section 3.")
    # nothing that is tested may be late
    assert "tolerance" not in script.read_text()


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    """The directory of a user's scripts, empty."""
    (tmp_path / "scripts").mkdir()
    return tmp_path / "scripts"


def program(place: Path, text: str) -> Path:
    file = place / "packetdrill"
    file.write_text(text)
    file.chmod(0o755)
    return file


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("#!/bin/sh\nexit 0\n", "run.sh ended with status 0"),
        ("#!/bin/sh\necho no mpcapable here >&2\nexit 1\n", "status 1; no mpcapable here"),
        ("neither a program nor a script\n", "Exec format error"),
    ],
)
def test_what_is_no_packetdrill_with_mptcp_is_refused(
    tmp_path: Path, text: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def built(_source: Path) -> Guest:
        raise AssertionError("it is taken for packetdrill")

    monkeypatch.setattr(doctor, "cache_dir", lambda: tmp_path / "cache")
    monkeypatch.setattr(guest, "build", built)
    with pytest.raises(InputError, match=f"not a packetdrill with MPTCP: .*{says}"):
        packetdrill.prepare(program(tmp_path, text), None)


@pytest.fixture
def reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that takes scripts alone, as packetdrill does, which is not on every machine."""
    monkeypatch.setattr(doctor, "cache_dir", lambda: tmp_path / "cache")
    monkeypatch.setattr(guest, "build", lambda _source: Guest("0123456789ab", Path("init")))
    return program(tmp_path, '#!/bin/sh\ncase "$2" in *.pkt) exit 0 ;; esac\nexit 1\n')


def test_scripts_that_were_moved_are_others(scripts: Path, reading: Path) -> None:
    (scripts / "one").mkdir()
    (scripts / "one" / "a.pkt").write_text("")
    before = packetdrill.prepare(reading, scripts)
    (scripts / "one").rename(scripts / "other")
    after = packetdrill.prepare(reading, scripts)
    assert before.id != after.id
    listed = after.net / "packetdrill" / "others.txt"
    assert listed.read_text().split()[:4] == ["other/a,ipv4", "400", "ipv4", "others/other/a.pkt"]


def test_a_script_may_have_a_comment_in_latin_1(scripts: Path, reading: Path) -> None:
    (scripts / "no.pkt").mkdir()
    (scripts / "a_v6.pkt").write_bytes(b"// d\xe9j\xe0 vu\n--tolerance_usecs=20000\n")
    place = packetdrill.prepare(reading, scripts).net / "packetdrill"
    assert (place / "others.txt").read_text() == "a_v6,ipv6 2000 ipv6 others/a_v6.pkt\n"
    copied = (place / "others" / "a_v6.pkt").read_bytes()
    assert copied == (scripts / "a_v6.pkt").read_bytes()


def test_files_behind_links_are_copied(tmp_path: Path, scripts: Path, reading: Path) -> None:
    real = tmp_path / "real" / "far"
    real.mkdir(parents=True)
    (scripts / "in").symlink_to(real.parent)
    (real / "a_v6.pkt").write_text("one")
    helper = real / "defaults.sh"
    helper.write_text("true")
    ids = []
    for change in (lambda: None, lambda: (real / "a_v6.pkt").write_text("two"), helper.touch):
        change()
        made = packetdrill.prepare(reading, scripts)
        ids.append(made.id)
        copied = made.net / "packetdrill" / "others" / "in" / "far" / "a_v6.pkt"
        assert copied.read_text() == (real / "a_v6.pkt").read_text()
    assert ids[0] != ids[1] == ids[2]
    # a script calls it
    helper.chmod(0o755)
    assert packetdrill.prepare(reading, scripts).id != ids[2]
    (real / "a b").mkdir()
    (real / "a b" / "c.pkt").write_text("")
    with pytest.raises(InputError, match=r"in/far/a b/c.pkt: accepted are UTF-8 names"):
        packetdrill.prepare(reading, scripts)


def test_a_link_that_leads_nowhere_is_refused(scripts: Path, reading: Path) -> None:
    (scripts / "a.pkt").write_text("")
    (scripts / "x").symlink_to("gone")
    with pytest.raises(InputError, match="/x: cannot be read"):
        packetdrill.prepare(reading, scripts)


def test_the_name_of_a_script_is_utf_8(scripts: Path, reading: Path) -> None:
    (scripts / "\udce9.pkt").write_text("")
    with pytest.raises(InputError, match=r"\\udce9.pkt: accepted are UTF-8 names"):
        packetdrill.prepare(reading, scripts)


def test_there_is_a_script_for_each_thing_that_a_scheduler_must_not_break() -> None:
    names = " ".join(script.stem for script in SCRIPTS)
    wanted = ("mp_capable", "mp_join", "dss", "data_fin", "fallback", "mp_fail", "add_addr")
    assert [name for name in (*wanted, "remove_addr", "fastclose") if name not in names] == []


@pytest.mark.parametrize(
    ("program", "files", "message"),
    [
        ("nothing", ["a.pkt"], "nothing: not a program"),
        ("/bin/true", [], "scripts: accepted is a directory with scripts"),
        ("/bin/true", ["a b.pkt"], "a b.pkt: accepted are UTF-8 names without spaces"),
        ("/bin/true", ["-a/-x.pkt", "-a/a-x.pkt"], "-a/-x.pkt: .* a script's may not begin with -"),
    ],
)
def test_mistakes_are_refused(
    scripts: Path,
    program: str,
    files: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in files:
        (scripts / name).parent.mkdir(exist_ok=True)
        (scripts / name).write_text("")
    words = ["--packetdrill", program, "--packetdrill-scripts", "scripts"]
    with pytest.raises(InputError, match=message):
        load("selftests").main(["--only", "packetdrill", *words], standalone_mode=False)
