"""Rewrites the source of a program so that every operation is handed to the proof first.

    a + b          ->  _proof.binary("add", a, b)
    f(x)           ->  _proof.call(f, x)
    if c:          ->  if _proof.truth(c):
    for v in rows: ->  for v in _proof.each(rows): ...

Lines stay what they are. A program that holds no symbols does what it did.
"""

import ast
import builtins
import copy
from typing import Any

PROOF = "_proof"
OPERATORS = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.FloorDiv: "floor_divide",
    ast.Mod: "remainder",
    ast.Pow: "power",
    ast.MatMult: "matmul",
    ast.BitAnd: "bitwise_and",
    ast.BitOr: "bitwise_or",
    ast.BitXor: "bitwise_xor",
    ast.LShift: "left_shift",
    ast.RShift: "right_shift",
}
COMPARISONS = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}


def rewrite(source: str, name: str) -> ast.Module:
    """The syntax tree of a module with its operations handed to the proof."""
    tree = ast.parse(source, name)
    reserved = next((each for each in ast.walk(tree) if _is_reserved(each)), None)
    if reserved is not None:
        tree.body = [_at(reserved, ast.Expr(_hook("reserved_name")))]
        return ast.fix_missing_locations(tree)
    tree = _Rewriter(_names_assigned(tree)).visit(tree)
    return ast.fix_missing_locations(tree)  # type: ignore[no-any-return]


