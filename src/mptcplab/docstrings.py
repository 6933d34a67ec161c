# SPDX-License-Identifier: GPL-2.0-only
"""The texts below the attributes of models: what a figure means, and what a key of a scenario does.

Pydantic finds them, too, but reads the file again for each class, at each start of a command.
"""

from __future__ import annotations

import ast
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import BaseModel


def describe(model: type[BaseModel]) -> None:
    """Give each field of a model that has no description its text, in one line."""
    texts = _texts(str(sys.modules[model.__module__].__file__)).get(model.__name__, {})
    for name, field in model.model_fields.items():
        field.description = " ".join((field.description or texts.get(name, "")).split()) or None


@cache
def _texts(file: str) -> dict[str, dict[str, str]]:
    """The texts of the classes of a file, by the names of class and attribute."""
    return {
        each.name: {
            attribute.target.id: text.value.value
            for attribute, text in pairwise(each.body)
            if isinstance(attribute, ast.AnnAssign)
            and isinstance(attribute.target, ast.Name)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
            and isinstance(text.value.value, str)
        }
        for each in ast.parse(Path(file).read_text("utf-8")).body
        if isinstance(each, ast.ClassDef)
    }
