# SPDX-License-Identifier: GPL-2.0-only
"""JUnit reports, with the elements that Jenkins, GitLab, GitHub's actions and others read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from xml.etree import ElementTree

# What an XML file cannot have, not even escaped.
_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class JunitCase:
    """A test case, how it came out, and `text`, all that is to be known about it.

    Of one that did not pass, `message` says why in a line, and `type` in a word.
    """

    name: str
    outcome: Literal["passed", "failure", "error", "skipped"]
    text: str = ""
    message: str = ""
    type: str = ""


@dataclass(frozen=True)
class Suite:
    """Test cases that belong together."""

    name: str
    cases: Sequence[JunitCase]


def report(suites: Sequence[Suite]) -> bytes:
    """A report on some suites, as the content of a file. What XML cannot have is escaped."""
    root = ElementTree.Element("testsuites", _counts([c for each in suites for c in each.cases]))
    for suite in suites:
        skipped = sum(case.outcome == "skipped" for case in suite.cases)
        attributes = {"name": suite.name, **_counts(suite.cases), "skipped": str(skipped)}
        own = ElementTree.SubElement(root, "testsuite", attributes)
        for case in suite.cases:
            _add(own, case, suite.name.replace(" ", "."))
    for element in root.iter():
        element.text = _in_xml(element.text or "")
        element.attrib = {name: _in_xml(value) for name, value in element.attrib.items()}
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _counts(cases: Sequence[JunitCase]) -> dict[str, str]:
    return {
        "tests": str(len(cases)),
        "failures": str(sum(case.outcome == "failure" for case in cases)),
        "errors": str(sum(case.outcome == "error" for case in cases)),
    }


def _add(suite: ElementTree.Element, case: JunitCase, classname: str) -> None:
    about = {"classname": classname, "name": case.name}
    element = ElementTree.SubElement(suite, "testcase", about)
    if case.outcome == "passed":
        if case.text:
            ElementTree.SubElement(element, "system-out").text = case.text
    elif case.outcome == "skipped":
        ElementTree.SubElement(element, "skipped", {"message": case.message}).text = case.text
    else:
        why = {"message": case.message, "type": case.type}
        ElementTree.SubElement(element, case.outcome, why).text = case.text


def _in_xml(text: str) -> str:
    return _NOT_IN_XML.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
