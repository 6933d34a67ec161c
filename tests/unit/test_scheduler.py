# SPDX-License-Identifier: GPL-2.0-only
"""What is read from schedulers' files, and which texts choose one."""

from __future__ import annotations

import ast
import hashlib
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mptcplab import resources
from mptcplab.errors import InputError, MptcplabError
from mptcplab.scenario import scheduler
from mptcplab.scenario.scheduler import Choice, Parameter, Scheduler, Setting, SpecError

ROOT = Path(__file__).parents[2]
PROPERTY = settings(deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])

EXPECTED = 'MPS_BOOL("name", default, "meaning") or MPS_UINT('
RP = Parameter("rp", "bool", 0, 1, 1, "", "retransmit and penalise")
NUM = Parameter("num_segments", "uint", 1, 255, 1, "segments", "in a row")
KNOWN = {"default": Scheduler("default", ""), "minrtt": Scheduler("minrtt", "", (RP, NUM))}

SOURCE = """\
// SPDX-License-Identifier: GPL-2.0-only
/* mine: what it does,
 * in one sentence.
 *
 * And more of it:
 *   indented.
 */

#include "mpsched.h"

/* struct mps_param in_a_comment[] = { MPS_BOOL("no", 0, "no") }; */
#define LARGEST		0x10u

enum { RP, NUM };

static const struct mps_param mine_params[] = {
	[RP] = MPS_BOOL("rp", 1, "retransmit "
			"and \\"penalise\\""),	/* a comment, with "text" in it */
	[NUM] = MPS_UINT("num", 1, LARGEST, 2,
			"segments", "in a row }; // no comment"),
	MPS_UINT("wide", 0, U32_MAX, 0, "", "as wide as it gets"),
};

static struct mps_ops mine_ops = {
	.next_segment	= mine_next_segment,
	.name		= "mine",
};
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    file = tmp_path / "mine.c"
    file.write_text(SOURCE)
    return file


# Files


def test_summary_and_description_are_the_comment_at_the_head(mine: Path) -> None:
    found = scheduler.read(mine, KNOWN)
    assert found.name == "mine"
    assert found.summary == "what it does, in one sentence"
    assert found.description == (
        "mine: what it does,\nin one sentence.\n\nAnd more of it:\n  indented."
    )


def test_parameters_are_the_table_of_the_file(mine: Path) -> None:
    assert scheduler.read(mine, KNOWN).parameters == (
        Parameter("rp", "bool", 0, 1, 1, "", 'retransmit and "penalise"'),
        Parameter("num", "uint", 1, 16, 2, "segments", "in a row }; // no comment"),
        Parameter("wide", "uint", 0, 2**32 - 1, 0, "", "as wide as it gets"),
    )


def test_the_digest_is_that_of_the_content_wherever_it_lies(mine: Path, tmp_path: Path) -> None:
    digest = scheduler.read(mine, KNOWN).digest
    assert digest == hashlib.sha256(SOURCE.encode()).hexdigest()[:16]
    (tmp_path / "elsewhere").mkdir()
    moved = mine.rename(tmp_path / "elsewhere" / "mine.c")
    assert scheduler.read(moved, KNOWN).digest == digest
    moved.write_text(SOURCE + "\n")
    assert scheduler.read(moved, KNOWN).digest != digest


def test_whether_it_takes_units_is_read(mine: Path) -> None:
    name = '.name\t\t= "mine",'
    assert not scheduler.read(mine, KNOWN).units
    mine.write_text(SOURCE.replace(name, f"/* .takes_units = true, */ {name}"))
    assert not scheduler.read(mine, KNOWN).units
    mine.write_text(SOURCE.replace(name, f".takes_units\t= true,\n\t{name}"))
    assert scheduler.read(mine, KNOWN).units
    chosen, _ = scheduler.choose(str(mine), KNOWN, mine.parent)
    assert chosen.units


def test_a_file_without_comment_and_table_is_a_scheduler_too(tmp_path: Path) -> None:
    file = tmp_path / "bare.c"
    file.write_text('static struct mps_ops ops = { .name = "bare" };')
    found = scheduler.read(file, KNOWN)
    assert (found.summary, found.parameters) == ("", ())


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('MPS_UINT("wide"', 'MPS_INT("wide"', f"line 21: in the table of parameters: {EXPECTED}"),
        *(
            (old, new, EXPECTED)
            for old, new in (
                *(("U32_MAX", "UNKNOWN"), ("U32_MAX", "1 + 1"), ("U32_MAX", "4294967296")),
                *(('"wide"', "wide"), ('"rp", 1', '"rp"'), ('"wide", 0', '"wide", "0"')),
                *(('gets"),\n};', '"as wide'), ('gets"),\n};', ""), ('gets"),\n};', 'gets"')),
                *(('gets"),\n};', 'gets") "x"'), ('gets"),\n};', 'gets") MPS_BOOL("x", 0, "")}')),
            )
        ),
        ('"wide", 0,', '"wide", 1,', "the default of wide is out of its own range"),
        ('"wide"', '"rp"', "line 21: in the table of parameters: two parameters are called rp"),
        ('"wide"', '"a/b"', "is no name; a parameter's name is up to 255 letters, digits and _"),
        ('.name\t\t= "mine"', ".name = name", 'it registers no scheduler "mine": .name = '),
        (
            '.name\t\t= "mine"',
            '.name = "yours"',
            'it registers no scheduler "mine", but "yours": .name = "mine" is expected',
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_told(mine: Path, old: str, new: str, message: str) -> None:
    assert old in SOURCE
    mine.write_text(SOURCE.replace(old, new))
    with pytest.raises(ValueError, match=re.escape(message)):
        scheduler.read(mine, KNOWN)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none.c", "there is no such file"),
        ("Mine.c", "the name of the file is that of the scheduler: a scheduler's name is a letter"),
        ("a234567890123456.c", "a scheduler's name is a letter, then up to 14 of a-z, 0-9 and _"),
        ("minrtt.c", "a scheduler of the lab kernel has this name; choose another"),
        ("lia.c", "a congestion control of the lab kernel has this name; choose another"),
        ("scheduler.c", "the kernel has a setting of this name (net.mptcp); choose another"),
    ],
)
def test_a_file_that_cannot_be_a_scheduler_s_is_told(
    tmp_path: Path, name: str, message: str
) -> None:
    if name != "none.c":
        (tmp_path / name).write_text(SOURCE)
    with pytest.raises(ValueError, match=re.escape(message)):
        scheduler.read(tmp_path / name, KNOWN)


def test_a_directory_and_a_file_without_end_are_told(tmp_path: Path) -> None:
    (tmp_path / "dir.c").mkdir()
    with pytest.raises(ValueError, match="this is a directory; a scheduler is a short C file"):
        scheduler.read(tmp_path / "dir.c", KNOWN)
    (tmp_path / "endless.c").symlink_to("/dev/zero")
    with pytest.raises(ValueError, match="larger than 1 MiB"):
        scheduler.read(tmp_path / "endless.c", KNOWN)


@PROPERTY
@given(st.text(alphabet='/*"\\{}()[],=\n MPS_BOOL("a", 1)', max_size=60))
def test_any_text_in_the_table_is_either_read_or_refused_with_its_line(text: str) -> None:
    source = f"static const struct mps_param p[] = {{{text}"
    try:
        scheduler.parameters_in(source)
    except ValueError as error:
        told = str(error)
    else:
        told = "line 0: in the table of parameters: nothing"
    assert re.match(r"line \d+: in the table of parameters: \S", told)


# Ours


@pytest.mark.parametrize("name", scheduler.known())
def test_every_scheduler_of_ours_says_what_it_is(name: str) -> None:
    found = scheduler.known()[name]
    assert found.description.startswith(f"{name}: ")
    assert 0 < len(found.summary) <= 70
    assert all(parameter.meaning for parameter in found.parameters)
    assert max(map(len, found.description.splitlines())) <= 80


def test_known_are_upstream_s_and_one_per_file() -> None:
    files = {file.stem for file in (ROOT / "kernel" / "mptcp" / "sched").glob("*.c")}
    assert set(scheduler.known()) == {"default"} | files
    assert "default" not in files


def test_a_broken_file_of_ours_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken.c").write_text("struct mps_param p[] = { x };")
    monkeypatch.setattr(resources, "SCHEDULERS", tmp_path)
    with pytest.raises(MptcplabError, match=r"broken\.c: line 1: "):
        scheduler.known.__wrapped__()  # not what it has found before


# Choosing one


def choose(spec: str, folder: Path = Path()) -> Choice:
    return scheduler.choose(spec, KNOWN, folder)[0]


def mistakes(spec: str, folder: Path = Path()) -> tuple[str, ...]:
    with pytest.raises(SpecError) as caught:
        choose(spec, folder)
    return caught.value.messages


def test_a_name_alone_has_every_parameter_at_its_default() -> None:
    assert choose("minrtt") == Choice(
        name="minrtt",
        settings=(
            Setting(name="rp", kind="bool", value=1, default=1),
            Setting(name="num_segments", kind="uint", value=1, default=1),
        ),
    )
    assert choose("minrtt").label == "minrtt"


@pytest.mark.parametrize("off", ["off", "0", "false", "OFF"])
def test_a_label_names_what_is_not_as_by_default(off: str) -> None:
    assert choose(f"minrtt:num_segments=1:rp={off}").label == "minrtt:rp=off"
    assert choose(f" minrtt : num_segments = 9 : rp = {off} ").label == (
        "minrtt:rp=off:num_segments=9"
    )


def test_a_label_chooses_what_it_is_the_label_of() -> None:
    choice = choose("minrtt:num_segments=255:rp=0")
    assert choose(choice.label) == choice


def test_a_file_is_looked_for_in_the_folder(mine: Path) -> None:
    choice = choose("./mine.c:num=3", mine.parent)
    assert (choice.name, choice.label) == ("mine", "mine:num=3")
    assert choice.digest == scheduler.read(mine, KNOWN).digest
    assert choose(str(mine)) == choose("mine.c", mine.parent)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("minrt", 'unknown scheduler; did you mean "minrtt"? known: default, minrtt; a file of yo'),
        ("", "unknown scheduler; known: default, minrtt; a file of"),
        ("default:rp=on", '"rp": unknown parameter of default; known: recovery'),
        ("minrtt:rp", '"rp" is not PARAM=VALUE, as in NAME:PARAM=VALUE'),
        ("minrtt:", '"" is not PARAM=VALUE'),
        ("minrtt:numsegments=2", '"numsegments": unknown parameter of minrtt; did you mean "num_s'),
        ("minrtt:rp=maybe", '"maybe": rp is on or off'),
        ("minrtt:rp=", '"": rp is on or off'),
        ("minrtt:num_segments=0", '"0": num_segments is a whole number from 1 to 255 (segments)'),
        ("minrtt:num_segments=256", '"256": num_segments is a whole number from 1 to 255'),
        ("minrtt:num_segments=-1", '"-1": num_segments is'),
        ("minrtt:num_segments=1.0", '"1.0": num_segments is'),
        ("minrtt:num_segments=" + "9" * 5000, "num_segments is a whole number"),
        ("minrtt:rp=on:rp=off", "rp is given twice"),
        ("none.c", "there is no such file"),
    ],
)
def test_a_text_that_chooses_none_is_told(spec: str, message: str) -> None:
    (told,) = mistakes(spec)
    assert message in told


def test_all_mistakes_of_a_text_are_told_together() -> None:
    assert len(mistakes("minrtt:rp=x:num_segments=0:foo=1:bar:rp=on")) == 5


@PROPERTY
@given(st.text(max_size=40))
def test_any_text_is_either_a_choice_or_told(spec: str) -> None:
    try:
        told = [choose(f"minrtt:{spec}").label]
    except SpecError as error:
        told = list(error.messages)
    assert all(told)


# Beginning one


def test_new_writes_a_scheduler_and_its_test(tmp_path: Path) -> None:
    assert scheduler.new("ada", tmp_path, KNOWN) == [tmp_path / "ada.c", tmp_path / "ada_test.py"]
    found = scheduler.read(tmp_path / "ada.c", KNOWN)
    assert found.summary
    assert [parameter.name for parameter in found.parameters] == ["in_a_row"]
    test = (tmp_path / "ada_test.py").read_text()
    ast.parse(test)
    assert "def test_ada_fills_two_equal_paths(" in test
    assert '"./ada.c"' in test
    for file in tmp_path.iterdir():
        assert "mine" not in file.read_text(), file


def test_new_replaces_no_file_and_writes_none_if_it_cannot_write_all(tmp_path: Path) -> None:
    (tmp_path / "ada_test.py").write_text("precious")
    with pytest.raises(InputError, match=r"ada_test\.py: there is a file of this name"):
        scheduler.new("ada", tmp_path, KNOWN)
    assert [file.name for file in tmp_path.iterdir()] == ["ada_test.py"]
    assert (tmp_path / "ada_test.py").read_text() == "precious"


@pytest.mark.parametrize("name", ["Ada", "a-b", "", "default", "enabled", "../ada", "a" * 16])
def test_new_refuses_names_that_cannot_be(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError) as caught:
        scheduler.new(name, tmp_path, KNOWN)
    assert caught.value.exit_status == 2
    assert list(tmp_path.iterdir()) == []


def test_new_tells_a_folder_that_cannot_be_written_to(tmp_path: Path) -> None:
    with pytest.raises(MptcplabError, match=r"cannot write .*ada\.c: No such file or directory"):
        scheduler.new("ada", tmp_path / "none", KNOWN)


@pytest.mark.parametrize(
    ("spec", "now"),
    [
        ("daps:commit=off:ack_clocked=on", "timetable"),
        ("musher:measure=on:mixed=on", "proportional"),
        ("redundant:mode=2", "opportunistic (for mode=1) or whenidle (for mode=2)"),
    ],
)
def test_a_form_that_is_a_scheduler_now_is_refused_with_its_name(spec: str, now: str) -> None:
    known = scheduler.known()
    with pytest.raises(scheduler.SpecError) as caught:
        scheduler.choose(spec, known, Path())
    for message in caught.value.messages:
        assert message.endswith(f"is a scheduler of its own now: {now}")
    assert now.split()[0] in known


def test_recovery_is_a_parameter_of_every_scheduler() -> None:
    known = scheduler.known()
    for name in known:
        value = "off" if name == "earliest" else "on"
        choice, _ = scheduler.choose(f"{name}:recovery={value}", known, Path())
        assert choice.label == f"{name}:recovery={value}"
        number = int(value == "on")
        assert choice.sysctls == (f"net.mptcp.scheduler={name}", f"net.mptcp.recovery={number}")


def test_recovery_is_on_by_default_where_the_file_says_so(tmp_path: Path) -> None:
    known = scheduler.known()
    recovery = {name: each.common_parameters[0].default for name, each in known.items()}
    assert [name for name, default in recovery.items() if default] == ["earliest"]
    on, _ = scheduler.choose("earliest:recovery=on", known, Path())
    assert (on.label, on.sysctls) == ("earliest", ("net.mptcp.scheduler=earliest",))
    ops = '/* .recovers = true */\nstruct mps_ops o = {{ .name = "mine", .recovers = {} }};\n'
    for value in ("true", "false"):
        (tmp_path / "mine.c").write_text(ops.format(value))
        mine, _ = scheduler.choose("./mine.c:recovery=on", KNOWN, tmp_path)
        assert (":recovery=on" in mine.label) == (value == "false")


def test_recovery_that_is_off_leaves_no_trace() -> None:
    off, _ = scheduler.choose("minrtt:recovery=off", KNOWN, Path())
    assert off == scheduler.choose("minrtt", KNOWN, Path())[0]


def test_the_grain_is_a_parameter_of_every_scheduler_of_ours() -> None:
    known = scheduler.known()
    for name in known.keys() - {"default"}:
        choice, _ = scheduler.choose(f"{name}:grain_bytes=1400", known, Path())
        assert choice.label == f"{name}:grain_bytes=1400"
        assert choice.sysctls == (f"net.mptcp.scheduler={name}", "net.mptcp.grain_bytes=1400")
    with pytest.raises(scheduler.SpecError, match="unknown parameter of default"):
        scheduler.choose("default:grain_bytes=1400", known, Path())


@pytest.mark.parametrize("name", ["recovery", "grain_bytes"])
def test_a_scheduler_has_no_common_parameter_of_its_own(name: str) -> None:
    table = f'static const struct mps_param p[] = {{\n\tMPS_BOOL("{name}", 0, "mine"),\n}};\n'
    with pytest.raises(ValueError, match=f"line 2: .*{name} is a parameter that all schedulers"):
        scheduler.parameters_in(table)