def _names_assigned(tree: ast.AST) -> set[str] | None:
    """All names that a module assigns in any place; None where it imports them all."""
    found: set[str] = set()
    for each in ast.walk(tree):
        if isinstance(each, ast.alias):
            if each.name == "*":
                return None
            found.add((each.asname or each.name).partition(".")[0])
        elif isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load):
            found.add(each.id)
        elif isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(each.name)
        elif isinstance(each, ast.arg):
            found.add(each.arg)
        elif isinstance(each, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and each.name:
            found.add(each.name)
        elif isinstance(each, ast.MatchMapping) and each.rest:
            found.add(each.rest)
    return found | {"__class__"}


def _is_reserved(node: ast.AST) -> bool:
    """Whether a program has a name that begins like those which the rewriting makes."""
    names = [getattr(node, each, None) for each in ("id", "arg", "name", "asname", "rest", "attr")]
    names += getattr(node, "names", []) if isinstance(node, ast.Global | ast.Nonlocal) else []
    return any(isinstance(each, str) and each.startswith(PROOF) for each in names)


def _hook(name: str, *args: ast.expr, keywords: list[ast.keyword] | None = None) -> ast.Call:
    function = ast.Attribute(ast.Name(PROOF, ast.Load()), name, ast.Load())
    return ast.Call(function, list(args), keywords or [])


def _later(body: ast.expr, *names: str) -> ast.Lambda:
    arguments = ast.arguments([], [ast.arg(each) for each in names], None, [], [], None, [])
    return ast.Lambda(arguments, body)


OF_MODULES = ("__name__", "__file__", "__debug__", "__doc__", "__spec__", "__package__", "__loader__", "__builtins__")
OF_PYTHON = frozenset(vars(builtins))
LAZY = ("map", "filter", "zip", "enumerate", "iter", "reversed")


class _Rewriter(ast.NodeTransformer):
    """See `rewritten`."""

    def __init__(self, names: set[str] | None = None) -> None:
        self._names = names  # that the module assigns anywhere; None: not known
        self._made = 0
        self._in_class = False
        self._yields = False  # whether the function around is a generator function
        self._class = ""  # whose private names are meant
        self._read_at_once: set[int] = set()  # generator expressions that a call gets

    def _name(self) -> str:
        self._made += 1
        return f"_proof_{self._made}"

    # ------------------------------------------------------------------------------------------------------------------
    # Expressions

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        self.generic_visit(node)
        return _at(node, _hook("binary", ast.Constant(OPERATORS[type(node.op)]), node.left, node.right))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        self.generic_visit(node)
        if isinstance(node.operand, ast.Constant):
            return node
        name = {ast.USub: "negative", ast.UAdd: "positive", ast.Invert: "invert", ast.Not: "not"}[type(node.op)]
        return _at(node, _hook("unary", ast.Constant(name), node.operand))

    def visit_Compare(self, node: ast.Compare) -> Any:
        if len(node.ops) > 1 and self._keeps_its_place(node.comparators):
            return self._in_its_place(node)
        self.generic_visit(node)
        names = [ast.Constant(COMPARISONS[type(each)]) for each in node.ops]
        if len(names) == 1:
            return _at(node, _hook("compare", names[0], node.left, node.comparators[0]))
        rest = [_later(each) for each in node.comparators]
        return _at(node, _hook("chain", ast.Tuple(names, ast.Load()), node.left, *rest))  # type: ignore[arg-type]

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        if self._keeps_its_place(node.values[1:]):
            return self._in_its_place(node)
        self.generic_visit(node)
        name = "both" if isinstance(node.op, ast.And) else "either"
        return _at(node, _hook(name, node.values[0], *(_later(each) for each in node.values[1:])))

    def _keeps_its_place(self, parts: list[Any]) -> bool:
        """Whether a part of an expression means something else in a function of its own."""
        return self._in_class or _assigns(parts)

    def _in_its_place(self, node: ast.expr) -> Any:
        """As Python does it in a class body, whose names no function sees; elsewhere the proof ends there."""
        return self.generic_visit(node) if self._in_class else _at(node, _hook("unfollowed"))

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        outer, self._in_class = self._in_class, False
        outer_class = self._class
        node.bases = [self.visit(each) for each in node.bases]
        node.decorator_list = [self.visit(each) for each in node.decorator_list]
        self._in_class, self._class = True, node.name
        body = [self.visit(each) for each in node.body]
        node.body = [part for each in body for part in (each if isinstance(each, list) else [each])]
        self._in_class, self._class = outer, outer_class
        return node

    def _private(self, name: str) -> ast.expr:
        """The name of an attribute: `__x` of a class is `_Class__x`."""
        own = self._class.lstrip("_")
        return ast.Constant(f"_{own}{name}" if own and name.startswith("__") and not name.endswith("__") else name)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        node.decorator_list = [self.visit(each) for each in node.decorator_list]
        node.args = self.visit(node.args)  # defaults belong to where the function stands
        outer, self._in_class = self._in_class, False
        outer_yields, self._yields = self._yields, _is_generator(node)
        body = [self.visit(each) for each in node.body]
        node.body = [part for each in body for part in (each if isinstance(each, list) else [each])]
        self._in_class, self._yields = outer, outer_yields
        return node

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        node.args = self.visit(node.args)
        outer, self._in_class = self._in_class, False
        node.body = self.visit(node.body)
        self._in_class = outer
        return node

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        if self._keeps_its_place([node.body, node.orelse]):
            return self._in_its_place(node)
        self.generic_visit(node)
        return _at(node, _hook("choose", node.test, _later(node.body), _later(node.orelse)))

    def visit_Name(self, node: ast.Name) -> Any:
        if not isinstance(node.ctx, ast.Load):
            return node
        if node.id not in OF_MODULES:
            known = self._names is None or node.id in self._names or node.id in OF_PYTHON
            return node if known else _at(node, _hook("unknown_name", ast.Constant(node.id), _later(node)))
        return _at(node, _hook("own_name", ast.Constant(node.id), node))

    def visit_Starred(self, node: ast.Starred) -> Any:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            node.value = _at(node.value, _hook("starred", node.value))
        return node

    def visit_Call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Name) and node.func.id in ("super", "locals"):
            return self.generic_visit(node)
        if [getattr(each, "id", "") for each in node.args] == ["__name__"] and not node.keywords:
            name = getattr(node.func, "attr", None) or getattr(node.func, "id", None)
            if name == "getLogger":  # the name of a log is no output
                return _at(node, _hook("logger_of", self.visit(node.func), node.args[0]))
        self._read_at_once |= {id(each) for each in node.args if isinstance(each, ast.GeneratorExp)}
        self.generic_visit(node)
        return _at(node, _hook("call", node.func, *node.args, keywords=node.keywords))

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            return node
        return _at(node, _hook("attribute", node.value, self._private(node.attr)))

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            return node
        return _at(node, _hook("item", node.value, _key(node.slice)))

    def visit_JoinedStr(self, node: ast.JoinedStr) -> Any:
        self.generic_visit(node)
        parts: list[ast.expr] = []
        for each in node.values:
            if isinstance(each, ast.FormattedValue):
                spec = each.format_spec or ast.Constant("")
                parts.append(ast.Tuple([each.value, ast.Constant(each.conversion), spec], ast.Load()))
            else:
                parts.append(each)
        return _at(node, _hook("text", *parts))

    # Comprehensions: of rows they are functions of one row

    def _comprehension(self, node: Any, kind: str, element: ast.expr) -> Any:
        later = kind == "generator" and id(node) not in self._read_at_once
        if later or self._keeps_its_place([node]) or _makes_functions(node):
            self.generic_visit(node)  # as Python does it; rows end the proof
            for generator in node.generators:
                generator.iter = _at(generator.iter, _hook("plain", generator.iter))
            return node
        body: ast.expr = element
        for depth, generator in enumerate(reversed(node.generators)):
            if generator.is_async:
                return self.generic_visit(node)
            source = self.visit(generator.iter)
            tests = [self.visit(each) for each in generator.ifs]
            names = self._targets(generator.target)
            if names is None:
                return self.generic_visit(node)
            if depth == 0:
                body = self.visit(element)
            test = ast.Constant(None) if not tests else _conjunction(tests)
            tested = ast.Constant(None) if not tests else self._lambda(generator.target, names, test)
            level = kind if depth == len(node.generators) - 1 else "list"
            flat = ast.Constant(depth > 0)
            body = _hook(
                "comprehension", ast.Constant(level), source, tested, self._lambda(generator.target, names, body), flat
            )
        return _at(node, body)

    def _targets(self, target: ast.expr) -> list[str] | None:
        if isinstance(target, ast.Name):
            return [target.id]
        if isinstance(target, ast.Tuple) and all(isinstance(each, ast.Name | ast.Tuple) for each in target.elts):
            parts = [self._targets(each) for each in target.elts]
            return None if any(each is None for each in parts) else [name for part in parts for name in part or []]
        return None

    def _lambda(self, target: ast.expr, names: list[str], body: ast.expr) -> ast.expr:
        names = [self._name() if each in names[at + 1 :] else each for at, each in enumerate(names)]  # `_, _, v`
        if isinstance(target, ast.Name):
            return _later(body, *names)
        whole = self._name()
        pattern = ast.Constant(_pattern(target))
        unpacked = ast.Starred(_hook("unpack", ast.Name(whole, ast.Load()), pattern), ast.Load())
        return _later(ast.Call(_later(body, *names), [unpacked], []), whole)

    def visit_ListComp(self, node: ast.ListComp) -> Any:
        return self._comprehension(node, "list", node.elt)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> Any:
        return self._comprehension(node, "generator", node.elt)

    def visit_SetComp(self, node: ast.SetComp) -> Any:
        return self._comprehension(node, "set", node.elt)

    def visit_DictComp(self, node: ast.DictComp) -> Any:
        return self._comprehension(node, "dict", ast.Tuple([node.key, node.value], ast.Load()))

    # ------------------------------------------------------------------------------------------------------------------
    # Statements

    def visit_If(self, node: ast.If) -> Any:
        contest = self._contest(node)
        if contest is not None:
            return contest
        self.generic_visit(node)
        node.test = _at(node.test, _hook("truth", node.test))
        return node

    def _contest(self, node: ast.If) -> list[ast.stmt] | None:
        """`if value > best: best, chosen = value, label`, where no name is both assigned and read."""
        pairs = _assigned_names(node.body)
        test = node.test
        if node.orelse or not pairs or not isinstance(test, ast.Compare) or len(test.ops) != 1:
            return None
        sides = (test.left, test.comparators[0])
        if not isinstance(test.ops[0], ast.Gt | ast.GtE | ast.Lt | ast.LtE):
            return None
        if not all(isinstance(each, ast.Name) for each in sides):
            return None
        name = self._name()

        def load(names: list[str]) -> ast.Tuple:
            return ast.Tuple([ast.Name(each, ast.Load()) for each in names], ast.Load())

        new, old = [value for _, value in pairs], [target for target, _ in pairs]
        sign = ast.Constant(COMPARISONS[type(test.ops[0])])
        begin = ast.Assign(
            [ast.Name(name, ast.Store())], _hook("contest", sign, *sides, _later(load(new)), _later(load(old)))
        )
        settled = ast.Call(ast.Attribute(ast.Name(name, ast.Load()), "settle", ast.Load()), [], [])
        targets = ast.Tuple([ast.Name(each, ast.Store()) for each in old], ast.Store())
        compared = ast.Call(ast.Attribute(ast.Name(name, ast.Load()), "compare", ast.Load()), [], [])
        plain = ast.If(_hook("truth", compared), node.body, [])
        self.generic_visit(plain.body[0])
        branch = ast.If(
            ast.Attribute(ast.Name(name, ast.Load()), "open", ast.Load()), [ast.Assign([targets], settled)], [plain]
        )
        return [_at(node, begin), _at(node, branch)]

    def visit_While(self, node: ast.While) -> Any:
        self.generic_visit(node)
        node.test = _at(node.test, _hook("truth", node.test))
        return node

    def visit_Assert(self, node: ast.Assert) -> Any:
        self.generic_visit(node)
        node.test = _at(node.test, _hook("truth", node.test))
        return node

    def visit_Try(self, node: ast.Try | ast.TryStar) -> Any:
        self.generic_visit(node)
        return self._guarded(node)

    visit_TryStar = visit_Try

    def visit_With(self, node: ast.With | ast.AsyncWith) -> Any:
        """Which of its objects may catch exceptions is known when they are there."""
        self.generic_visit(node)
        contexts = ast.Name(self._name(), ast.Load())
        for each in node.items:
            each.context_expr = ast.Call(ast.Attribute(contexts, "entered", ast.Load()), [each.context_expr], [])
        begin = ast.Assign([ast.Name(contexts.id, ast.Store())], _hook("contexts"))
        leave = ast.Expr(ast.Call(ast.Attribute(contexts, "leave", ast.Load()), [], []))
        return [_at(node, begin), _at(node, ast.Try([node], [], [], [leave]))]

    visit_AsyncWith = visit_With

    def _guarded(self, node: ast.stmt) -> Any:
        """Marks the time in which an exception may be caught by the program."""
        enter, leave = ast.Expr(_hook("enter_try")), ast.Expr(_hook("leave_try"))
        return [_at(node, enter), _at(node, ast.Try([node], [], [], [leave]))]

    def visit_Match(self, node: ast.Match) -> Any:
        classes = [each for each in ast.walk(node) if isinstance(each, ast.MatchClass)]
        if any(name.startswith("__") for each in classes for name in each.kwd_attrs):
            node.subject = _hook("unfollowed")
            return node
        self.generic_visit(node)
        node.subject = _at(node.subject, _hook("plain", node.subject))
        return node

    def visit_For(self, node: ast.For) -> Any:
        loop = self._name()
        stored, augmented = _stored_names(node)
        self.generic_visit(node)
        begin = ast.Assign([ast.Name(loop, ast.Store())], _hook("loop", node.iter, _names(stored | augmented)))
        if not isinstance(node.target, ast.Name):
            entry, target = self._name(), node.target
            node.target = ast.Name(entry, ast.Store())
            unpacked = self._unpacked(
                _at(node, ast.Assign([target], ast.Constant(None))), target, ast.Name(entry, ast.Load())
            )
            node.body = [_at(node, each) for each in unpacked] + node.body
        node.iter = ast.Call(ast.Attribute(ast.Name(loop, ast.Load()), "passes", ast.Load()), [], [])
        plain = sorted(stored - augmented)
        targets_of_loop = {each.id for each in ast.walk(node.target) if isinstance(each, ast.Name)}
        forget: list[ast.stmt] = []
        if plain:
            targets = [ast.Name(each, ast.Store()) for each in plain]
            unset = ast.Call(ast.Attribute(ast.Name(loop, ast.Load()), "forgotten", ast.Load()), [], [])
            forget = [
                ast.If(
                    ast.Attribute(ast.Name(loop, ast.Load()), "over_rows", ast.Load()),
                    [ast.Assign(targets, unset)],  # type: ignore[arg-type]
                    [],
                )
            ]
            inner = [each for each in plain if each not in targets_of_loop]
            if inner:  # what the last pass has left is not known to this one
                unset = ast.Call(ast.Attribute(ast.Name(loop, ast.Load()), "forgotten", ast.Load()), [], [])
                condition = ast.Attribute(ast.Name(loop, ast.Load()), "over_rows", ast.Load())
                forgets = ast.Assign([ast.Name(each, ast.Store()) for each in inner], unset)
                node.body = [_at(node, ast.If(condition, [forgets], [])), *node.body]
        if node.orelse:  # it runs after the last pass
            node.orelse = [*(_at(node, copy.deepcopy(each)) for each in forget), *node.orelse]
        return [_at(node, each) for each in (begin, node, *forget)]

    def visit_Global(self, node: ast.Global) -> Any:
        return [node, _at(node, ast.Expr(_hook("outer_names")))]

    def visit_Nonlocal(self, node: ast.Nonlocal) -> Any:
        return [node, _at(node, ast.Expr(_hook("outer_names")))]

    def visit_YieldFrom(self, node: ast.YieldFrom) -> Any:
        self.generic_visit(node)
        node.value = _at(node.value, _hook("yields_from", node.value))
        return node

    def visit_Expr(self, node: ast.Expr) -> Any:
        if not isinstance(node.value, ast.Yield):
            return self.generic_visit(node)
        value = node.value.value or ast.Constant(None)
        is_new = isinstance(
            value, ast.BinOp | ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp
        )
        node.value = _at(node.value, ast.Yield(_hook("yields", self.visit(value), ast.Constant(is_new))))
        return node

    def visit_Yield(self, node: ast.Yield) -> Any:
        """What is sent into a generator is used: `x = yield y`."""
        self.generic_visit(node)
        return _at(node, ast.Yield(_hook("yields_and_receives", node.value or ast.Constant(None))))

    def visit_Return(self, node: ast.Return) -> Any:
        self.generic_visit(node)
        if self._yields and node.value is not None:
            node.value = _at(node.value, _hook("returns_of_generator", node.value))
        return node

    def visit_Assign(self, node: ast.Assign) -> Any:
        node.value = self._kept(node.value)
        if self._in_class and not any(isinstance(each, ast.Subscript | ast.Attribute) for each in node.targets):
            return node  # names of ours would be attributes of the class
        if any(isinstance(each, ast.Subscript | ast.Attribute) for target in node.targets for each in ast.walk(target)):
            return self._assign_parts(node)
        if any(isinstance(each, ast.Tuple | ast.List) for each in node.targets):
            return self._assign_parts(node)
        return node

    def _kept(self, value: ast.expr) -> ast.expr:
        """A value that gets a name: no iterator over rows, which would be read later."""
        lazy = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in LAZY
        found: ast.expr = self.visit(value)
        return _at(value, _hook("keep", found)) if lazy else found

    def _set_item(self, node: ast.stmt, target: ast.Subscript, value: ast.expr) -> Any:
        owner, key = self.visit(target.value), _key(self.visit(target.slice))
        return _at(node, ast.Expr(_hook("set_item", owner, key, value)))

    def _assign_parts(self, node: ast.Assign) -> list[ast.stmt]:
        whole = self._name()
        found: list[ast.stmt] = [ast.Assign([ast.Name(whole, ast.Store())], node.value)]
        for target in node.targets:
            found += self._unpacked(node, target, ast.Name(whole, ast.Load()))
        return [_at(node, each) for each in found]

    def _unpacked(self, node: ast.Assign, target: ast.expr, value: ast.expr) -> list[ast.stmt]:
        if isinstance(target, ast.Subscript):
            return [self._set_item(node, target, value)]
        if isinstance(target, ast.Tuple | ast.List):
            if any(isinstance(each, ast.Starred) for each in target.elts):
                return [ast.Assign([target], _hook("plain", value))]
            parts = self._name()
            count = ast.Constant(len(target.elts))
            found: list[ast.stmt] = [ast.Assign([ast.Name(parts, ast.Store())], _hook("unpack", value, count))]
            for at, each in enumerate(target.elts):
                entry = ast.Subscript(ast.Name(parts, ast.Load()), ast.Constant(at), ast.Load())
                found += self._unpacked(node, each, entry)
            return found
        if isinstance(target, ast.Attribute):
            owner = self.visit(target.value)
            return [ast.Expr(_hook("set_attribute", owner, self._private(target.attr), value))]
        return [ast.Assign([target], value)]

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        if not isinstance(node.target, ast.Name) and self._keeps_its_place([node.value]):
            return _at(node, ast.Expr(_hook("unfollowed")))
        value = self.visit(node.value)
        name = ast.Constant(OPERATORS[type(node.op)])
        if isinstance(node.target, ast.Name):
            old = ast.Name(node.target.id, ast.Load())
            return _at(node, ast.Assign([node.target], _hook("augment", name, old, value)))
        later = _later(value)  # what the target holds is read before
        if isinstance(node.target, ast.Subscript):
            owner, key = self.visit(node.target.value), _key(self.visit(node.target.slice))
            return _at(node, ast.Expr(_hook("augment_item", name, owner, key, later)))
        owner = self.visit(node.target.value)
        return _at(node, ast.Expr(_hook("augment_attribute", name, owner, self._private(node.target.attr), later)))


