"""Where code can be changed: every node of a module that decides something when it runs.

Left out is what only readers and type checkers see (docstrings, annotations, aliases of types, exported names), and
what cannot be wrong without an error at the import (slots, base classes, decorators).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Spot", "find_spots"]

_UNSEEN_FIELDS = {"annotation", "returns", "decorator_list", "bases", "type_comment", "ctx"}
_UNSEEN_NAMES = {"__all__", "__slots__", "T"}


@dataclass(frozen=True, slots=True)
class Spot:
    """A node and the place that holds it."""

    node: ast.AST
    holder: ast.AST
    field: str
    index: int | None  # where the field is a list
    scope: str  # the function or class that it is in
    function: str  # the outermost one in whose body it is; empty for what runs at the import

    def put(self, node: ast.AST) -> None:
        if self.index is None:
            setattr(self.holder, self.field, node)
        else:
            getattr(self.holder, self.field)[self.index] = node


def find_spots(holder: ast.AST, scope: str = "", function: str = "") -> Iterator[Spot]:
    for field, value in ast.iter_fields(holder):
        if field in _UNSEEN_FIELDS:
            continue
        nodes = value if isinstance(value, list) else [value]
        within = function or (scope if isinstance(holder, ast.FunctionDef) and field == "body" else "")
        for index, node in enumerate(nodes):
            if isinstance(node, ast.AST) and not _is_unseen(node, holder, field, index):
                yield Spot(node, holder, field, index if isinstance(value, list) else None, scope, within)
                yield from find_spots(node, _scope_within(node, scope), within)


def _scope_within(node: ast.AST, scope: str) -> str:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return f"{scope}.{node.name}".lstrip(".")
    return scope


def _is_unseen(node: ast.AST, holder: ast.AST, field: str, index: int) -> bool:
    match node:
        case ast.Import() | ast.ImportFrom():
            return True
        case ast.Expr(value=ast.Constant()):  # a docstring, or the dots of a Protocol
            return True
        case ast.Assign(targets=[ast.Name(id=name)], value=assigned):
            return name in _UNSEEN_NAMES or (isinstance(holder, ast.Module) and _is_type(assigned))
    return field == "args" and index == 0 and isinstance(holder, ast.Call) and _name(holder.func) == "cast"


def _is_type(node: ast.expr) -> bool:
    """An alias, as Row = tuple[Value, ...] or Value = bytes | None."""
    match node:
        case ast.Subscript() | ast.BinOp(op=ast.BitOr()):
            return True
    return False


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""
