"""Every regular expression of the repository, how it is used, and texts that make a slow one slow."""

from __future__ import annotations

import ast
import importlib
import math
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from tests.cpu_time import cpu_seconds

ROOT = Path(__file__).parents[1]
ROOMS = ("gate", "views", "storage", "tools", "handlers", "bot", "servers", "workspace")
ANCHORED, SEARCHING = {"match", "fullmatch"}, {"search", "sub", "subn", "split", "findall", "finditer"}
ANYHOW = frozenset({"search", "match", "fullmatch"})
FUNCTIONS = {"compile", *ANCHORED, *SEARCHING}


@dataclass(frozen=True)
class Used:
    """A pattern, where it stands, and by which methods it is held against texts."""

    where: str
    pattern: re.Pattern[Any]
    how: frozenset[str]


@dataclass(frozen=True)
class Made:
    """A call of `re` whose pattern is made while the product runs, of what only then is known."""

    where: str
    source: str


def modules() -> Iterator[Path]:
    for room in ROOMS:
        yield from sorted(path for path in (ROOT / room).rglob("*.py") if "migrations" not in path.parts)


@cache
def collected() -> tuple[list[Used], list[Made]]:
    """All patterns that are known when their module is imported, and the calls that make others.

    It takes seconds: a test asks for it, no module does when it is imported, which happens in every process."""
    nodes = {path: list(ast.walk(ast.parse(path.read_text(encoding="utf-8")))) for path in modules()}
    methods = _methods({_name(path): inside for path, inside in nodes.items()})
    used, made = list[Used](), list[Made]()
    for path, inside in nodes.items():
        name, others = _name(path), _imported(inside)
        names = vars(importlib.import_module(name))
        for key, pattern in _held(names):
            if key in others:
                continue
            how = methods.get(f"{name}.{key.split('[')[0]}", frozenset()) - {"pattern"}
            used.append(Used(f"{name}.{key}", pattern, how if how and "?" not in how else ANYHOW))
        for call, top in _calls(inside):
            where = f"{path.relative_to(ROOT)}:{call.lineno}"
            try:
                flags = [eval(_code(a), names) for a in call.args[1 if call.func.attr == "compile" else 9 :]]  # type: ignore[attr-defined]
                pattern = re.compile(eval(_code(call.args[0]), dict(names)), *flags)
            except NameError:
                made.append(Made(str(path.relative_to(ROOT)), ast.unparse(call)))
                continue
            if not (top and call.func.attr == "compile"):  # type: ignore[attr-defined]
                how = call.func.attr  # type: ignore[attr-defined]
                used.append(Used(where, pattern, frozenset({how}) if how != "compile" else ANYHOW))
    return used, made


def _name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def unlike(found: list[Used]) -> list[Used]:
    """Each pattern once, however many modules hold it."""
    return list({(one.pattern.pattern, one.pattern.flags, one.how): one for one in found}.values())


def _code(node: ast.expr) -> Any:
    return compile(ast.Expression(node), "a pattern", "eval")


def _calls(nodes: Sequence[ast.AST]) -> Iterator[tuple[ast.Call, bool]]:
    """Calls of `re` among a module's nodes, and whether they run when it is imported."""
    calls = [node for node in nodes if isinstance(node, ast.Call) and _makes(node)]
    functions = [n for n in nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)]
    inner = {id(n) for f in functions for n in ast.walk(f)} if calls else set()
    for call in calls:
        yield call, id(call) not in inner


def _makes(call: ast.Call) -> bool:
    """Whether it gives `re` a pattern that stands there, and not the name of one."""
    return _of_re(call.func) and not (isinstance(call.args[0], ast.Name) and call.args[0].id.isupper())


