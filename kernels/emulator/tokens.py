"""The Metal shading language as tokens, with what both the translator and the static check need to know of it.

This is a lexer and no parser: the language is C++14 with attributes and address spaces, and a C++ compiler does the
parsing. A token keeps its text to the letter, so that joining all tokens gives the text back.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mlxdecoder.errors import UserError

TOKEN = re.compile(
    r"""
    (?P<comment>   //[^\n]* | /\*.*?\*/ )
  | (?P<directive> ^[ \t]*\#(?:\\\n|/\*.*?\*/|(?!//)[^\n])* )
  | (?P<string>    "(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*' )
  | (?P<number>    (?: 0[xX][0-9a-fA-F]+ | 0[bB][01]+ | (?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)? ) [A-Za-z]* )
  | (?P<word>      [A-Za-z_]\w* )
  | (?P<space>     \s+ )
  | (?P<symbol>    :: | -> | \[\[ | <<= | >>= | <= | >= | == | != | && | \|\| | \+\+ | -- | [-+*/%&|^]= | . )
    """,
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
FLOATING = re.compile(r"(?P<digits>(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)(?P<suffix>[A-Za-z]*)")
DEFINE = re.compile(r"(?P<head>\s*#\s*define\s+\w+(?:\([^)]*\))?)(?P<body>.*)", re.DOTALL)
CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
SWIZZLE = re.compile(r"[xyzw]{2,4}|[rgba]{2,4}")


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text.

    Args:
        kind: "comment", "directive" (a whole preprocessor line), "string", "number", "word", "space" or "symbol".
        text: its text to the letter.
        line: the line on which it starts, from 1.
    """

    kind: str
    text: str
    line: int

    @property
    def matters(self) -> bool:
        """Whether the token is more than space or a comment."""
        return self.kind not in ("comment", "space")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a kernel.

    Args:
        name: its name.
        declaration: its declaration without attributes, as in `const device float* x`.
        attribute: what its attribute says, as in `thread_position_in_grid`; empty for a buffer.
        buffer: the index of its buffer, or None where an attribute of the thread is meant.
    """

    name: str
    declaration: str
    attribute: str
    buffer: int | None


def tokenise(text: str) -> list[Token]:
    """The tokens of a text, in order and without gaps."""
    tokens, line = [], 1
    for match in TOKEN.finditer(text):
        tokens.append(Token(str(match.lastgroup), match.group(), line))
        line += match.group().count("\n")
    return tokens


def joined(tokens: Sequence[Token]) -> str:
    """The text of tokens."""
    return "".join(token.text for token in tokens)


def next_that_matters(tokens: Sequence[Token], start: int) -> int:
    """The index of the first token from `start` on that is neither space nor comment; the length if there is none."""
    while start < len(tokens) and not tokens[start].matters:
        start += 1
    return start


def after_attribute(tokens: Sequence[Token], start: int) -> int:
    """The index after the attribute whose `[[` stands at `start`."""
    depth = 0
    for index in range(start, len(tokens)):
        depth += {"[[": 2, "[": 1, "]": -1}.get(tokens[index].text, 0)
        if depth == 0:
            return index + 1
    return len(tokens)


def after_brackets(tokens: Sequence[Token], start: int) -> int:
    """The index after the bracket that closes the one at `start`, which is one of `( [ { <`."""
    opening, closing, depth = tokens[start].text, CLOSING[tokens[start].text], 0
    for index in range(start, len(tokens)):
        depth += (tokens[index].text == opening) - (tokens[index].text == closing)
        if depth == 0:
            return index + 1
    return len(tokens)


def number_in_cpp(number: str) -> str:
    """A number as C++ writes it: without suffix it is a float in Metal, and `h` and `bf` make a half and a bfloat."""
    if number[:2].lower() in ("0x", "0b"):
        return number
    if number.endswith("bf"):
        return f"bfloat({number[:-2]}f)"
    if number[-1] in "hH":
        return f"half({number[:-1]}f)"
    match = FLOATING.fullmatch(number)
    return f"{number}f" if match and not match["suffix"] else number


def split_at_commas(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """The runs of tokens between the commas that stand outside all brackets; comments are left out."""
    depth, run = 0, list[Token]()
    for token in tokens:
        depth += {"[[": 2}.get(token.text, (token.text in CLOSING) - (token.text in CLOSING.values()))
        if token.text == "," and depth == 0:
            yield run
            run = []
        elif token.kind != "comment":
            run.append(token)
    if any(token.matters for token in run):
        yield run


def kernel_parameters(text: str, kernel: str) -> list[Parameter]:
    """The parameters of a kernel, in order; a buffer without index gets the next one.

    Raises:
        UserError: the text has no kernel of that name.
    """
    tokens = tokenise(text)
    opening = _parameter_list(tokens, kernel)
    parameters, free = list[Parameter](), 0
    for run in split_at_commas(tokens[opening + 1 : after_brackets(tokens, opening) - 1]):
        parameter = _parameter(run, free)
        free = free if parameter.buffer is None else parameter.buffer + 1
        parameters.append(parameter)
    return parameters


def _parameter_list(tokens: Sequence[Token], kernel: str) -> int:
    """The index of the bracket that opens the parameters of the kernel where it is defined."""
    words = [index for index, token in enumerate(tokens) if token.matters]
    for place, index in enumerate(words[1:-1], start=1):
        before, after = tokens[words[place - 1]], tokens[words[place + 1]]
        if tokens[index].text == kernel and before.text == "void" and after.text == "(":
            return words[place + 1]
    raise UserError(f"kernel: found no `void {kernel}(` in the text; name a kernel function that it defines.")


def _parameter(run: Sequence[Token], free: int) -> Parameter:
    """The parameter that a run of tokens declares; `free` is the next buffer index."""
    attribute, rest, index = "", list[Token](), 0
    while index < len(run):
        if run[index].text == "[[":
            end = after_attribute(run, index)
            attribute = joined(run[index + 1 : end - 2]).strip()
            index = end
        else:
            rest.append(run[index])
            index += 1
    name = [token.text for token in rest if token.kind == "word"][-1]
    stated = re.match(r"buffer\((\d+)\)", attribute)
    buffer = int(stated[1]) if stated else (None if attribute else free)
    return Parameter(name, joined(rest).strip(), "" if stated else attribute, buffer)
