# SPDX-License-Identifier: GPL-2.0-only
"""How Sphinx makes the site: `make site`.

Its pages are the Markdown files that a code forge shows, as they are. What is added here is what
they do not have: a navigation, pages for the files of code that they link to, the moving picture of
the first page, the reports of the gallery, the charts of schedulers, and tables that are filtered.

Sphinx with MyST and Furo: they are maintained, take a wrong link or anchor for an error, and their
search is a script beside the pages, so that it works from a folder. MkDocs has had no release since
2024, Material for MkDocs gets no features any more, and its search from a folder needs a script
from the network.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.errors import ConfigError
from sphinx.parsers import Parser
from sphinx.transforms import SphinxTransform

ROOT = Path(__file__).parents[2]
REPORTS = ROOT / "dist" / "gallery"
MOVING = ROOT / "dist" / "moving" / "moving.html"
CHARTS = ROOT / "dist" / "charts"

# The navigation: groups of pages beside all of them, and pages with pages below them.
GROUPS = {
    "Start": [
        "docs/advise",
        "docs/two-uplinks",
        "docs/vpn",
        "docs/write-a-scheduler",
        "docs/exec",
        "docs/show",
        "docs/explain",
        "docs/report",
        "docs/figure",
        "docs/gallery",
        "docs/systems",
        "docs/container",
        "docs/artefact",
    ],
    "Use": [
        "docs/scenario",
        "docs/links",
        "docs/workloads",
        "docs/presets",
        "docs/traces",
        "docs/radio",
        "docs/connections",
        "docs/recovery",
        "docs/path-management",
        "docs/deploy",
        "openwrt/README",
        "docs/units",
        "docs/sweep",
        "docs/tune",
        "docs/expect",
        "docs/bisect",
        "docs/cluster",
        "docs/results-store",
        "docs/python",
        "docs/agent",
        "docs/gym",
        "docs/papers",
        "docs/casebook",
        "docs/analyze",
        "docs/fit",
        "docs/completion",
    ],
    "Reference": [
        "Schedulers <docs/schedulers/README>",
        "docs/congestion/README",
        "docs/metrics",
        "docs/records",
        "docs/limitations",
        "docs/socket-options",
        "docs/kernels",
        "docs/bpf",
        "docs/kernel-ci",
        "docs/fidelity",
        "docs/flavours",
        "docs/oracle",
        "docs/reliability",
        "docs/selftests",
        "docs/performance",
        "docs/upstream/README",
        "ARCHITECTURE",
        "CONTRIBUTING",
        "CHANGELOG",
    ],
    "Results": [
        "docs/results/README",
        "docs/cases/README",
        "docs/leaderboard",
        "docs/earliest-evaluation",
        "docs/slow-path",
    ],
}
FOLDERS = ["docs/schedulers", "docs/congestion", "docs/results", "docs/cases", "docs/upstream"]

# The end of a page whose long tables can be sorted and filtered.
TABLES = '\n```{raw} html\n<script src="../_static/tables.js"></script>\n```\n'

NO_BREAK = "\N{NO-BREAK SPACE}"

# What a link to a file of code shows, by the end of its name.
LANGUAGES = {".c": "c", ".h": "c", ".patch": "diff", ".py": "python", ".toml": "toml"}
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def pages() -> list[Path]:
    """All pages that are written as Markdown."""
    return [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("openwrt/*.md")]


def linked_code() -> list[str]:
    """The files of code that pages link to, as Sphinx names them."""
    targets = {
        (page.parent / target).resolve()
        for page in pages()
        for target in LINK.findall(page.read_text(encoding="utf-8"))
    }
    code = [each for each in targets if each.suffix in LANGUAGES and each.is_file()]
    return sorted(str(each.relative_to(ROOT)) for each in code)


class Code(Parser):
    """A file of code is a page of its own, outside the navigation and the search."""

    supported = ("code",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        env = document.settings.env
        path = Path(env.doc2path(env.docname, base=False))
        env.metadata[env.docname] |= {"orphan": True, "nosearch": True}
        section = nodes.section(ids=["code"])
        section += nodes.title(text=str(path))
        section += nodes.literal_block(inputstring, inputstring, language=LANGUAGES[path.suffix])
        document += section


class Links(SphinxTransform):
    """Links that a code forge knows, and MyST does not.

    The anchors that a page sets itself, <a name="...">, count as those of headings do. A link to a
    folder, which a code forge lists and a site does not have, is its text alone.
    """

    default_priority = 800  # before MyST resolves links

    def apply(self, **_: object) -> None:
        for raw in self.document.findall(nodes.raw):
            for name in re.findall(r'<a name="([^"]+)">', raw.astext()):
                self.document.myst_slugs[name] = (raw.line, name, name)
        here = (ROOT / self.env.docname).parent
        for link in list(self.document.findall(pending_xref)):
            if (here / link["reftarget"]).is_dir():
                link.replace_self(link.children)


def navigation(name: str) -> str:
    """The tables of contents, not shown in the page itself, that are added to a page."""
    if name == root_doc:
        groups = GROUPS
    elif (folder := name.removesuffix("/README")) in FOLDERS and folder != name:
        own = sorted(path.stem for path in (ROOT / folder).glob("*.md") if path.stem != "README")
        groups = {"Pages": own}
    else:
        groups = {}
    return "".join(
        "\n".join(["", "```{toctree}", ":hidden:", f":caption: {title}", "", *entries, "```", ""])
        for title, entries in groups.items()
    )


def with_reports(text: str) -> str:
    """The page of the gallery, with each report and a picture after the commands that make them."""

    def shown(block: re.Match[str]) -> str:
        name = block["name"]
        if not (REPORTS / f"{name}.html").exists():
            raise ConfigError(f"there is no {REPORTS / name}.html: use make site, which makes it")
        pictures = [REPORTS / name / each for each in ("overview.png", "goodput.png")]
        picture = next((each for each in pictures if each.exists()), None)
        link = f'<a class="report" href="../gallery/{name}.html">Open the report: {name}</a>'
        image = f"![{name}](../{picture.relative_to(ROOT)})" if picture else ""
        return f"{block[0]}\n{link}\n\n{image}\n"

    commands = r"^```\n(?:(?!```).*\n)*.* -o (?P<name>[a-z-]+)\.html\n```\n"
    return re.sub(commands, shown, text, flags=re.MULTILINE)


def made(file: Path) -> str:
    """A piece of a page that make site makes before Sphinx begins."""
    if not file.exists():
        raise ConfigError(f"there is no {file}: use make site, which makes it")
    return file.read_text(encoding="utf-8")


def with_families(text: str) -> str:
    """The page of the leaderboard, whose ranks have a column more: where the scheduler is from."""
    _, _, rest = (ROOT / "README.md").read_text(encoding="utf-8").partition("\n## Schedulers\n")
    # such as "From papers: [`otias`](docs/schedulers/otias.md), ..."
    groups = re.findall(
        r"(?:From (?:the )?([^:,]+)|Our own)[^:]*:(.*?)(?=From |Our |\n\n)", rest, re.DOTALL
    )
    families = {
        name: NO_BREAK.join(family.split()) or "our own"
        for family, names in groups
        for name in re.findall(r"schedulers/(\w+)\.md", names)
    }
    text = re.sub(r"^(\| place .*)\n(.*)", r"\1 from |\n\2---|", text, flags=re.MULTILINE)
    rank = r"^\| \d+ \([\d.]+\) \| `([^:`]+).*"
    return re.sub(
        rank, lambda row: f"{row[0]} {families.get(row[1], 'you')} |", text, flags=re.MULTILINE
    )


def read(_app: Sphinx, name: str, source: list[str]) -> None:
    text = source[0]
    if name == root_doc:
        text = text.replace("![", f"```{{raw}} html\n{made(MOVING)}```\n\n![", 1)
    elif name == "docs/gallery":
        text = with_reports(text)
    elif name == "docs/leaderboard":
        text = with_families(text) + TABLES
    elif name.startswith("docs/schedulers/") and not name.endswith("README"):
        charts = made(CHARTS / f"{Path(name).name}.md")
        text = text.replace("## Where it works", f"{charts}## Where it works", 1)
    source[0] = text + navigation(name)


def finish(app: Sphinx, exception: Exception | None) -> None:
    if exception is None:
        (app.outdir / "gallery").mkdir(exist_ok=True)
        for report in REPORTS.glob("*.html"):
            shutil.copy(report, app.outdir / "gallery")
        shutil.copy(app.outdir / f"{root_doc}.html", app.outdir / "index.html")


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_source_parser(Code)
    for ending in LANGUAGES:
        app.add_source_suffix(ending, "code")
    app.add_transform(Links)
    app.connect("source-read", read)
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True}


project = "mptcplab"
html_title = "mptcplab"
root_doc = "README"
extensions = ["myst_parser"]
include_patterns = ["*.md", "docs/**.md", "openwrt/*.md", *linked_code()]
exclude_patterns = [".*", "dist", "*-out", "**/__pycache__"]

# Anchors as a code forge makes them of headings; a link to one that is not there is an error.
myst_heading_anchors = 6
highlight_language = "text"
# A cell such as ---- stays as it is.
smartquotes = False

html_theme = "furo"
html_static_path = ["site.css", "moving.js", "tables.js"]
html_css_files = ["site.css"]
html_copy_source = False
html_theme_options: dict[str, object] = {"top_of_page_buttons": []}
# It would be fetched, which browsers refuse to pages that are opened from a folder.
html_show_search_summary = False
