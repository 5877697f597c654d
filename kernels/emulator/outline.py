"""The declarations of a Metal text: which functions it defines, with their parameters and bodies, and which variables.

No parser: namespaces and structs are entered, functions and variables are told apart by their brackets, and bodies stay
runs of tokens. That is enough for the rules of the static check.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .tokens import Token, after_attribute, after_brackets, tokenise

# A macro that stands for words, such as one for `static constant constexpr`.
WORDS_MACRO = re.compile(r"\s*#\s*define\s+(?P<name>\w+)\s(?P<words>[\w\s]+)")
TYPE_WORDS = {"struct", "class", "union", "enum"}
NOT_A_VARIABLE = {"using", "typedef", "static_assert", "friend", "template", *TYPE_WORDS}


@dataclass(frozen=True)
class Declaration:
    """A declaration at the level of a file, a namespace or a struct.

    Args:
        kind: "function", "variable" or "other".
        name: the function's name; empty for the rest.
        head: its tokens up to the body or the semicolon, without comments and attributes.
        result: the tokens before the name of a function.
        parameters: the tokens between its brackets.
        body: the tokens between its braces.
        is_kernel: whether a function is a kernel.
        in_struct: whether it is a member.
    """

    kind: str
    head: Sequence[Token]
    name: str = ""
    result: Sequence[Token] = ()
    parameters: Sequence[Token] = ()
    body: Sequence[Token] = ()
    is_kernel: bool = False
    in_struct: bool = False


def plain(text: str) -> list[Token]:
    """The tokens of a text without space, comments, directives and attributes; of `[[kernel]]` the word stays."""
    tokens, index = tokenise(text), 0
    kept, macros = list[Token](), dict[str, list[str]]()
    while index < len(tokens):
        token = tokens[index]
        end = after_attribute(tokens, index) if token.text == "[[" else index + 1
        if token.text == "[[":
            kept += [inner for inner in tokens[index:end] if inner.text == "kernel"]
        elif define := WORDS_MACRO.fullmatch(token.text):
            macros[define["name"]] = define["words"].split()
        elif token.matters and token.kind != "directive":
            kept += [Token(token.kind, word, token.line) for word in macros.get(token.text, [token.text])]
        index = end
    return kept


def declarations(code: Sequence[Token], in_struct: bool = False) -> Iterator[Declaration]:
    """The declarations in plain tokens, in order, those within namespaces and structs with them."""
    start = 0
    while start < len(code):
        end = _head_end(code, start)
        head = code[start:end]
        if end < len(code) and code[end].text == "{":
            close = after_brackets(code, end)
            yield from _with_braces(head, code[end + 1 : close - 1], in_struct)
            # What follows the braces of a struct is a semicolon, or variables that no kernel has.
            start = close + (close < len(code) and code[close].text == ";")
        else:
            if head:
                yield _without_braces(head, in_struct)
            start = end + 1


def _head_end(code: Sequence[Token], start: int) -> int:
    """The index of the semicolon, or of the brace that opens a body; the braces of an initialiser are passed over."""
    index, seen = start, set[str]()
    while index < len(code) and code[index].text != ";":
        text = code[index].text
        if text == "{" and "=" not in seen:
            return index
        seen.add(text)
        index = after_brackets(code, index) if text in "([{" else index + 1
    return index


def _with_braces(head: Sequence[Token], inside: Sequence[Token], in_struct: bool) -> Iterator[Declaration]:
    words = {token.text for token in _without_template(head)}
    if "namespace" in words or "extern" in words:
        yield from declarations(inside)
    elif "(" in words:
        yield _function(head, inside, in_struct)
    elif words & TYPE_WORDS:
        yield Declaration("other", head, in_struct=in_struct)
        if "enum" not in words:
            yield from declarations(inside, in_struct=True)
    else:
        yield _without_braces(head, in_struct)


def _without_braces(head: Sequence[Token], in_struct: bool) -> Declaration:
    words = [token.text for token in _without_template(head)]
    if words[0] in NOT_A_VARIABLE or words[-1] == ":":
        return Declaration("other", head, in_struct=in_struct)
    if "(" in words and "=" not in words[: words.index("(")]:
        return _function(head, (), in_struct)
    return Declaration("variable", head, in_struct=in_struct)


def _without_template(head: Sequence[Token]) -> Sequence[Token]:
    """The head behind `public:` and `template <...>`."""
    while len(head) > 1 and head[1].text == ":":
        head = head[2:]
    while len(head) > 1 and head[0].text == "template" and head[1].text == "<":
        head = head[after_brackets(head, 1) :]
    return head


def _function(head: Sequence[Token], body: Sequence[Token], in_struct: bool) -> Declaration:
    rest = _without_template(head)
    opening = next(index for index, token in enumerate(rest) if token.text == "(")
    return Declaration(
        "function",
        head,
        name=rest[opening - 1].text if opening else "",
        result=rest[: max(opening - 1, 0)],
        parameters=rest[opening + 1 : after_brackets(rest, opening) - 1],
        body=body,
        is_kernel="kernel" in {token.text for token in rest[:opening]},
        in_struct=in_struct,
    )
