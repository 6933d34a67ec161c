# SPDX-License-Identifier: GPL-2.0-only
"""The tables of the scenario's keys and presets in the docs, and the schema beside the examples,
from the models that read them; and the table of schedulers without our patches.

`python -m checks.keys` writes them, the tables between the marks of the pages.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from checks import tables
from mptcplab import marked, resources
from mptcplab.lab import adapter, kernel
from mptcplab.scenario import literal
from mptcplab.scenario.fields import Reads
from mptcplab.scenario.limits import DIRECTIONS
from mptcplab.scenario.literal import (
    LiteralChange,
    LiteralConnection,
    LiteralDirection,
    LiteralEvent,
    LiteralPath,
    LiteralScenario,
    LiteralTrace,
    LiteralWorkload,
    kinds_of,
)
from mptcplab.scenario.option_keys import BY_DEFAULT
from mptcplab.scenario.presets import KEYS, PRESETS, SOURCES, Preset

#: The schema that the examples name for editors.
SCHEMA = "examples/scenario.schema.json"
# in the order for a reader: the keys that only this table has come first
_PATH = (
    *("name", "preset", "link", "ip", "nat_timeout"),
    *LiteralDirection.model_fields,
    *("up", "down"),
)
_EVENT = (
    *("at", "path", "link", "action", "parameter", "value", "lasts", "every", "random"),
    *LiteralChange.model_fields,
    *("up", "down"),
)


def pages() -> Mapping[str, Mapping[str, str]]:
    """The tables of each page in docs/, by the names of their marks."""
    tops = [key for key, field in LiteralScenario.model_fields.items() if _reads(field)]
    return {
        "scenario.md": {
            "keys of a run": _table(LiteralScenario, tops),
            "keys of a path": _table(LiteralPath, _PATH),
            "keys of a trace": _table(LiteralTrace),
            "keys of an event": _table(LiteralEvent, _EVENT),
            "keys of a workload": _table(LiteralWorkload),
        },
        "kernels.md": {"lost without the patches": tables.markdown(*adapter.table())},
        **{
            f"schedulers/{name}.md": {"without the patches": adapter.sentence(name) + "\n"}
            for name in kernel.schedulers()
            if name != "default"
        },
        "connections.md": {"keys of a connection": _table(LiteralConnection)},
        "presets.md": {
            "presets": tables.markdown(_OF_PRESETS, map(_preset, PRESETS.values())),
            "reasons": "".join(map(_reasons, PRESETS.values())),
            "sources": "".join(
                f"- **{label}**: {source.title} {source.address}\n"
                for label, source in SOURCES.items()
            ),
        },
    }


def _table(model: type[BaseModel], keys: Collection[str] = ()) -> str:
    of = model is LiteralWorkload
    headings = ["key", "what it is", *(["of"] if of else []), "accepted", "default"]
    extra = model.model_config.get("json_schema_extra")
    required = extra.get("required", []) if isinstance(extra, dict) else []
    rows = []
    for key in keys or model.model_fields:
        field = model.model_fields[key]
        description, _, default = (field.description or "").partition(BY_DEFAULT)
        if isinstance(field.json_schema_extra, dict) and "default" in field.json_schema_extra:
            default = f"`{json.dumps(field.json_schema_extra['default'])}`"
        elif isinstance(required, list) and key in required:
            default = "required"
        kinds = [", ".join(f"`{kind}`" for kind in kinds_of(key)) or "all"] if of else []
        cells = [f"`{key}`", description.rstrip("."), *kinds, _accepted(key, field)]
        rows.append([*cells, default.rstrip(".")])
    return tables.markdown(headings, rows)


def _reads(field: FieldInfo) -> Reads | None:
    return next((each for each in field.metadata if isinstance(each, Reads)), None)


def _accepted(key: str, field: FieldInfo) -> str:
    reads = _reads(field)
    if reads:
        return reads.accepted
    return "a file, or a table" if key == "trace" else "a table"


_OF_PRESETS = (
    "preset",
    "what it is",
    *(f"{each}: rate, delay, loss, queue" for each in DIRECTIONS),
)


def _preset(preset: Preset) -> list[str]:
    numbers = preset.numbers()
    directions = [", ".join(numbers[f"{each}.{key}"] for key in KEYS) for each in DIRECTIONS]
    return [f"`{preset.name}`", preset.summary, *directions]


def _reasons(preset: Preset) -> str:
    """A line for each number; one for both directions where the reason is the same."""
    rows, numbers = [], preset.numbers()
    for key in KEYS:
        up, down = f"up.{key}", f"down.{key}"
        together = preset.reasons[up] == preset.reasons[down]
        for keys in [(up, down)] if together else [(up,), (down,)]:
            values = ", ".join(dict.fromkeys(numbers[each] for each in keys))
            names = ", ".join(f"`{each}`" for each in keys)
            rows.append((names, values, preset.reasons[keys[0]]))
    return f"### {preset.name}\n\n{tables.markdown(('key', 'value', 'reason'), rows)}\n"


def schema() -> str:
    """The JSON Schema beside the examples, as `mptcplab scenario schema` prints it."""
    return json.dumps(literal.json_schema(), indent=2) + "\n"


if __name__ == "__main__":
    for page, texts in pages().items():
        marked.replace(resources.DOCS / page, texts)
    (resources.DOCS.parent / SCHEMA).write_text(schema(), encoding="utf-8")
