# SPDX-License-Identifier: GPL-2.0-only
"""The files of published experiments: what is wrong in them, and which runs they stand for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from mptcplab.errors import InputError
from mptcplab.papers import catalogue
from mptcplab.papers.catalogue import DRAWS, PUBLISHED, QUICK, Assumed, SeededPoint
from mptcplab.scenario import scheduler
from mptcplab.traces import radio

PAGE = Path(__file__).parents[2] / "docs" / "papers.md"
PAPER = 'title = "T"\nauthors = "A"\npublished = "P"\n'
FIGURE = """
title = "Queues"
place = "figure 1"
repeat = 3

[scenario]
scheduler = "{scheduler}"

[[scenario.path]]
name = "first"
rate = "10mbit"
delay = "{rtt / 2}ms"
queue = "{queue}"

[[scenario.path]]
if = "rtt > 10"
name = "second"
rate = "10mbit"
delay = "10ms"

[scenario.workload]
duration = "20s"

[grid]
scheduler = ["minrtt", "blest"]
queue = [20, 40]
rtt = [10, 20]

[quick]
grid.queue = [40]

[[metric]]
name = "goodput"
title = "Goodput"
unit = "Mbit/s"
value = "goodput_bps / 1e6"

[chart]
kind = "lines"
x = "queue"
y = ["goodput"]

