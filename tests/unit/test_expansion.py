# SPDX-License-Identifier: GPL-2.0-only
"""What the preprocessor makes of lines, and which differences are known: the pure parts."""

from __future__ import annotations

from pathlib import Path

import pytest

from checks import debian_headers, same_arithmetic
from checks.expansion import (
    Difference,
    Judge,
    Keeper,
    Known,
    Rule,
    conditions,
    differing,
    expansions,
    normal,
    read_known,
    without,
)
from mptcplab.errors import MptcplabError

FILE = "net/ipv4/tcp.c"


def known(*rules: Rule) -> Known:
    return Known((FILE,), ("include/net/*",), rules)


def test_the_list_can_be_read_and_every_rule_has_a_reason() -> None:
    found = read_known(same_arithmetic.KNOWN.read_text(), "list")
    assert len(found.sources) == 76
    assert "net/ipv4/tcp_input.c" in found.sources
    assert "net/mptcp/protocol.c" in found.sources
    assert all(rule.names and rule.reason.endswith(".") for rule in found.rules)
    assert found.is_compared("include/net/tcp.h")
    assert not found.is_compared("include/linux/spinlock.h")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[kept]", "list: "),
        ("[[lines]]\nfiles = []", "lines: accepted are sources, headers, [[kept]]"),
        ('[[kept]]\nnames = ["a"]', "[[kept]] number 1 must have names, reason"),
        ('[[line]]\nfiles = ["a"]\nreason = "b"', "number 1 must have files, reason, text"),
    ],
)
def test_a_list_of_another_form_is_refused_in_one_line(text: str, said: str) -> None:
    with pytest.raises(MptcplabError) as refused:
        read_known(text, "list")
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_kept_names_are_renamed_but_not_in_definitions_and_conditions() -> None:
    keeper = Keeper(known(Rule("kept", ("spin_*", "BUG_ON"), "Locks.")), ["LARGEST"])
    text = r"""
#define spin_lock(lock) \
    raw(lock); \
    spin_more{0}(lock)
#if defined(spin_lock) && \
    LARGEST > 3
    spin_lock{0}(&a->lock); BUG_ON{0}(LARGEST{0} > LARGEST_2);
#endif"""
    assert keeper.rename(text.format("")) == text.format("__kept")


def test_lines_are_found_by_the_markers_of_the_preprocessor() -> None:
    output = """\
# 1 "/x/net/ipv4/tcp.c"
int  a;

int b;
# 7 "/x/include/linux/list.h" 1
int c;
# 9 "/x/net/ipv4/tcp.c" 2
if (x)
# 9 "/x/net/ipv4/tcp.c"
  y( __UNIQUE_ID_x12 );"""
    names = {"/x/net/ipv4/tcp.c": FILE, "/x/include/linux/list.h": None}
    assert expansions(output, names) == {
        (FILE, 1): "int a ;",
        (FILE, 3): "int b ;",
        (FILE, 9): "if ( x ) y ( __UNIQUE_ID_x ) ;",
    }
    # what is counted and spaces say nothing
    assert normal("__compiletime_assert_12( a+1 )") == normal(" __compiletime_assert_7(a +1)")
    assert normal("a+1") != normal("a+2")


def test_a_line_knows_all_conditions_that_it_stands_in() -> None:
    text = "\n".join(
        ["#ifdef A", "a", "#elif \\", " B", "b", "#else", "#if C", "c", "#endif", "#endif", "d"]
    )
    found = [" / ".join(each.split()[-1] for each in line) for line in conditions(text)]
    assert found[1] == "A"
    assert found[4] == "B"
    assert found[7] == "B / C"
    assert found[10] == ""


def judge(text: str, options: set[str], *rules: Rule) -> Judge:
    return Judge(known(*rules), {FILE: text}, frozenset(options))