def _assigned_names(body: list[ast.stmt]) -> list[tuple[str, str]]:
    """Names that a body of one assignment gives the values of other names; empty where it is no such body."""
    if len(body) != 1 or not isinstance(body[0], ast.Assign) or len(body[0].targets) != 1:
        return []
    target, value = body[0].targets[0], body[0].value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        parts = list(zip(target.elts, value.elts, strict=True))
    else:
        parts = [(target, value)]
    names = [(a.id, b.id) for a, b in parts if isinstance(a, ast.Name) and isinstance(b, ast.Name)]
    once = len({a for a, _ in names}) == len(names) and not {a for a, _ in names} & {b for _, b in names}
    return names if len(names) == len(parts) and once else []


def _names(names: set[str]) -> ast.expr:
    return ast.Tuple([ast.Constant(each) for each in sorted(names)], ast.Load())


def _at(old: ast.AST, new: ast.AST) -> Any:
    return ast.copy_location(new, old)


def _key(node: ast.expr) -> ast.expr:
    """A subscript as an ordinary expression."""
    if isinstance(node, ast.Slice):
        ends = [each or ast.Constant(None) for each in (node.lower, node.upper, node.step)]
        return ast.Call(ast.Attribute(ast.Name(PROOF, ast.Load()), "slice", ast.Load()), ends, [])
    if isinstance(node, ast.Tuple):
        return ast.Tuple([_key(each) for each in node.elts], ast.Load())
    return node


