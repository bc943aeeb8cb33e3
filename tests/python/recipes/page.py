"""The code blocks of an installation page, which its tests run.

A block with the content of a file has the file's name as its title. A block of commands is found by a word in it.
"""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[3] / "docs" / "install"

BLOCK = re.compile(r'^```(?P<language>\w+)(?: title="(?P<title>[^"]*)")?\n(?P<text>.*?)^```', re.MULTILINE | re.DOTALL)


class Page:
    """One page below docs/install."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.text = (DOCS / name).read_text(encoding="utf-8")
        self.blocks = [found.groupdict() for found in BLOCK.finditer(self.text)]

    def file(self, title: str) -> str:
        """The block with this title."""
        return self._one([b for b in self.blocks if b["title"] == title], f'a block with title="{title}"')

    def files(self) -> dict[str, str]:
        """All blocks that have a title."""
        return {b["title"]: b["text"] for b in self.blocks if b["title"]}

    def block(self, language: str, word: str) -> str:
        """The block without a title that is of this language and contains the word."""
        found = [b for b in self.blocks if b["language"] == language and not b["title"] and word in b["text"]]
        return self._one(found, f"a {language} block with {word!r}")

    def _one(self, found: list[dict[str, str]], what: str) -> str:
        assert len(found) == 1, f"{self.name} has {len(found)} times {what}; its test expects one"
        return found[0]["text"]


def replaced(text: str, by: dict[str, str]) -> str:
    """The text with each key replaced by its value; a key that is not in the text fails the test."""
    for old, new in by.items():
        assert old in text, f"{old!r} is not in\n{text}"
        text = text.replace(old, new)
    return text
