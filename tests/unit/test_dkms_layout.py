# SPDX-License-Identifier: GPL-2.0-only
"""layout.awk gives each member the place that a compiler gives it in the whole struct."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

DKMS = Path(__file__).parents[2] / "dkms"
LAYOUT = DKMS / "layout.awk"
# The types of the running kernel, if it has MPTCP.
BTF = Path("/sys/kernel/btf/vmlinux")
MPTCP = Path("/proc/sys/net/mptcp/scheduler")
TYPES = """
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
struct list_head { struct list_head *next, *prev; };
"""
# With all that net/mptcp's structs have: a group, which stands in a union once without a name, bit
# fields, and a struct whose members have names that others have, too.
MEMBERS = """
u64 key; u32 first : 1, second : 1, : 9, far : 1, wide : 12; _Bool scheduled; u8 count;
struct { u64 time; u32 late; } named;
"""
STRUCT = f"""
struct sample {{
    struct list_head node;
    union {{ struct {{ {MEMBERS} }}; struct {{ {MEMBERS} }} group; }};
    unsigned long flags;
    struct sample *next;
    u32 late;
}};
"""
WANTED = ("node", "key", "second", "far", "scheduled", "count", "flags", "next", "late")
BITS = ("second", "far")
# pahole 1.24, for an object with STRUCT
PAHOLE = """\
struct sample {
	struct list_head           node;                 /*     0    16 */
	union {
		struct {
			u64        key;                  /*    16     8 */
			u32        first:1;              /*    24: 0  4 */
			u32        second:1;             /*    24: 1  4 */

			/* XXX 9 bits hole, try to pack */
			u32        :9;

			u32        far:1;                /*    24:11  4 */
			u32        wide:12;              /*    24:12  4 */

			/* Bitfield combined with next fields */

			_Bool      scheduled;            /*    27     1 */
			u8         count;                /*    28     1 */

			/* XXX 3 bytes hole, try to pack */

			struct {
				u64 time;                /*    32     8 */
				u32 late;                /*    40     4 */
			} named;                         /*    32    16 */

			/* XXX last struct has 4 bytes of padding */
		};                                       /*    16    32 */
		struct {
			u64        key;                  /*    16     8 */
			u32        first:1;              /*    24: 0  4 */
			u32        second:1;             /*    24: 1  4 */
			u32        far:1;                /*    24:11  4 */
			u32        wide:12;              /*    24:12  4 */
			_Bool      scheduled;            /*    27     1 */
			u8         count;                /*    28     1 */
			struct {
				u64 time;                /*    32     8 */
				u32 late;                /*    40     4 */
			} named;                         /*    32    16 */
		} group;                                 /*    16    32 */
	};                                               /*    16    32 */
	long unsigned int          flags;                /*    48     8 */
	struct sample *            next;                 /*    56     8 */
	/* --- cacheline 1 boundary (64 bytes) --- */
	u32                        late;                 /*    64     4 */

	/* size: 72, cachelines: 2, members: 5 */
	/* padding: 4 */
	/* last cacheline: 8 bytes */
};
"""


def made(tmp_path: Path, *wanted: str, struct: str = "sample") -> subprocess.CompletedProcess[str]:
    (tmp_path / "layout").write_text(f"# a comment\n{struct}\t{' '.join(wanted)}\n")
    (tmp_path / "layout.txt").write_text(PAHOLE)
    return subprocess.run(
        ["awk", "-f", LAYOUT, "layout", "layout.txt"], cwd=tmp_path, capture_output=True, text=True
    )


@pytest.mark.skipif(not shutil.which("gcc"), reason="gcc is not installed")
def test_each_member_is_at_its_place(tmp_path: Path) -> None:
    """Bytes with one member set are the same in both structs, whichever member it is."""
    said = made(tmp_path, *WANTED)
    assert (said.returncode, said.stderr) == (0, "")
    (tmp_path / "layout.h").write_text(said.stdout.replace("sample", "part"))
    checks = "".join(
        "memset(&whole, 0, sizeof(whole)); memset(&part, 0, sizeof(part));\n"
        + (
            f"whole.{name} = 1; part.{name} = 1;\n"
            if name in BITS
            else f"memset(&whole.{name}, 0xff, sizeof(whole.{name}));"
            f"memset(&part.{name}, 0xff, sizeof(part.{name}));\n"
        )
        + f'if (memcmp(&whole, &part, sizeof(whole))) puts("{name}");\n'
        for name in WANTED
    )
    (tmp_path / "check.c").write_text(
        f'#include <stdio.h>\n#include <string.h>\n{TYPES}{STRUCT}#include "layout.h"\n'
        f"_Static_assert(sizeof(struct sample) == sizeof(struct part), "
        f'"size");\nstatic struct sample whole;\nstatic struct part part;\n'
        f"int main(void) {{ {checks} return 0; }}\n"
    )
    subprocess.run(["gcc", "-Wall", "-Werror", "check.c", "-o", "check"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "check"], capture_output=True, text=True).stdout == ""


def test_a_member_that_is_missing_is_named(tmp_path: Path) -> None:
    said = made(tmp_path, "key", "time")
    assert said.returncode == 1
    assert said.stderr == "layout.awk: struct sample has no member time in this kernel\n"


def test_a_bit_field_in_two_bytes_is_refused(tmp_path: Path) -> None:
    said = made(tmp_path, "wide")
    assert said.returncode == 1
    assert said.stderr == "layout.awk: struct sample has a bit field wide in two bytes\n"


def test_a_kernel_without_the_struct_is_refused(tmp_path: Path) -> None:
    said = made(tmp_path, "sched", struct="mptcp_sock")
    assert said.returncode == 1
    assert said.stderr == (
        "layout.awk: this kernel has no struct mptcp_sock: it is built without MPTCP\n"
    )


@pytest.mark.skipif(
    not (BTF.exists() and MPTCP.exists() and shutil.which("pahole")),
    reason="the running kernel has no BTF of MPTCP's schedulers, or pahole is not installed",
)
def test_the_running_kernel_has_all_members(tmp_path: Path) -> None:
    for name in ("Makefile", "layout", "layout.awk"):
        shutil.copy(DKMS / name, tmp_path)
    command = ["make", "-s", f"KDIR={tmp_path}/none", "layout.h"]
    subprocess.run(command, cwd=tmp_path, check=True)
    structs = (tmp_path / "layout.h").read_text().split("\nstruct ")[1:]
    made = {text.split()[0]: re.findall(r"(\w+)(?: : \d+)?;\n\t\t}", text) for text in structs}
    wanted: dict[str, list[str]] = {}
    for line in (DKMS / "layout").read_text().splitlines():
        if not line.startswith("#"):
            struct, *members = line.split()
            wanted.setdefault(struct, []).extend(members)
    assert made == wanted
