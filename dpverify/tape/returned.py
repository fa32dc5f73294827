"""Whether a number that a program has just asked for goes straight to its caller.

`return float(total + noise)` makes a number of noise, and that is all it does: the number is released as it is, or
rounded. `x = float(total + noise)` hands it to the rest of the program, which the tape cannot follow. The difference
stands in the source: at the moment when the number is made, each frame of the program is at an expression, and the
expressions around it, up to the statement, say where its value goes.
"""

import ast
import functools
import linecache
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType

PACKAGE = str(Path(__file__).resolve().parents[1]) + "/"
CALLS = frozenset(
    (
        "float",
        "int",
        "round",
        "abs",
        "min",
        "max",
        "sum",
        "list",
        "tuple",
        "dict",
        "array",
        "asarray",
        "stack",
        "hstack",
        "vstack",
        "column_stack",
        "concatenate",
        "rint",
        "floor",
        "ceil",
        "around",
        "clip",
        "minimum",
        "maximum",
        "tolist",
        "item",
        "astype",
        "copy",
        "ravel",
        "reshape",
        "squeeze",
        "float64",
        "int64",
        "Series",
        "DataFrame",
    )
)
SUMS = (ast.Add, ast.Sub, ast.Mult, ast.Div)
PLAIN = (ast.Return, ast.Tuple, ast.List, ast.Dict, ast.Starred, ast.keyword, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.SetComp)
Position = tuple[int | None, int | None, int | None, int | None]


def is_returned(frame: FrameType | None, edge: str, above: tuple[str, ...]) -> bool:
    """Whether every frame of the program, from `frame` to the file `edge`, is in an expression that it returns as is.

    Frames whose files begin with one of `above` are not the program's, and those of this package hand on what they get.
    """
    inner: CodeType | None = None
    while frame is not None and frame.f_code.co_filename != edge:
        file = frame.f_code.co_filename
        if not file.startswith((*above, PACKAGE)):
            if not _goes_out(file, _position(frame.f_code, frame.f_lasti), _called_from(frame, inner)):
                return False
            inner = frame.f_code
        frame = frame.f_back
    return True


@functools.lru_cache(maxsize=4096)
def _position(code: CodeType, at: int) -> Position:
    """Where the instruction at this offset stands in the source."""
    return next(islice(code.co_positions(), at // 2, None)) if at >= 0 else (None, None, None, None)


def _called_from(frame: FrameType, inner: CodeType | None) -> tuple[str, ...]:
    """Names under which the frame knows the function `inner`: a call by one of them gives what it returns."""
    if inner is None:
        return ()
    names = {**frame.f_globals, **frame.f_locals}
    found = [name for name, value in names.items() if getattr(value, "__code__", None) is inner]
    return (inner.co_name, *sorted(found))


@functools.lru_cache(maxsize=4096)
def _goes_out(file: str, position: Position, inner: tuple[str, ...]) -> bool:
    """Whether the value of the expression at this position is returned; `inner` are names of what it calls."""
    nodes, parents = _tree(file)
    node = nodes.get(position)
    if node is None:
        return False
    if isinstance(node, ast.Call) and _name(node) in inner:
        pass  # the program's own function, whose frame has been looked at
    elif not _passes(node, None):
        return False
    while not isinstance(node, ast.Return | ast.Lambda):
        child, node = node, parents.get(node)
        if node is None:
            return False
        if isinstance(node, COMPREHENSIONS):
            if child not in (getattr(node, "elt", None), getattr(node, "value", None)):
                return False
        elif not _passes(node, child):
            return False
    return True


def _passes(node: ast.AST, child: ast.AST | None) -> bool:
    """Whether the value of `child` is in that of `node`, and decides nothing there."""
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, SUMS)
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.USub | ast.UAdd)
    if isinstance(node, ast.Call):
        return _name(node) in CALLS
    if isinstance(node, ast.Attribute):
        return node.attr in CALLS
    if isinstance(node, ast.Subscript):
        return child is node.value or child is None
    return isinstance(node, PLAIN) or isinstance(node, COMPREHENSIONS)


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


@functools.lru_cache(maxsize=64)
def _tree(file: str) -> tuple[dict[Position, ast.AST], dict[ast.AST, ast.AST]]:
    """The expressions of a file by their positions, the outermost of several; and the parent of each node."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return {}, {}
    nodes: dict[Position, ast.AST] = {}
    parents: dict[ast.AST, ast.AST] = {}
    for node in ast.walk(tree):
        for child in ast.iter_child_nodes(node):
            parents[child] = node
        if isinstance(node, ast.expr | ast.Return):
            nodes.setdefault((node.lineno, node.end_lineno, node.col_offset, node.end_col_offset), node)
    return nodes, parents