def _methods(modules: Mapping[str, Sequence[ast.AST]]) -> dict[str, frozenset[str]]:
    """The methods that are called on each pattern, by its module and name; "?" among them where it is passed on."""
    found: dict[str, set[str]] = {}
    for module, nodes in modules.items():
        homes = _imported(nodes)
        known = set[int]()
        for node in nodes:
            for name, how in _applied(node):
                known.add(id(name))
                found.setdefault(_home(name, module, homes), set()).add(how)
        for node in nodes:
            named = isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load)
            if named and id(node) not in known:
                found.setdefault(_home(node, module, homes), set()).add("?")
    return {name: frozenset(how) for name, how in found.items()}


def _applied(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """What stands as the pattern in `PATTERN.match(…)`, `re.match(PATTERN, …)`."""
    if isinstance(node, ast.Attribute) and node.attr in ANCHORED | SEARCHING:
        yield node.value, node.attr
    if isinstance(node, ast.Call) and node.args and _of_re(node.func):
        yield node.args[0], node.func.attr  # type: ignore[attr-defined]
    if isinstance(node, ast.Attribute) and node.attr == "pattern":  # its source, for another one
        yield node.value, "pattern"


def _of_re(function: ast.expr) -> bool:
    """Whether this is `re.match` or one of its like."""
    named = isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name)
    return named and function.value.id == "re" and function.attr in FUNCTIONS  # type: ignore[attr-defined]


def _imported(nodes: Sequence[ast.AST]) -> dict[str, str]:
    """Names of other modules' values, and of other modules, as they are called here."""
    return {
        name.asname or name.name: f"{node.module}.{name.name}"
        for node in nodes
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }


def _home(node: ast.expr, module: str, homes: Mapping[str, str]) -> str:
    if isinstance(node, ast.Name):
        return homes.get(node.id, f"{module}.{node.id}")
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{homes.get(node.value.id, node.value.id)}.{node.attr}"
    if isinstance(node, ast.Subscript):
        return _home(node.value, module, homes)
    return ""


def _held(names: dict[str, Any]) -> Iterator[tuple[str, re.Pattern[Any]]]:
    """The patterns in a module's own values, also inside of tables; those that it imports are another's."""
    for key, value in names.items():
        if not key.startswith("__"):
            yield from _inside(key, value, 0)


def _inside(key: str, value: Any, depth: int) -> Iterator[tuple[str, re.Pattern[Any]]]:
    if isinstance(value, re.Pattern):
        yield key, value
    elif depth < 4 and isinstance(value, dict):
        for inner, item in value.items():
            yield from _inside(f"{key}[{inner}]", item, depth + 1)
    elif depth < 4 and isinstance(value, list | tuple | set | frozenset):
        for index, item in enumerate(value):
            yield from _inside(f"{key}[{index}]", item, depth + 1)
    elif depth < 4 and hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
        for field in value.__dataclass_fields__:
            yield from _inside(f"{key}[{field}]", getattr(value, field, None), depth + 1)


# --- hostile texts

COMMON = (
    "a",
    "0",
    " ",
    "\t",
    "\n",
    "-",
    "_",
    ".",
    ",",
    "<",
    "(",
    "[",
    "{",
    '"',
    "'",
    "\\",
    '\\"',
    "`",
    "/",
    "@",
    ":",
    "A",
    "é",
    "a ",
    "a-",
    "0.",
    ". ",
    "a.",
    "\0" + "0\0",
    "=",
    "a=",
)
END, OTHER_END = "\n\x01", "a\nb"  # what hardly a pattern takes for its end, and none for both
# Characters, and CPU seconds that only an exponential pattern takes for them. They grow slowly, so that the first of
# them that takes too long ends.
SHORT = ((20, 0.002), (28, 0.005), *((size, 0.01) for size in (40, 60, 90, 140, 220, 340, 500)))
SIZE = 2_000  # a cubic pattern that passed those takes seconds for it: it ends
QUICK = 0.5e-6  # CPU seconds for each character: what takes less does not grow at these lengths
TIMES = 9  # four would be linear, sixteen quadratic


