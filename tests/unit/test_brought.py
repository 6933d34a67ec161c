# SPDX-License-Identifier: GPL-2.0-only
"""The user's own patches of a kernel: `kernel build --patch`, with a `make` that pretends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mptcplab.cli import cli
from mptcplab.errors import InputError
from mptcplab.lab import kernel, kernel_names, kernel_tree, out_of_tree
from mptcplab.lab.brought import Brought
from mptcplab.lab.kernel_make import Places
from mptcplab.runs import experiment
from tests.unit.test_kernel import FAKE_MAKE, Repository, repository
from tests.unit.test_out_of_tree import PATHS, THERE, request, source

__all__ = ["repository", "source"]

SCHEDULER = """\
#include "older.h"
static struct mptcp_sched_ops mptcp_sched_%s = {
\t.get_subflow = get_subflow,
\t.name = "%s",
};"""
# Objects of the files that the Makefile of MPTCP names, with the options that it names.
OBJECTS = """
        mkdir -p "$obj/net/mptcp"
        while read -r option object; do
            if [ "$option" = y ] || grep -q "^$option=y" "$obj/.config"; then
                touch "$obj/net/mptcp/$object"
            fi
        done < <(sed -n 's/^obj-\\(y\\|\\$(\\(\\w*\\))\\) += /\\2 /p' "$source/net/mptcp/Makefile" |
                 sed 's/^ /y /')
"""
DIFF = """\
Subject: [PATCH] a scheduler

--- linux-4.19.orig/net/mptcp/Kconfig\t2020-01-01
+++ linux-4.19/net/mptcp/Kconfig\t2021-01-01
@@ -1,2 +1,6 @@
 config MPTCP_FULLMESH
 \ttristate "full mesh"
+config MPTCP_STTF
+\ttristate "STTF"
+config DEFAULT_STTF
+\tbool "STTF"
--- linux-4.19.orig/net/mptcp/Makefile\t2020-01-01
+++ linux-4.19/net/mptcp/Makefile\t2021-01-01
@@ -1 +1,2 @@
 # MPTCP
