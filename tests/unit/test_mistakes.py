# SPDX-License-Identifier: GPL-2.0-only
"""What is said about the name of a file that does not exist."""

from __future__ import annotations

from pathlib import Path

import pytest

from mptcplab.mistakes import no_such_file


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("examples/two-path.toml", "examples/two-paths.toml"),
        ("examples/two-paths", "examples/two-paths.toml"),
        ("example/two-paths.toml", "examples/two-paths.toml"),
        ("exampels/tow-paths.toml", "examples/two-paths.toml"),
        ("./examples/Readme.md", "examples/README.md"),
        ("examples/two-paths.toml/x", None),
        ("examples/mine.c", None),
        ("elsewhere/two-paths.toml", None),
        ("two-paths.toml", None),
        ("x" * 300, None),
    ],
)
def test_a_file_that_is_near_is_suggested(
    name: str, near: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "examples").mkdir()
    for each in ("two-paths.toml", "README.md", "web.toml"):
        (tmp_path / "examples" / each).write_text("")
    monkeypatch.chdir(tmp_path)
    hint = f'; did you mean "{near}"?' if near else ""
    assert no_such_file(Path(name)) == f"there is no such file{hint}"
    place = tmp_path / name
    hint = f'; did you mean "{tmp_path / near}"?' if near else ""
    assert no_such_file(place, "directory") == f"there is no such directory{hint}"


def test_what_cannot_be_searched_has_no_neighbour(tmp_path: Path) -> None:
    assert no_such_file(tmp_path / "a\0b") == "there is no such file"