def hostile(pattern: re.Pattern[Any]) -> list[tuple[str, str]]:
    """Beginnings, and what is repeated behind them: made of the pattern's own parts."""
    parsed = parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    befores, pumps = list[str](), list[str]()
    _walk(list(parsed), "", befores, pumps)
    whole = _example(list(parsed))
    pumps += [whole, whole[:-1], *(before for before in befores), *(f"{whole}{c}" for c in " \n,")]
    pumps += [f"{one}{blank}" for one in pumps[:20] for blank in " \n"]
    pumps = [p for p in dict.fromkeys([*COMMON, *pumps]) if 0 < len(p) <= 120][:70]
    starts = list(dict.fromkeys(before for before in befores if before))[:4]
    pairs = [("", pump) for pump in pumps] + [(start, pump) for start in starts for pump in pumps[:40]]
    return [*dict.fromkeys([*pairs, *_repeated(list(parsed))])]


def _walk(items: list[Any], before: str, befores: list[str], pumps: list[str]) -> None:
    for at, (kind, value) in enumerate(items):
        here = before + _example(items[:at])
        befores.append(here)
        if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            body = list(value[2])
            pumps.extend(dict.fromkeys(_examples(body)))
            pumps.append(here + _example(body))
            _walk(body, here, befores, pumps)
        elif kind is sre.BRANCH:
            for branch in value[1]:
                _walk(list(branch), here, befores, pumps)
        elif kind is sre.SUBPATTERN:
            _walk(list(value[-1]), here, befores, pumps)
        elif kind in (sre.ASSERT, sre.ASSERT_NOT):
            _walk(list(value[1]), here, befores, pumps)
        elif kind is sre.ATOMIC_GROUP:
            _walk(list(value), here, befores, pumps)
    befores.append(before + _example(items))


def _repeated(items: list[Any], before: str = "") -> Iterator[tuple[str, str]]:
    """What stands before each repeat of a pattern, and texts that it repeats: with each branch in it, and with and
    without what is optional. What repeats in another way than by the first branches may be read in two."""
    for at, (kind, value) in enumerate(items):
        here = before + _example(items[:at])
        if kind in REPEATS:
            yield from ((here, text) for text in _some(_combinations(list(value[2]))) if text)
        parts = value[1] if kind is sre.BRANCH else [value[-1]] if kind in (*REPEATS, sre.SUBPATTERN) else ()
        for part in parts:
            yield from _repeated(list(part), here)


REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT)
MOST, MOST_TRIED = 400, 24  # texts of one part of a pattern


def _some(texts: list[str]) -> list[str]:
    return texts if len(texts) <= MOST_TRIED else random.Random(0).sample(texts, MOST_TRIED)


def _combinations(items: list[Any]) -> list[str]:
    texts = [""]
    for kind, value in items:
        texts = list(dict.fromkeys(text + more for text in texts for more in _ways(kind, value)))[:MOST]
    return texts


def _ways(kind: Any, value: Any) -> list[str]:
    if kind is sre.BRANCH:
        return [text for branch in value[1] for text in _combinations(list(branch))[:4]]
    if kind is sre.SUBPATTERN:
        return _combinations(list(value[-1]))
    if kind in REPEATS:
        once = _combinations(list(value[2]))[:4]
        return once if value[0] else [*once, ""]
    return [_one(kind, value)]


def _examples(items: list[Any]) -> Iterator[str]:
    yield _example(items)
    for kind, value in items:
        if kind is sre.BRANCH:
            yield from (_example(list(branch)) for branch in value[1])
        if kind is sre.IN:
            yield from _members(value)
        if kind is sre.SUBPATTERN:
            yield from _examples(list(value[-1]))


def _example(items: list[Any]) -> str:
    return "".join(_one(kind, value) for kind, value in items)


def _one(kind: Any, value: Any) -> str:
    if kind is sre.LITERAL:
        return chr(value)
    if kind is sre.NOT_LITERAL:
        return "b" if value != ord("b") else "c"
    if kind is sre.ANY:
        return "a"
    if kind is sre.IN:
        return next(_members(value), "a")
    if kind is sre.BRANCH:
        return _example(list(value[1][0]))
    if kind is sre.SUBPATTERN:
        return _example(list(value[-1]))
    if kind is sre.ATOMIC_GROUP:
        return _example(list(value))
    if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
        return _example(list(value[2])) * min(max(int(value[0]), 0), 3)
    return ""


CLASSES = {
    sre.CATEGORY_DIGIT: "0",
    sre.CATEGORY_SPACE: " ",
    sre.CATEGORY_WORD: "a",
    sre.CATEGORY_NOT_SPACE: "a",
    sre.CATEGORY_NOT_WORD: "-",
    sre.CATEGORY_NOT_DIGIT: "a",
}


def _members(given: list[Any]) -> Iterator[str]:
    if given and given[0][0] is sre.NEGATE:
        out = re.compile(_class(given[1:]))
        yield from [c for c in 'a0 .-<"\\\t' if not out.match(c)][:4]
        return
    for kind, value in given[:4]:
        if kind is sre.LITERAL:
            yield chr(value)
        elif kind is sre.RANGE:
            yield chr(value[0])
        elif kind is sre.CATEGORY:
            yield CLASSES.get(value, "a")


def _class(given: list[Any]) -> str:
    out = ""
    for kind, value in given:
        if kind is sre.LITERAL:
            out += re.escape(chr(value))
        elif kind is sre.RANGE:
            out += f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
        elif kind is sre.CATEGORY:
            out += (
                {"0": r"\d", " ": r"\s", "a": r"\w", "-": r"\W"}[CLASSES[value]]
                if value is not sre.CATEGORY_NOT_SPACE
                else r"\S"
            )
    return f"[{out}]"


# --- measuring


def work(used: Used, text: Any) -> Callable[[], object]:
    if used.how & SEARCHING:
        return lambda: sum(1 for _ in used.pattern.finditer(text))
    calls = [getattr(used.pattern, how) for how in sorted(used.how & ANCHORED) or ("match", "fullmatch")]
    return lambda: [call(text) for call in calls]


def text_of(used: Used, start: str, pump: str, length: int, end: str = END) -> Any:
    text = start + pump * (length // len(pump) + 1) + end
    return text.encode("utf-8", "surrogatepass") if isinstance(used.pattern.pattern, bytes) else text


def grows(used: Used) -> tuple[str, str, float] | None:
    """The first text on which the work grows faster than the text: its beginning, what it repeats, and how many times
    more work it is when the text is four times as long; None when there is none."""
    for start, pump in hostile(used.pattern):
        for end in (END, OTHER_END):
            grown = _grown(used, lambda size: text_of(used, start, pump, size, end))  # noqa: B023
            if grown:
                return start, pump, grown
    return None


def _grown(used: Used, text: Callable[[int], Any]) -> float:
    """How many times more work a text is that is four times as long, where that is too much; else 0."""
    begun = time.thread_time()
    for size, most in SHORT:
        run = work(used, text(size))
        run()
        ended = time.thread_time()
        if ended - begun > most and cpu_seconds(run) > most:
            return math.inf
        begun = ended
    short = cpu_seconds(work(used, text(SIZE)))
    if short <= SIZE * QUICK or cpu_seconds(work(used, text(SIZE * 4))) <= short * TIMES:
        return 0.0
    # Only what seems to grow is measured well: a good measurement takes three times as long.
    grown = min(times_more(used, text, SIZE) for _ in range(2))
    return grown if grown > TIMES else 0.0


def times_more(used: Used, text: Callable[[int], Any], size: int) -> float:
    """How many times more work a text is that is four times as long."""
    short = cpu_seconds(work(used, text(size)), 3)
    return cpu_seconds(work(used, text(size * 4)), 2) / short
