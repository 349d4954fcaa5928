# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""Documentation/papers.rst: the tables that `dsm-bench papers --json` wrote, between its marks, and nowhere else."""
import os

from . import document, papergoals, tables

PATH = os.path.join(document.TOP, "Documentation/papers.rst")
TABLES = {table.key: table for table in (tables.Speedups(), tables.Cashmere(), tables.Hlrc(), tables.Diffs(),
                                         tables.Startx(), papergoals.Goals())}


def titled(words, under):
    """A heading."""
    return f"{words}\n{under * len(words)}\n"


def quoted(text):
    """Lines as they are."""
    return "::\n\n" + "\n".join(f"   {line}".rstrip() for line in text.splitlines()) + "\n"


def program(table, name, rows):
    """A program's rows, ours and theirs."""
    cells = [[row["label"], *row["cells"], *[""] * (len(table.columns) - len(row["cells"]))] for row in rows]
    return f"``{tables.heading(name, rows)}``\n\n" + document.listed(["", *table.columns], cells)


def goals(data):
    """What is to be reached, and how far it was."""
    return (titled("Goals, of those runs", "-") + "\n" +
            document.listed(["Program", "Goal", "Ratio", "Bound", "", "Note"], papergoals.lines(data["goals"])))


class Page:
    """The block of the file."""

    def __init__(self, measured):
        self.measured = measured

    def block(self, name):
        """The text of a block of the file."""
        return "\n".join(part for data in self.measured for part in self._parts(data)) if name == "papers" else None

    @staticmethod
    def _parts(data):
        for key, measured in data["tables"].items():
            table = TABLES[key]
            yield titled(table.title, "-")
            yield quoted(data["head"][key])
            for name, rows in measured:
                if rows:
                    yield program(table, name, rows)
        if data["goals"]:
            yield goals(data)


def write(measured):
    """Fill the file's block."""
    with open(PATH, encoding="utf-8") as f:
        text = f.read()
    with open(PATH, "w", encoding="utf-8") as f:
        f.write(document.fill(text, Page(measured)))
