"""A module with one change in it."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

from tests.mutation.changes import changes_of
from tests.mutation.spots import Spot, find_spots

__all__ = ["Mutant", "mutants_of"]

_SHOWN = 90  # characters of a node


@dataclass(frozen=True, slots=True)
class Mutant:
    name: str  # the same as long as the code around it is
    line: int
    tree: ast.Module  # as it is written; changed only while it is compiled
    spot: Spot
    change: ast.AST

    def compile(self, file: str) -> CodeType:
        self.spot.put(self.change)
        try:
            return compile(ast.fix_missing_locations(self.tree), file, "exec")
        finally:
            self.spot.put(self.spot.node)


def mutants_of(path: Path) -> list[Mutant]:
    tree = ast.parse(path.read_text())
    return list(_name_each(tree, find_spots(tree)))


def _name_each(tree: ast.Module, spots: Iterator[Spot]) -> Iterator[Mutant]:
    seen: Counter[str] = Counter()
    for spot in spots:
        for change in changes_of(spot.node):
            if ast.dump(change) == ast.dump(spot.node):  # two equal arguments have changed places
                continue
            name = f"{spot.scope or 'module'}: {_show(spot.node)} -> {_show(change)}"
            seen[name] += 1
            if seen[name] > 1:
                name += f" #{seen[name]}"
            yield Mutant(name, getattr(spot.node, "lineno", 0), tree, spot, change)


def _show(node: ast.AST) -> str:
    """Of a block its head: what is inside stays."""
    match node:
        case ast.If() | ast.While():
            text = f"if {ast.unparse(node.test)}"
        case ast.For():
            text = f"for {ast.unparse(node.target)} in {ast.unparse(node.iter)}"
        case ast.ExceptHandler(type=ast.expr() as caught):
            text = f"except {ast.unparse(caught)}"
        case ast.comprehension():
            text = f"if {' and '.join(map(ast.unparse, node.ifs))}"
        case ast.Slice():
            text = f"[{ast.unparse(node)}]"
        case _:
            text = ast.unparse(node)
    return " ".join(text.split())[:_SHOWN]