+obj-$(CONFIG_MPTCP_STTF) += mptcp_sttf.o
--- linux-4.19.orig/net/mptcp/mptcp_sttf.c\t1970-01-01
+++ linux-4.19/net/mptcp/mptcp_sttf.c\t2021-01-01
@@ -0,0 +1,2 @@
+static struct mptcp_sched_ops mptcp_sttf = { .name = "sttf", };
+// end
"""


@pytest.fixture
def tree(source: Repository) -> Repository:
    """One whose source has a Makefile and a Kconfig of MPTCP."""
    source.write("source/net/mptcp/Makefile", "# MPTCP\n")
    source.write("source/net/mptcp/Kconfig", 'config MPTCP_FULLMESH\n\ttristate "full mesh"\n')
    made = FAKE_MAKE.replace('        echo "0x0 printk', f'{OBJECTS}        echo "0x0 printk')
    assert made != FAKE_MAKE
    source.write("bin/make", made)
    return source


def build(tree: Repository, *patches: Path) -> kernel.KernelBuild:
    return kernel.build(tree.source, patches=patches, quiet=True, remember=False)


def scheduler(tree: Repository, name: str, file: str = "") -> Path:
    return tree.write(file or f"mptcp_{name}.c", SCHEDULER % (name, name))


def call(*words: str) -> Result:
    return CliRunner().invoke(cli, ["kernel", *words])


def test_a_file_of_a_scheduler_is_built_in_and_gone_without_it(tree: Repository) -> None:
    plain = build(tree)
    files = [scheduler(tree, "daps"), tree.write("older.h", "/* older */\n")]
    with_daps = build(tree, *files)
    src = kernel.tree_of(tree.source) / "src/net/mptcp"
    assert (src / "mptcp_daps.c").read_text() == files[0].read_text() + "\n"
    assert (src / "older.h").read_text() == "/* older */\n"
    assert (src / "Makefile").read_text() == "# MPTCP\nobj-y += mptcp_daps.o\n"
    assert (with_daps.brought, plain.brought) == (("daps",), ())
    assert with_daps.id != plain.id
    # their content counts, and their order, in which they are applied
    assert build(tree, *files[::-1]).id != with_daps.id
    both = build(tree, *files, scheduler(tree, "otias"))
    assert both.brought == ("daps", "otias")
    assert len({plain.id, with_daps.id, both.id}) == 3
    files[1].write_text("/* younger */\n")
    assert build(tree, *files).id != with_daps.id
    assert build(tree).id == plain.id
    kernel.build(tree.source, patches=files[1:], quiet=True, remember=False)
    assert not (src / "mptcp_daps.c").exists()
    assert (src / "Makefile").read_text() == "# MPTCP\n"


def test_a_diff_is_applied_before_ours_and_its_options_are_on(tree: Repository) -> None:
    ours = tree.root / "kernel/patches/4.19/engine/0002-after-it.patch"
    ours.write_text(
        "--- a/net/mptcp/Makefile\n+++ b/net/mptcp/Makefile\n@@ -1,2 +1,3 @@\n # MPTCP\n"
        " obj-$(CONFIG_MPTCP_STTF) += mptcp_sttf.o\n+# ours\n"
    )
    built = build(tree, tree.write("sttf.patch", DIFF), scheduler(tree, "daps"))
    assert built.brought == ("sttf", "daps")
    config = built.config.read_text().splitlines()
    assert "CONFIG_MPTCP_STTF=y" in config
    assert "CONFIG_DEFAULT_STTF=y" not in config
    note = json.loads(built.image.with_name("build.json").read_bytes())
    assert [name for name, _ in note["brought"]] == ["sttf.patch", "mptcp_daps.c"]
    about = kernel.about(built.image.parent)
    assert about
    assert [Path(each).name for each in about.patches] == ["sttf.patch", "mptcp_daps.c"]
    # without it, ours does not fit
    with pytest.raises(kernel_tree.SourceError, match="0002-after-it") as failure:
        build(tree, scheduler(tree, "daps"))
    assert "follows those of --patch: mptcp_daps.c" in str(failure.value)


def test_any_kernel_takes_a_diff(repository: Repository) -> None:
    file = repository.write(
        "mine.diff",
        "--- a/net/mptcp/protocol.c\n+++ b/net/mptcp/protocol.c\n@@ -3 +3,2 @@\n three\n+four\n",
    )
    built = build(repository, file)
    assert built.image.read_text().startswith("one\nTWO\nthree\nfour\n")
    with pytest.raises(InputError, match=r"mptcp_daps\.c: .*which this source lacks"):
        build(repository, scheduler(repository, "daps"))


def test_a_scheduler_that_is_not_compiled_is_no_kernel(tree: Repository) -> None:
    file = tree.write("sttf.patch", DIFF.replace('\ttristate "STTF"', '\tbool "STTF"'))
    with pytest.raises(kernel_tree.SourceError, match="sttf of --patch was not compiled"):
        build(tree, file)
    assert not tree.finished()


def test_a_patch_that_does_not_fit_says_where(tree: Repository) -> None:
    plain = build(tree)
    file = tree.write("sttf.patch", DIFF.replace(" # MPTCP\n", "-# MP-TCP\n+# MPTCP\n"))
    with pytest.raises(kernel_tree.SourceError) as failure:
        build(tree, file)
    assert str(failure.value).splitlines() == [
        "the patch sttf.patch does not apply to this kernel source",
        "  rejected: net/mptcp/Makefile, hunk 1, at line 1",
    ]
    assert build(tree) == plain
    # a file that is there is not replaced
    tree.write("source/net/mptcp/mptcp_daps.c", "theirs\n")
    with pytest.raises(kernel_tree.SourceError, match=r"create the file net/mptcp/mptcp_daps\.c"):
        build(tree, scheduler(tree, "daps"))


def test_wrong_files_are_refused_before_a_build(tree: Repository) -> None:
    one, other = scheduler(tree, "daps"), scheduler(tree, "daps", "other/mptcp_daps.c")
    third = scheduler(tree, "daps", "mptcp_third.c")
    cases = {
        (one, other): "another file has this name",
        (one, third): "another patch adds the scheduler daps, too",
        (scheduler(tree, "blest"),): "the kernel has a scheduler blest already",
        (scheduler(tree, "default", "mptcp_x.c"),): "has a scheduler default already",
        (tree.write("daps.c", ""),): "not the name of a scheduler's file; accepted is a unified",
        (tree.write("notes.txt", "none\n"),): "changes no file; accepted is a unified diff",
        (tree.root / "nowhere.patch",): "there is no such file",
        (tree.root,): "this is a directory",
    }
    for files, message in cases.items():
        with pytest.raises(InputError, match=message) as failure:
            build(tree, *files)
        assert failure.value.problems[0].where == "--patch"
    assert not tree.finished()


def test_a_patch_does_not_lead_out_of_the_source(tree: Repository) -> None:
    place = "../../../escaped"
    file = tree.write("evil.patch", f"--- a/{place}\n+++ b/{place}\n@@ -0,0 +1 @@\n+x\n")
    with pytest.raises(kernel_tree.SourceError, match=r"evil\.patch does not apply"):
        build(tree, file)
    assert not list(tree.root.rglob("escaped"))


def test_errors_of_the_compiler_are_in_the_users_file(tree: Repository) -> None:
    (file,) = [scheduler(tree, "daps")]
    origins = Brought.read([file]).origins
    src = tree.root / "cache/src"
    said = f"{src}/net/mptcp/mptcp_daps.c:2:5: error: no"
    assert Places(src, None, origins).shown([said]) == [f"{file}:2:5: error: no"]


def test_a_name_keeps_its_patches(tree: Repository) -> None:
    file, other = scheduler(tree, "daps"), scheduler(tree, "otias")
    words = ["build", "--source", str(tree.source), "--patch", str(file)]
    assert "--patch needs --name" in call(*words).output
    made = call(*words, "--name", "with-daps")
    assert made.exit_code == 0, made.output
    assert "schedulers of --patch, for --scheduler: daps\n" in made.output
    named = kernel_names.find("with-daps")
    assert (named.patches, named.brought) == ((file,), ("daps",))
    build_of_it = named.current()
    assert build_of_it
    assert build_of_it.brought == ("daps",)
    assert "source with mptcp_daps.c" in call("list").output.replace("\n", "")
    # its content is the kernel's, and other patches take its place
    file.write_text(file.read_text() + "// changed\n")
    assert named.current() is None
    assert call("build", "--name", "with-daps").exit_code == 0
    assert named.current() not in (None, build_of_it)
    made = call("build", "--name", "with-daps", "--patch", str(other))
    assert "--scheduler: otias" in made.output
    unknown = scheduler(tree, "ratio")
    made = call("build", "--name", "with-daps", "--patch", str(unknown))
    assert "no run can ask for ratio: the lab has no scheduler of this name" in made.output
    unknown.unlink()
    gone = call("build", "--name", "with-daps")
    assert f"the patch of with-daps is gone: {unknown}" in str(gone.exception)
    assert call("build", "--name", "with-daps", "--source", str(tree.source)).exit_code == 0
    assert kernel_names.find("with-daps").patches == ()


def test_a_run_can_ask_for_what_a_patch_adds() -> None:
    with_them = kernel.KernelBuild(
        "f2", "out-of-tree", Path("linux"), Path("config"), "more", brought=("ol", "sttf")
    )
    wanted = request(scheduler="sttf,ols,minrtt")
    experiment.require_able(wanted, with_them)
    assert experiment.schedulers_of(with_them)[-2:] == ("ols", "sttf")
    plans = [out_of_tree.plan_text(each, with_them.brought) for each in wanted.runs()]
    for name in ("sttf", "ol", "default"):
        assert any(f"mptcp_scheduler={name} " in plan for plan in plans)
    with pytest.raises(InputError, match=r"sttf, ols: .*accepted is .*minrtt"):
        experiment.require_able(wanted, THERE)
    with pytest.raises(InputError, match=r"sttf:.*: .* without these"):
        experiment.require_able(request(scheduler="sttf:recovery=on"), with_them)


def test_the_plan_knows_them_without_a_build(tree: Repository) -> None:
    names = {"plain": (), "more": (scheduler(tree, "sttf"),)}
    for name, patches in names.items():
        kernel_names.keep(kernel_names.Named(name, tree.source, patches=patches))
    words = [word for path in PATHS for word in ("--path", path)]
    words += ["--repeat", "1", "--scheduler", "sttf,minrtt", "--plan", "--kernel", "plain,more"]
    shown = CliRunner().invoke(cli, ["compare", *words]).stdout
    assert [line for line in shown.splitlines() if line.startswith("###")] == [
        "### minrtt, plain, seed 1",
        "### sttf, more, seed 1",
        "### minrtt, more, seed 1",
    ]