def _is_generator(function: ast.FunctionDef) -> bool:
    """Whether a function yields, and not only a function within it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        each = waiting.pop()
        if isinstance(each, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            waiting += ast.iter_child_nodes(each)
    return False


def _assigns(parts: list[Any]) -> bool:
    """Whether an expression assigns a name (`:=`), yields, or asks for the names of its function."""
    for each in (inner for part in parts for inner in ast.walk(part)):
        if isinstance(each, ast.NamedExpr | ast.Yield | ast.YieldFrom | ast.Await):
            return True
        if isinstance(each, ast.Call) and isinstance(each.func, ast.Name):
            if each.func.id in ("locals", "super", "vars", "dir", "eval", "exec"):
                return True
    return False


def _makes_functions(node: ast.expr) -> bool:
    """Whether a comprehension makes functions or generators that are called later: they see its last names."""
    parts = list(ast.walk(node))
    at_once = {id(each) for call in parts if isinstance(call, ast.Call) for each in call.args}
    return any(
        isinstance(each, ast.Lambda)
        or (isinstance(each, ast.GeneratorExp) and each is not node and id(each) not in at_once)
        for each in parts
    )


def _conjunction(tests: list[ast.expr]) -> ast.expr:
    return tests[0] if len(tests) == 1 else _hook("both", tests[0], *(_later(each) for each in tests[1:]))


def _pattern(target: ast.expr) -> Any:
    """The shape of a target of several names, as nested tuples."""
    return tuple(_pattern(each) for each in target.elts) if isinstance(target, ast.Tuple) else None


def _stored_names(loop: ast.For) -> tuple[set[str], set[str]]:
    """Names that the body of a loop assigns, and those of them that it adds to."""
    stored = {each.id for each in ast.walk(loop.target) if isinstance(each, ast.Name)}
    augmented: set[str] = set()
    for statement in loop.body:
        for each in ast.walk(statement):
            if isinstance(each, ast.AugAssign) and isinstance(each.target, ast.Name):
                augmented.add(each.target.id)
            elif isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
                stored.add(each.id)
    assigned = {
        each.id
        for statement in loop.body
        for part in ast.walk(statement)
        if not isinstance(part, ast.AugAssign)
        for each in ast.iter_child_nodes(part)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }
    return stored | assigned, augmented - assigned