def test_a_line_may_be_missing_under_a_known_condition() -> None:
    rule = Rule("condition", ("CONFIG_A*",), "Other.")
    text = "#if IS_ENABLED(CONFIG_AB) && defined(CONFIG_C)\na;\n#endif\nb;"
    debian = {(FILE, 2): "a ;", (FILE, 4): "b ;"}
    lab = {(FILE, 4): "b ;"}
    known_one = judge(text, {"CONFIG_AB"}, rule)
    assert list(known_one.unknown(debian, lab)) == []
    assert known_one.used == {rule}
    # rules that nothing needs are found
    line, unused = Rule("line", ("b",), ".", "x"), Rule("condition", ("c",), ".")
    assert known(Rule("kept", ("a",), "."), line, unused).needless({line}) == [unused]
    # what also decides, and is not known
    assert len(list(judge(text, {"CONFIG_AB", "CONFIG_C"}, rule).unknown(debian, lab))) == 1
    assert len(list(judge(text, {"CONFIG_AB"}).unknown(debian, lab))) == 1
    # a condition excuses lines that are missing, not lines that say something else
    other = {(FILE, 2): "c ;", (FILE, 4): "b ;"}
    assert len(list(judge(text, {"CONFIG_AB"}, rule).unknown(debian, other))) == 1


def test_a_number_that_differs_is_shown_with_both_unless_its_line_is_known() -> None:
    rule = Rule("line", ("net/*",), "None.", r"^\s*a")
    both = {(FILE, 1): "x = 320 ;"}, {(FILE, 1): "x = 256 ;"}
    assert list(judge(" a", set(), rule).unknown(*both)) == []
    (found,) = judge("x = MAX_TCP_HEADER;", set(), rule).unknown(*both)
    assert found == Difference((FILE, 1), "x = MAX_TCP_HEADER;", "x = 320 ;", "x = 256 ;")
    assert str(found).split("\n") == [
        "net/ipv4/tcp.c:1: x = MAX_TCP_HEADER;",
        "    Debian: x = 320 ;",
        "    lab:    x = 256 ;",
    ]


def test_a_header_of_one_side_is_reported_once() -> None:
    file = "include/net/xfrm.h"
    made = {(file, number): "x" for number in (1, 2, 3)}
    alone = Judge(known(), {file: "a\nb\nc"}, frozenset())
    assert [str(each).split("\n")[0] for each in alone.unknown(made, {})] == [
        "include/net/xfrm.h: the whole header"
    ]
    excused = Judge(known(Rule("header", (file,), "None.")), {file: "a\nb\nc"}, frozenset())
    assert list(excused.unknown(made, {})) == []


def test_options_that_differ() -> None:
    assert differing("CONFIG_A=y\nCONFIG_B=m\n", "CONFIG_A=y\nCONFIG_C=1\n") == {
        "CONFIG_B",
        "CONFIG_C",
    }
    text = "#define CONFIG_WLAN 1\n#define CONFIG_WLAN_X 1\n#define CONFIG_NET_IPIP_MODULE 1\n"
    assert without(text, ["CONFIG_WLAN", "CONFIG_NET_IPIP"]) == "#define CONFIG_WLAN_X 1\n"


NAMES = [f"linux-headers-6.12.117+deb12-{each}" for each in ("common", "amd64", "cloud-amd64")]


def test_the_packages_of_the_version_are_chosen() -> None:
    others = [
        "linux-headers-6.12-amd64",
        "linux-headers-6.12.111+deb12-amd64",
        "linux-headers-6.12.117+deb12-rt-amd64",
        "linux-headers-6.12.117+deb12-common-rt",
    ]
    version = "6.12.117-1~deb12u1"
    assert debian_headers.package_names([*others, *NAMES], version, "x") == NAMES
    lacks = r"apt-get knows no linux-headers-6\.12\.117\*-cloud-amd64"
    with pytest.raises(MptcplabError, match=lacks):
        debian_headers.package_names(NAMES[:2], version, "apt-get knows")


def test_a_package_of_another_version_is_refused(tmp_path: Path) -> None:
    control = tmp_path / "package" / "DEBIAN" / "control"
    control.parent.mkdir(parents=True)
    control.write_text(
        f"Package: {NAMES[0]}\nVersion: 6.12.111-1\nArchitecture: all\n"
        "Maintainer: x <x@example.org>\nDescription: x\n"
    )
    file = tmp_path / "linux-headers-x.deb"
    done = debian_headers._run("dpkg-deb", "--build", str(control.parent.parent), str(file))
    assert done.returncode == 0, done.stderr
    with pytest.raises(MptcplabError, match=r"version 6\.12\.111-1: 6\.12\.117-1, that of"):
        debian_headers.packages_in(tmp_path, "6.12.117-1")
