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
    assert [name for name, _ in packetdrill.variants(Path("a/b.pkt"))] == [
        *("a/b,ipv4", "a/b,ipv4-mapped-ipv6", "a/b,ipv6")
    ]
    assert [version for _, version in packetdrill.variants(Path("b_v4.pkt"))] == [
        *("ipv4", "ipv4-mapped-ipv6")
    ]
    assert [version for _, version in packetdrill.variants(Path("b_v6.pkt"))] == ["ipv6"]


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
    with pytest.raises(InputError, match=f"no packetdrill that knows MPTCP: .*{says}"):
        packetdrill.prepare(program(tmp_path, text), None)


@pytest.fixture
def reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that takes scripts alone, as packetdrill does, which is not on every machine."""
    monkeypatch.setattr(doctor, "cache_dir", lambda: tmp_path / "cache")
    monkeypatch.setattr(guest, "build", lambda _source: Guest("0123456789ab", Path("init")))
    return program(tmp_path, '#!/bin/sh\ncase "$2" in *.pkt) exit 0 ;; esac\nexit 1\n')


def test_scripts_that_were_moved_are_others(tmp_path: Path, reading: Path) -> None:
    scripts = tmp_path / "scripts"
    (scripts / "one").mkdir(parents=True)
    (scripts / "one" / "a.pkt").write_text("")
    before = packetdrill.prepare(reading, scripts)
    (scripts / "one").rename(scripts / "other")
    after = packetdrill.prepare(reading, scripts)
    assert before.id != after.id
    listed = after.net / "packetdrill" / "others.txt"
    assert listed.read_text().split()[:4] == ["other/a,ipv4", "400", "ipv4", "others/other/a.pkt"]


def test_a_script_may_have_a_comment_in_latin_1(tmp_path: Path, reading: Path) -> None:
    scripts = tmp_path / "scripts"
    (scripts / "no.pkt").mkdir(parents=True)
    (scripts / "a_v6.pkt").write_bytes(b"// d\xe9j\xe0 vu\n--tolerance_usecs=20000\n")
    place = packetdrill.prepare(reading, scripts).net / "packetdrill"
    assert (place / "others.txt").read_text() == "a_v6,ipv6 2000 ipv6 others/a_v6.pkt\n"
    copied = (place / "others" / "a_v6.pkt").read_bytes()
    assert copied == (scripts / "a_v6.pkt").read_bytes()


def test_what_is_behind_links_is_run_as_it_is_now(tmp_path: Path, reading: Path) -> None:
    scripts, real = tmp_path / "scripts", tmp_path / "real" / "far"
    real.mkdir(parents=True)
    scripts.mkdir()
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
    with pytest.raises(InputError, match=r"in/far/a b/c.pkt: a script's name and its"):
        packetdrill.prepare(reading, scripts)


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("gone", "x: a link to nothing"),
        ("x", "x: a link to nothing"),
        (".", "x: a link back to a directory that it is in"),
        ("..", "x: a link back to a directory that it is in"),
        # there and back
        ("../other", "x/y: a link back to a directory that it is in"),
    ],
)
def test_links_that_lead_nowhere_are_told(
    tmp_path: Path, reading: Path, target: str, says: str
) -> None:
    for name in ("scripts", "other"):
        (tmp_path / name / "in").mkdir(parents=True)
    (tmp_path / "other" / "y").symlink_to(tmp_path / "scripts")
    (tmp_path / "scripts" / "a.pkt").write_text("")
    place = "x" if target == "../other" else "in/x"
    (tmp_path / "scripts" / place).symlink_to(target)
    with pytest.raises(InputError) as error:
        packetdrill.prepare(reading, tmp_path / "scripts")
    assert str(error.value).endswith(f"/{place.removesuffix('x')}{says}")


def test_the_name_of_a_script_is_utf_8(tmp_path: Path, reading: Path) -> None:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "\udce9.pkt").write_text("")
    with pytest.raises(InputError, match=r"\\udce9.pkt: a script's name .* have to be UTF-8"):
        packetdrill.prepare(reading, tmp_path / "scripts")


def test_there_is_a_script_for_each_thing_that_a_scheduler_must_not_break() -> None:
    names = " ".join(script.stem for script in SCRIPTS)
    wanted = ("mp_capable", "mp_join", "dss", "data_fin", "fallback", "mp_fail", "add_addr")
    assert [name for name in (*wanted, "remove_addr", "fastclose") if name not in names] == []


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--packetdrill", "nothing"], "nothing: no program"),
        (
            ["--packetdrill", "true", "--packetdrill-scripts", "none"],
            "none: a directory with scripts",
        ),
        (
            ["--packetdrill", "true", "--packetdrill-scripts", "spaced"],
            "a b.pkt: a script's name and its directory's cannot have spaces",
        ),
        (
            ["--packetdrill", "true", "--packetdrill-scripts", "option"],
            "-a/-x.pkt: a script's name .* cannot have spaces, .*; nor can it begin with -",
        ),
    ],
)
def test_mistakes_are_told(
    options: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "true").symlink_to("/bin/true")
    (tmp_path / "none").mkdir()
    (tmp_path / "spaced").mkdir()
    (tmp_path / "spaced" / "a b.pkt").write_text("")
    (tmp_path / "option" / "-a").mkdir(parents=True)
    (tmp_path / "option" / "-a" / "-x.pkt").write_text("")
    (tmp_path / "option" / "-a" / "a-x.pkt").write_text("")
    with pytest.raises(InputError, match=says):
        load("selftests").main(["--only", "packetdrill", *options], standalone_mode=False)