[[claim]]
name = "more"
quote = "More is more."
says = "More is more."
place = "section 1"
holds = "more > median(goodput, scheduler='minrtt')"
[claim.figures]
more = { value = "median(goodput, scheduler='blest')", paper = 3 }
"""


def load(directory: Path, text: str) -> catalogue.Published:
    (directory / "paper2020").mkdir(exist_ok=True)
    (directory / "paper2020" / "paper.toml").write_text(PAPER)
    (directory / "paper2020" / "fig1.toml").write_text(text)
    return catalogue.load("paper2020/fig1", directory)


def settings(published: catalogue.Published, folder: Path, **keys: Any) -> list[SeededPoint]:
    return catalogue.settings(published, scheduler.known(), folder, **keys)


def test_a_grid_becomes_scenarios(tmp_path: Path) -> None:
    found = settings(load(tmp_path, FIGURE), tmp_path)
    assert len(found) == 2 * 2 * 2 * 3
    first, last = found[0], found[-1]
    assert first.point == {"scheduler": "minrtt", "queue": 20, "rtt": 10}
    assert [each.seed for each in found[:4]] == [1, 2, 3, 1]
    assert [path.name for path in first.scenario.paths] == ["first"]
    assert first.scenario.paths[0].up.delay_ns == 5_000_000
    assert last.scenario.scheduler.name == "blest"
    assert [path.name for path in last.scenario.paths] == ["first", "second"]
    assert last.scenario.paths[0].up.queue_packets == 40


def test_quick_runs_are_some_of_all(tmp_path: Path) -> None:
    published = load(tmp_path, FIGURE)
    every = {each.scenario.key_text() for each in settings(published, tmp_path)}
    quick = {each.scenario.key_text() for each in settings(published, tmp_path, part=QUICK)}
    assert len(quick) == 12
    assert quick < every


def test_cases_are_axes_too(tmp_path: Path) -> None:
    text = FIGURE.replace("rtt = [10, 20]\n", "").replace(
        "[quick]", '[[case]]\nname = "near"\nrtt = 10\n[[case]]\nname = "far"\nrtt = 20\n[quick]'
    )
    published = load(tmp_path, text)
    assert published.experiment.axes() == ["scheduler", "queue", "case", "rtt"]
    points = published.experiment.part(PUBLISHED).points()
    assert {(each["case"], each["rtt"]) for each in points} == {("near", 10), ("far", 20)}


def test_a_design_is_combined_with_the_grid(tmp_path: Path) -> None:
    text = FIGURE.replace("rtt = [10, 20]\n", "").replace(
        "[quick]",
        "[design]\npoints = 8\nseed = 1\nranges.rtt = { low = 0, high = 50 }\n[quick]\npoints = 2",
    )
    own = load(tmp_path, text).experiment
    points = own.part(PUBLISHED).points()
    assert len(points) == 8 * 4
    assert own.part(QUICK).points() == [p for p in points[: 2 * 4] if p["queue"] == 40]


def test_baselines_are_the_same_for_all_schedulers(tmp_path: Path) -> None:
    text = FIGURE.replace("repeat = 3", "repeat = 3\nbaselines = true", 1)
    found = settings(load(tmp_path, text), tmp_path)
    two_paths = [each for each in found if each.point["rtt"] == 20]
    assert all(each.alone.keys() == {"first", "second"} for each in two_paths)
    assert all(each.transport == "tcp" for s in two_paths for each in s.alone.values())
    keys = {each.alone["second"].key_text() for each in two_paths}
    assert len(keys) == 3  # a seed each: neither the scheduler nor the other's queue matter


def test_an_axis_that_is_the_seed_of_the_drive_is_known(tmp_path: Path) -> None:
    assert load(tmp_path, FIGURE).experiment.seed_axes() == []
    text = FIGURE.replace("[grid]", '[drive]\nseed = "{rtt}"\n[grid]')
    assert load(tmp_path, text).experiment.seed_axes() == ["rtt"]
    text = FIGURE.replace("[grid]", "[drive]\nseed = 3\n[grid]")
    assert load(tmp_path, text).experiment.seed_axes() == []


def test_a_drive_gives_the_traces(tmp_path: Path) -> None:
    text = FIGURE.replace('rate = "10mbit"\ndelay = "10ms"', 'trace = "lte.csv"').replace(
        "[grid]", '[drive]\nseed = "{rtt}"\nsettings = ["{\'building=none\'}"]\n[grid]'
    )
    found = settings(load(tmp_path, text), tmp_path / "drives")
    played = {s.request.traces["second", "up"].file for s in found if s.point["rtt"] == 20}
    assert len(played) == 1
    text = (next(iter(played)).parent / "drive.toml").read_text()
    assert "seed 20" in text
    assert "building=none" in text


def test_two_processes_may_write_a_drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = FIGURE.replace("[grid]", "[drive]\nseed = 3\n[grid]").replace(
        "rtt = [10, 20]", "rtt = [20]"
    )
    published, folder = load(tmp_path, text), tmp_path / "drives"
    write = radio.write_scenario

    def meanwhile(*arguments: Any) -> list[Path]:
        monkeypatch.setattr(radio, "write_scenario", write)
        settings(published, folder)
        return write(*arguments)

    monkeypatch.setattr(radio, "write_scenario", meanwhile)
    settings(published, folder)
    (drive,) = folder.iterdir()
    assert (drive / "drive.toml").exists()


@pytest.mark.parametrize(
    ("old", "new", "key", "value", "message"),
    [
        ('title = "Queues"', "", "title", "", "missing"),
        ("repeat = 3", "repeat = 0", "repeat", "0", "greater than or equal to 1"),
        ("repeat = 3", "repeats = 3", "repeats", "3", 'did you mean "repeat"'),
        ("[quick]", "[quick]\nrepeats = 1", "quick.repeats", "1", "accepted here: points"),
        ("unit =", "units =", "metric[1].units", '"Mbit/s"', 'did you mean "unit"'),
        ('"lines"', '"pie"', "chart.kind", '"pie"', "'lines', 'bars', 'cdf' or 'time'"),
        ('x = "queue"', 'x = "size"', "chart.x", '"size"', "known: scheduler, queue, rtt"),
        ('x = "queue"', "", "chart.x", '""', "not an axis"),
        ('y = ["goodput"]', 'y = ["delay"]', "chart.y", '"delay"', "known: goodput"),
        ('"lines"', '"time"\nat = { size = 1 }', "chart.at.size", "1", "not an axis"),
        (
            '"lines"',
            '"time"\nat = { queue = 7 }',
            "chart.at.queue",
            "7",
            "not on this axis; known: 20, 40",
        ),
        ("{rtt / 2}", "{rrt / 2}", "scenario.path[1].delay", '"{rrt / 2}ms"', 'mean "rtt"'),
        ("{rtt / 2}", "{rtt /}", "scenario.path[1].delay", '"{rtt /}ms"', "not a text"),
        ("rtt > 10", "rtx > 10", "scenario.path[2].if", '"rtx > 10"', 'did you mean "rtt"'),
        ("[40]", "[40, 60]", "quick.grid.queue", "60", "not in grid.queue; known: 20, 40"),
        ("[quick]", "[quick]\nscenario.cc = 'reno'", "quick.says", "", "must say"),
        ("[quick]", "[quick]\npoints = 3", "quick.points", "3", "more than the design"),
        ("goodput_bps / 1e6", "goodput_bps /", "metric[1].value", '"goodput_bps /"', "formula"),
        (
            "holds = \"more > median(goodput, scheduler='minrtt')\"",
            "",
            "claim[1]",
            '"More is more."',
            '"holds" or "not_testable"',
        ),
        ("more > ", "less > ", "claim[1].holds", "", "unknown name less"),
        ("(goodput, scheduler='blest')", "(x)", "claim[1].figures.more.value", "", "name x"),
        ("more = {", "queue = {", "claim[1].figures.queue", "", "axis, metric or figure"),
        ('name = "goodput"', 'name = "rtt"', "grid", '"rtt"', "more than one"),
        ("[grid]", "[axis]\nrate = 'x'\n[grid]", "axis.rate", '"x"', "known: scheduler"),
    ],
)
def test_mistakes_are_reported_with_file_key_and_value(
    tmp_path: Path, old: str, new: str, key: str, value: str, message: str
) -> None:
    assert old in FIGURE
    with pytest.raises(InputError) as caught:
        load(tmp_path, FIGURE.replace(old, new, 1))
    text = "\n".join(f"{each.where}: {each}" for each in caught.value.problems if each.key == key)
    assert str(tmp_path / "paper2020" / "fig1.toml") in text, caught.value
    assert value in text
    assert message in text


ASSUMED = """
[[assumed]]
name = "loss"
value = 1
because = "the paper gives none"
range = [0, 2]
source = "a common one"
[[variant]]
name = "today"
says = "today's defaults"
scenario = { cc = "cubic", "path.first.delay" = "{rtt}ms" }
grid = { scheduler = ["default", "minrtt"] }
[[variant]]
name = "Buffer: 1 MB"
says = "1 MB to receive"
scenario.receive_buffer = "1MB"
"""
BUFFER = """
[[assumed]]
name = "receive_buffer"
value = "auto"
because = "the paper left it"
range = ["5MB"]
fixed_by = "the default"
"""
BECAUSE = """
[[claim.because]]
says = "It is."
shown_by = "small > more"
figures.small.value = "median(goodput, variant='today')"
"""
VARIED = (
    FIGURE.replace('name = "first"', 'name = "first"\nloss = "{loss}%"').replace(
        "[[claim]]", f"{ASSUMED}[[claim]]"
    )
    + BECAUSE
)


def test_a_variant_is_the_quick_part_with_other_settings(tmp_path: Path) -> None:
    published = load(tmp_path, VARIED)
    own = published.experiment
    variants = ["today", "Buffer: 1 MB", "loss=0", "loss=2", "draws"]
    assert own.parts() == ["published", "published-quick", *variants]
    assert own.variants() == variants
    assert own.sensitivity() == {"loss": ["loss=0", "loss=2"]}
    # 2 schedulers, a queue, 2 delays, 3 seeds; 60 draws
    assert [own.part(name).runs() for name in own.parts()] == [24, 12, 12, 12, 12, 12, 240]
    today = settings(published, tmp_path, part="today")
    assert {each.point["scheduler"] for each in today} == {"default", "minrtt"}
    assert {each.point["queue"] for each in today} == {40}
    first = next(each.scenario.paths[0] for each in today if each.point["rtt"] == 20)
    assert (first.up.delay_ns, first.up.loss) == (20_000_000, 0.01)
    assert {each.scenario.cc for each in today} == {"cubic"}
    buffer = settings(published, tmp_path, part="Buffer: 1 MB")
    assert {each.scenario.receive_buffer_bytes for each in buffer} == {1_000_000}
    losses = {
        part: {each.scenario.paths[0].up.loss for each in settings(published, tmp_path, part=part)}
        for part in (PUBLISHED, QUICK, "loss=0", "loss=2")
    }
    assert losses == {PUBLISHED: {0.01}, QUICK: {0.01}, "loss=0": {0.0}, "loss=2": {0.02}}


def test_a_variant_may_set_what_is_assumed_otherwise(tmp_path: Path) -> None:
    text = VARIED.replace("[[metric]]", f"{BUFFER}[[metric]]", 1).replace(
        "[scenario]", '[scenario]\nreceive_buffer = "{receive_buffer}"', 1
    )
    published = load(tmp_path, text)
    buffers = {
        part: {
            each.scenario.receive_buffer_bytes
            for each in settings(published, tmp_path, part=part, repeat=1)
        }
        for part in (QUICK, "receive_buffer=5MB", "Buffer: 1 MB")
    }
    wanted = {QUICK: None, "receive_buffer=5MB": 5_000_000, "Buffer: 1 MB": 1_000_000}
    assert buffers == {part: {value} for part, value in wanted.items()}
    # the value that is assumed elsewhere is nothing to a part that sets another one
    other = load(tmp_path, text.replace('"auto"', '"4MB"')).experiment
    same = [
        part
        for part in wanted
        if other.part(part).digest() == published.experiment.part(part).digest()
    ]
    assert same == ["receive_buffer=5MB", "Buffer: 1 MB"]


def test_the_digest_of_a_part_is_that_of_its_runs(tmp_path: Path) -> None:
    own = load(tmp_path, VARIED).experiment
    digests = {name: own.part(name).digest() for name in own.parts()}
    assert len(set(digests.values())) == len(digests)
    text = VARIED.replace("value = 1\n", "value = 3\n").replace("small > more", "small < more")
    changed = load(tmp_path, text).experiment
    same = {name for name in own.parts() if changed.part(name).digest() == digests[name]}
    assert same == {"loss=0", "loss=2"}


def test_parts_have_files_of_their_own() -> None:
    assert [catalogue.slug(part) for part in (PUBLISHED, QUICK)] == ["", "quick"]
    assert catalogue.slug("Buffer: 1 MB") == "buffer-1-mb"
    assert catalogue.slug("queue=0.5") == "queue=0.5"


@pytest.mark.parametrize(
    ("old", "new", "is_random"),
    [
        ('"{loss}%"', '"0%"', False),
        ('"{loss}%"', '"1%"', True),
        # what a formula gives at the points that are run
        ('"{loss}%"', '"{rtt - rtt}%"', False),
        ('"{loss}%"', '"{rtt - 10}%"', True),
        ('scheduler = "{scheduler}"', 'scheduler = "{scheduler}"\nvary = ["0%", "a=0.0%"]', False),
        ('scheduler = "{scheduler}"', 'scheduler = "{scheduler}"\nvary = ["0%", "a=2%"]', True),
        ('loss = "{loss}%"', "jitter = '1ms'", True),
        ('loss = "{loss}%"', 'preset = "lte"', True),
        ('scheduler = "{scheduler}"', 'scheduler = "{scheduler}"\nvary = "2%"', True),
        ("[grid]", '[drive]\nseed = "{rtt}"\n[grid]', True),
        ("[grid]", "[drive]\nseed = 3\n[grid]", False),
        ("rtt = [10, 20]", "[design]\npoints = 8\nranges.rtt = {low = 1, high = 9}", True),
    ],
)
def test_random_seeds_are_samples(tmp_path: Path, old: str, new: str, is_random: bool) -> None:
    certain = FIGURE.replace('name = "first"', 'name = "first"\nloss = "{loss}%"')
    text = certain.replace(old, new, 1).replace("{loss}", "0")
    assert load(tmp_path, text).experiment.part(PUBLISHED).is_random() is is_random


@pytest.mark.parametrize(
    ("old", "new", "key", "message"),
    [
        ('"loss"', '"rtt"', "grid", "more than one axis, metric or assumed value"),
        ("'today'", "'todya'", "claim[1].because[1].figures.small.value", 'did you mean "today"'),
        ("small > more", "big > more", "claim[1].because[1].shown_by", "unknown name big"),
        ('says = "It', 'say = "It', "claim[1].because[1].say", 'did you mean "says"'),
        ('"Buffer: 1 MB"', '"TODAY"', "variant", "the name, or the file's name, of more"),
        ('"Buffer: 1 MB"', '"quick"', "variant", "the name, or the file's name, of more"),
        ('"Buffer: 1 MB"', '"published"', "variant", "the name, or the file's name, of more"),
        ('"Buffer: 1 MB"', '"..."', "variant", "the name, or the file's name, of more"),
        ("grid = { scheduler", "grid = { schedular", "variant[1].grid.schedular", "not in grid"),
        ("[[claim]]", '[[claim]]\nfitted_by = ["loss"]', "claim[1].fitted_by", "known: none"),
        ('name = "more"', 'name = "A b"', "claim[1].name", "pattern"),
        ('name = "more"', "", "claim[1].name", "missing"),
        ('quote = "More is more."', "", "claim[1].quote", "missing"),
        ("[[claim]]", "[[claim]]\nnot_testable = 'no'", "claim[1]", 'either "holds" or'),
        ("[[claim]]", "[[claim]]\ndirection = 'mroe > 1'", "claim[1].direction", 'mean "more"'),
        (
            "[[claim]]",
            "[[reported]]\nmetric = 'gput'\nvalue = 1\nread_off = true\n[[claim]]",
            "reported[1].metric",
            "not a metric; known: goodput",
        ),
        (
            "[[claim]]",
            "[[reported]]\nmetric = 'goodput'\nvalue = 1\nread_off = true\nat.x = 1\n[[claim]]",
            "reported[1].at.x",
            "not an axis; known: scheduler, queue, rtt",
        ),
    ],
)
def test_mistakes_in_variants_and_claims_are_reported(
    tmp_path: Path, old: str, new: str, key: str, message: str
) -> None:
    assert old in VARIED
    with pytest.raises(InputError) as caught:
        load(tmp_path, VARIED.replace(old, new, 1))
    found = [problem.message for problem in caught.value.problems if problem.key == key]
    assert any(message in text for text in found), caught.value


def test_claims_have_names_of_their_own(tmp_path: Path) -> None:
    text = FIGURE.replace('"more"', '"a-1"')
    again = "\n[[claim]]\nname = 'a-1'\nquote = 'q'\nsays = 's'\nplace = 'p'\nholds = '1 > 0'\n"
    assert load(tmp_path, text).experiment.claim[0].name == "a-1"
    with pytest.raises(InputError, match=r"a-1.*the name, or the file's name, of more than one"):
        load(tmp_path, text + again)


def test_the_values_of_axes_are_found_by_their_texts(tmp_path: Path) -> None:
    found = load(tmp_path, VARIED).experiment.axis_values()
    assert found["queue"] == {"20": 20, "40": 40}
    assert found["scheduler"].keys() == {"minrtt", "blest", "default"}


def test_all_mistakes_are_reported_at_once(tmp_path: Path) -> None:
    text = FIGURE.replace('x = "queue"', 'x = "a"').replace("more > ", "b > ")
    with pytest.raises(InputError) as caught:
        load(tmp_path, text)
    assert len(caught.value.problems) == 2


def test_what_is_no_scenario_says_where(tmp_path: Path) -> None:
    published = load(tmp_path, FIGURE.replace("queue = [20, 40]", "queue = [0, 40]"))
    with pytest.raises(InputError) as caught:
        settings(published, tmp_path)
    (problem,) = caught.value.problems
    assert "fig1.toml, [scenario] with" in problem.where
    assert "queue = 0" in problem.where
    assert problem.key == "path[1].queue"


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"fig1\.toml\n  not valid TOML"):
        load(tmp_path, "title =")
    with pytest.raises(InputError, match=r"(?s)fig2\.toml.*there is no such file"):
        catalogue.load("paper2020/fig2", tmp_path)


def test_figures_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    for stem in ("fig10", "fig2", "table1", "fig2-varied"):
        load(tmp_path, FIGURE)
        (tmp_path / "paper2020" / f"{stem}.toml").write_text(FIGURE)
    stems = [name.split("/")[1] for name in catalogue.names(tmp_path)]
    assert stems == ["fig1", "fig2", "fig2-varied", "fig10", "table1"]


def test_experiments_are_chosen_by_name_paper_or_all(tmp_path: Path) -> None:
    load(tmp_path, FIGURE)
    (tmp_path / "paper2020" / "fig2.toml").write_text(FIGURE)
    assert catalogue.chosen(["all"], tmp_path) == ["paper2020/fig1", "paper2020/fig2"]
    assert catalogue.chosen(["paper2020"], tmp_path) == ["paper2020/fig1", "paper2020/fig2"]
    assert catalogue.chosen(["paper2020/fig2", "all"], tmp_path)[0] == "paper2020/fig2"
    with pytest.raises(InputError, match='papers202: no such experiment; did you mean "paper2020"'):
        catalogue.chosen(["papers202"], tmp_path)


def test_the_example_of_the_page_can_be_read_and_run(tmp_path: Path) -> None:
    example, *_ = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    example += '[scenario.workload]\nduration = "60s"\n'
    published = load(tmp_path, example)
    own = published.experiment
    assert own.parts() == [PUBLISHED, QUICK, "today", "buffer 1 MB", "loss=0.1%", "draws"]
    for part in own.parts():
        assert settings(published, tmp_path, part=part)


def test_the_page_has_every_key_of_an_experiment() -> None:
    text = PAGE.read_text()
    keys = {*catalogue.Experiment.model_fields} - {"where"}  # that of sweeps, to which it points
    assert [key for key in keys if not re.search(rf"`(\[+)?{key}\]*`", text)] == []


# The experiments that there are

NAMES = catalogue.names()


def test_every_figure_of_the_four_papers_is_there() -> None:
    assert {name.split("/")[0] for name in NAMES} == {
        "cech2020",
        "mahmud2022",
        "paasch2014",
        "yang2014",
    }
    cech = {f"cech2020/fig{number}" for number in (2, 3, 4, 5, 6, 7, 9, 10, 11)}
    assert cech <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_quick_run_is_a_scenario(name: str, tmp_path: Path) -> None:
    published = catalogue.load(name)
    quick = settings(published, tmp_path, part=QUICK)
    assert quick
    every = published.experiment.part(PUBLISHED).points()
    assert all(setting.point in every for setting in quick)
    if not published.experiment.quick.scenario:
        full = {s.scenario.key_text() for s in settings(published, tmp_path)}
        assert {s.scenario.key_text() for s in quick} <= full


@pytest.mark.parametrize("name", NAMES)
def test_every_variant_is_a_scenario(name: str, tmp_path: Path) -> None:
    published = catalogue.load(name)

    def runs(part: str) -> set[str]:
        every = settings(published, tmp_path, part=part, repeat=1)
        return {setting.scenario.key_text() for setting in every}

    quick = runs(QUICK)
    for part in published.experiment.variants():
        # what differs is in its scenarios, too
        assert not runs(part) <= quick, part


@pytest.mark.parametrize("name", ["paasch2014/pooling", "yang2014/fig3"])
def test_every_draw_is_a_scenario_of_its_own(name: str, tmp_path: Path) -> None:
    published = catalogue.load(name)
    every = settings(published, tmp_path, part=DRAWS, repeat=catalogue.MOST_DRAWS)
    assert len({each.scenario.key_text() for each in every}) == len(every)
    own = published.experiment
    assert own.part(DRAWS).draws is own.part(DRAWS).draws  # computed once
    # fewer draws are the first ones
    few = settings(published, tmp_path, part=DRAWS, repeat=2)
    assert [each.point for each in few] == [each.point for each in every][: len(few)]
    assert [each.scenario for each in few] == [each.scenario for each in every][: len(few)]


@pytest.mark.parametrize(
    ("values", "scale", "drawn"),
    [
        (["200us", "50us", "10ms"], "linear", ["50us", "5025us", "10ms"]),
        (["200us", "50us", "800us"], "log", ["50us", "200us", "800us"]),
        (["256KiB", "1MiB"], "linear", ["262100B", "655400B", "1049KB"]),
        ([10, 4, 16], "log", [4, 8, 16]),
        ([6.5, 3], "linear", [3.0, 4.75, 6.5]),
        ([300, 1000], "kinds", [300, 1000, 1000]),
        (["router", "host"], "linear", ["router", "host", "host"]),
    ],
)
def test_a_draw_has_any_value_of_a_range(values: list[Any], scale: Any, drawn: list[Any]) -> None:
    own = Assumed(name="x", value=values[0], because="b", range=values[1:], scale=scale)
    assert [own.at(share) for share in (0.0, 0.5, 1.0)] == drawn
    assert all(
        isinstance(one, type(other))
        for one, other in zip(drawn, map(own.at, (0, 0.5, 1)), strict=True)
    )


def test_each_part_of_each_figure_has_a_file_of_its_own() -> None:
    parts = ((name, part) for name in NAMES for part in catalogue.load(name).experiment.parts())
    files = ["-".join(filter(None, (name, catalogue.slug(part)))) for name, part in parts]
    assert len(set(files)) == len(files)


@pytest.mark.parametrize("name", NAMES)
def test_a_claim_says_what_its_direction_is(name: str) -> None:
    claims = catalogue.load(name).experiment.claim
    assert [each.name for each in claims if each.direction and "direction" not in each.says] == []
    assert [each.name for each in claims if each.direction and not each.holds] == []
    # a quotation is a sentence, not a page
    assert [each.name for each in claims if len(each.quote.split()) > 40] == []


@pytest.mark.parametrize("name", NAMES)
def test_designs_have_200_points_and_more(name: str) -> None:
    own = catalogue.load(name).experiment
    if own.design:
        assert own.design.points >= 200
