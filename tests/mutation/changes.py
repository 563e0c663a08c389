"""What a node can be changed into: the slips of a programmer, one at a time."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import copy

__all__ = ["changes_of"]

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_NEVER_RAISED = "GeneratorExit"


def changes_of(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Constant():
            yield from _constant(node)
        case ast.Compare():
            yield from _comparison(node)
        case ast.BoolOp():
            yield from _condition(node)
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield node.operand
        case ast.BinOp(op=op) if type(op) in _ARITHMETIC:
            yield _with(node, op=_ARITHMETIC[type(op)]())
        case ast.Slice():
            yield from _slice(node)
        case ast.Call():
            yield from _call(node)
        case ast.IfExp():
            yield from _negated(node)
        case ast.stmt() | ast.ExceptHandler() | ast.comprehension():
            yield from _statement(node)


def _statement(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.If() | ast.While():
            yield from _negated(node)
        case ast.comprehension(ifs=[test]):
            yield _with(node, ifs=[ast.UnaryOp(ast.Not(), test)])
        case ast.For():
            yield _with(node, iter=ast.Tuple([], ast.Load()))
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield ast.Return(ast.Constant(None))
        case ast.AugAssign(op=op):
            if type(op) in _ARITHMETIC:
                yield _with(node, op=_ARITHMETIC[type(op)]())
            yield ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]) | ast.AnnAssign(target=ast.Attribute()):
            yield ast.Pass()
        case ast.Expr(value=ast.Call()) | ast.Raise() | ast.Delete():
            yield ast.Pass()
        case ast.Break():
            yield ast.Continue()
        case ast.Continue():
            yield ast.Break()
        case ast.ExceptHandler(type=ast.expr()):
            yield _with(node, type=ast.Name(_NEVER_RAISED, ast.Load()))


def _constant(node: ast.Constant) -> Iterator[ast.AST]:
    match node.value:
        case bool(value):
            yield ast.Constant(not value)
        case int(number):
            yield ast.Constant(number + 1)
            yield ast.Constant(number - 1)
        case float(number):
            yield ast.Constant(number + 1)
        case str(text):
            yield ast.Constant(f"XX{text}XX")
        case bytes(octets):
            yield ast.Constant(b"XX" + octets)


def _comparison(node: ast.Compare) -> Iterator[ast.AST]:
    for place, op in enumerate(node.ops):
        for other in _COMPARISONS[type(op)]:
            yield _with(node, ops=[*node.ops[:place], other(), *node.ops[place + 1 :]])


def _condition(node: ast.BoolOp) -> Iterator[ast.AST]:
    """The other word, and without each of its parts."""
    yield _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    for place in range(len(node.values)):
        rest = [*node.values[:place], *node.values[place + 1 :]]
        yield rest[0] if len(rest) == 1 else _with(node, values=rest)


def _slice(node: ast.Slice) -> Iterator[ast.AST]:
    if node.lower is not None:
        yield _with(node, lower=None)
    if node.upper is not None:
        yield _with(node, upper=None)


def _call(node: ast.Call) -> Iterator[ast.AST]:
    """The other end, or two arguments that have changed places."""
    if isinstance(node.func, ast.Name) and node.func.id in ("min", "max"):
        yield _with(node, func=ast.Name("max" if node.func.id == "min" else "min", ast.Load()))
        return
    if isinstance(node.func, ast.Name) and node.func.id == "cast":  # what it says is for type checkers
        return
    for place in range(1, len(node.args)):
        before, after = node.args[place - 1 : place + 1]
        if not isinstance(before, ast.Starred) and not isinstance(after, ast.Starred):
            yield _with(node, args=[*node.args[: place - 1], after, before, *node.args[place + 1 :]])


def _negated(node: ast.If | ast.While | ast.IfExp) -> Iterator[ast.AST]:
    """A comparison and a `not` are turned where they stand."""
    if not isinstance(node.test, ast.Compare | ast.UnaryOp):
        yield _with(node, test=ast.UnaryOp(ast.Not(), node.test))


def _with(node: ast.AST, **fields: object) -> ast.AST:
    changed = copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed
