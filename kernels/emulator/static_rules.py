"""Rules of Metal that a compiler of another C++ does not know, read off the tokens of a text.

From Apple's Metal Shading Language Specification: the restrictions on C++ in its first chapter, and the chapter on
address spaces.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from .outline import Declaration, declarations, plain
from .tokens import Token, split_at_commas

SPACES = {"device", "constant", "threadgroup", "thread"}
# `const float * p = ...`, in tokens with a space between them.
LOCAL_POINTER = re.compile(r"(?!return |else |case )(?:\w+ |:: |< [^;()=]* > )+[*&] (?:[*&] |const )*\w+(?= [=,\[]|$)")
LACKING = {
    "double": "Metal has no double; use float",
    "std": "Metal has no C++ standard library; use metal::",
    "new": "Metal has no dynamic memory",
    "delete": "Metal has no dynamic memory",
    "malloc": "Metal has no dynamic memory",
    "throw": "Metal has no exceptions",
    "try": "Metal has no exceptions",
    "catch": "Metal has no exceptions",
    "virtual": "Metal has no virtual functions",
    "dynamic_cast": "Metal has no run-time types",
    "typeid": "Metal has no run-time types",
    "goto": "Metal has no goto",
    "thread_local": "Metal has no thread_local; a variable of a function belongs to its thread",
    "printf": "Metal has no printf in a custom kernel",
}

Finding = tuple[int, str]
Rule = Callable[[Sequence[Token]], Iterator[Finding]]


def findings(text: str) -> list[Finding]:
    """What the rules find in a text: lines, from 1, with what is wrong there, in order and each once."""
    code = plain(text)
    found = {finding for rule in RULES for finding in rule(code)}
    return sorted(found | set(_not_ascii(text)))


def _not_ascii(text: str) -> Iterator[Finding]:
    for number, line in enumerate(text.split("\n"), start=1):
        if odd := re.search(r"[^\x00-\x7f]", line):
            yield number, f"{odd.group()!a} is not ASCII; MLX hands the text on as ASCII"


def _lacking(code: Sequence[Token]) -> Iterator[Finding]:
    for index, token in enumerate(code):
        is_member = index > 0 and code[index - 1].text in (".", "->")
        if token.kind == "word" and token.text in LACKING and not is_member:
            yield token.line, LACKING[token.text]


def _pointers_in_signatures(code: Sequence[Token]) -> Iterator[Finding]:
    for declaration in declarations(code):
        if declaration.kind == "function":
            yield from _unqualified(declaration.result)
            for parameter in split_at_commas(declaration.parameters):
                yield from _unqualified(parameter)
        elif declaration.kind == "variable" and declaration.in_struct:
            yield from _unqualified(declaration.head)


def _pointers_in_bodies(code: Sequence[Token]) -> Iterator[Finding]:
    for statement in _statements(code):
        words = [token.text for token in statement]
        if words[:1] == ["using"] and "=" in words:
            yield from _unqualified(statement[words.index("=") + 1 :])
        elif LOCAL_POINTER.match(" ".join(words)):
            yield from _unqualified(statement)


def _pointers_in_casts(code: Sequence[Token]) -> Iterator[Finding]:
    """Types like the one in `(float*)p`, `reinterpret_cast<float*>(p)` and `tile<float*, 3>`."""
    for index, token in enumerate(code[:-1]):
        if token.text in ("*", "&") and code[index + 1].text in (")", ">", ","):
            yield from _unqualified(code[_start_of_type(code, index) : index + 1])


def _start_of_type(code: Sequence[Token], index: int) -> int:
    """The index at which the type that ends at `index` starts: behind the bracket or comma before it."""
    depth = 0
    while index > 0:
        before = code[index - 1].text
        if depth == 0 and before in ("(", ",", "<", ";", "{", "}"):
            return index
        depth += (before == ">") - (before == "<")
        index -= 1
    return index


def _unqualified(run: Sequence[Token]) -> Iterator[Finding]:
    """A finding where a declared pointer or reference names no address space."""
    words = [token.text for token in run]
    stop = words.index("=") if "=" in words else len(words)
    is_pointer = {"*", "&"} & set(words[1:stop]) and run[0].kind == "word"
    if is_pointer and not SPACES & set(words) and "operator" not in words:
        shown = " ".join(words[:stop]).replace(" *", "*").replace(" &", "&")
        yield run[0].line, f"`{shown}` names no address space; write device, constant, threadgroup or thread"


def _statements(code: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """What ends in a semicolon or a brace; of the head of a `for`, its first part alone."""
    start, depth, in_head = 0, 0, False
    for index, token in enumerate(code):
        depth += (token.text == "(") - (token.text == ")")
        if token.text == "(" and index > 0 and code[index - 1].text == "for":
            start, in_head = index + 1, True
        elif token.text in (";", "{", "}") and (depth == 0 or in_head):
            yield code[start:index]
            start, in_head = index + 1, False
    yield code[start:]


def _threadgroup_variables(code: Sequence[Token]) -> Iterator[Finding]:
    for function in declarations(code):
        for statement in _statements(function.body):
            words = [token.text for token in statement]
            stop = next((i for i, word in enumerate(words) if word in ("=", "[", ",")), len(words))
            if "threadgroup" not in words[:2] or {"*", "&"} & set(words[:stop]):
                continue
            if not function.is_kernel:
                yield statement[0].line, f"threadgroup memory is declared in `{function.name}`, which is no kernel"
            if "=" in words:
                yield statement[0].line, "threadgroup memory cannot be given a value where it is declared"


def _global_variables(code: Sequence[Token]) -> Iterator[Finding]:
    for declaration in declarations(code):
        words = {token.text for token in declaration.head}
        if declaration.kind == "variable" and not declaration.in_struct and "constant" not in words:
            yield declaration.head[0].line, "a variable outside functions must be `constant`"
        for statement in _statements(declaration.body):
            if statement and statement[0].text == "static" and not {"constexpr", "constant"} & _texts(statement):
                yield statement[0].line, "a static variable in a function must be `constant`"


def _texts(run: Sequence[Token]) -> set[str]:
    return {token.text for token in run}


def _recursion(code: Sequence[Token]) -> Iterator[Finding]:
    functions = [d for d in declarations(code) if d.kind == "function" and d.body]
    names = [function.name for function in functions]
    # Overloads may call each other, and so may the methods of two structs.
    alone = {f.name: f for f in functions if names.count(f.name) == 1}
    calls = {name: _called(function) & set(alone) for name, function in alone.items()}
    for name, function in alone.items():
        if name in _reachable(calls, name):
            yield function.head[0].line, f"`{name}` calls itself; Metal has no recursion"


def _called(function: Declaration) -> set[str]:
    """The names that a function calls; a call with template arguments of its own may be another instance."""
    return {
        token.text
        for token, behind in zip(function.body, function.body[1:], strict=False)
        if token.kind == "word" and behind.text == "("
    }


def _reachable(calls: dict[str, set[str]], start: str) -> set[str]:
    reached, waiting = set[str](), set(calls[start])
    while waiting:
        name = waiting.pop()
        reached.add(name)
        waiting |= calls[name] - reached
    return reached


RULES: tuple[Rule, ...] = (
    _lacking,
    _pointers_in_signatures,
    _pointers_in_bodies,
    _pointers_in_casts,
    _threadgroup_variables,
    _global_variables,
    _recursion,
)
