"""From the Metal shading language to C++17, token by token and line by line.

What C++ lacks is little: attributes, address spaces, literals that are floats, swizzles, and arrays that a threadgroup
shares. The library of the language is in `include/emulator/metal.h`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from .tokens import (
    DEFINE,
    SWIZZLE,
    Token,
    after_attribute,
    after_brackets,
    joined,
    next_that_matters,
    number_in_cpp,
    tokenise,
)

QUALIFIERS = frozenset({"device", "constant", "threadgroup", "thread", "kernel"})
OTHER_SPACES = QUALIFIERS - {"thread", "kernel"}
STATEMENT_ENDS = frozenset({";", "{", "}"})
DECLARATOR_ENDS = frozenset({";", ",", "=", "*", "&", "(", ":"})
ASSIGNMENTS = frozenset({"=", "+=", "-=", "*=", "/="})
FUNCTION_CONSTANT = re.compile(r"constant\s+(\w+)\s+(\w+)\s*\[\[\s*function_constant\s*\(\s*(\d+)\s*\)\s*\]\]\s*")
METAL_INCLUDE = re.compile(r'\s*#\s*include\s*[<"](metal|simd/)')

Step = tuple[str, int]
"""What a construct becomes, and the index of the first token after it."""


def translate(text: str, function_constants: Mapping[int, bool | int | float] | None = None) -> str:
    """The C++ for a text in the Metal shading language, with the same line numbers.

    Args:
        text: the text, whose own `#line` directives are kept.
        function_constants: the values of function constants by index; those that are missing are 0.
    """
    return _Translator(tokenise(text), function_constants or {}, ";").run()


class _Translator:
    def __init__(self, tokens: list[Token], function_constants: Mapping[int, bool | int | float], before: str) -> None:
        self.tokens = tokens
        self.function_constants = function_constants
        self.before = before  # the last token that matters,
        self.before_that = ""  # and the one before it
        self.scopes = list[bool]()  # for each open brace, whether it is a namespace
        self.in_namespace_head = False
        self.arrays = 0
        self.pieces = list[str]()
        self.statement = 0  # how many pieces there were when the current statement began

    def run(self) -> str:
        index = 0
        while index < len(self.tokens):
            piece, after = self.step(index)
            self.pieces.append(piece)
            for token in self.tokens[index:after]:
                self.note(token)
            index = after
        return "".join(self.pieces)

    def note(self, token: Token) -> None:
        """Keep track of where in the program the next token stands."""
        if token.text == "{":
            self.scopes.append(self.in_namespace_head)
        elif token.text == "}" and self.scopes:
            self.scopes.pop()
        if token.text in STATEMENT_ENDS or token.kind == "directive":
            self.statement = len(self.pieces)
        if token.text in ("{", ";"):
            self.in_namespace_head = False
        if token.text in ("namespace", '"C"'):
            self.in_namespace_head = True
        if token.matters:
            self.before_that = self.before
            self.before = ";" if token.kind == "directive" else token.text

    def step(self, index: int) -> Step:
        token = self.tokens[index]
        if token.kind == "number":
            return number_in_cpp(token.text), index + 1
        if token.kind == "directive":
            return _directive(token.text), index + 1
        if token.text == "[[":
            return self.blank(index, after_attribute(self.tokens, index))
        if token.kind != "word":
            return token.text, index + 1
        return self.word(index)

    def word(self, index: int) -> Step:
        text = self.tokens[index].text
        if self.before in STATEMENT_ENDS:
            constructs: dict[str, Callable[[int], Step | None]] = {
                "threadgroup": self.threadgroup_arrays,
                "constant": self.program_constant,
                "template": self.instantiation,
            }
            step = constructs[text](index) if text in constructs else None
            if step:
                return step
        if text in OTHER_SPACES and ")" in (self.before, self.before_that if self.before == "const" else ""):
            return self.member_of_other_space(index)
        if self.before in (".", "->") and SWIZZLE.fullmatch(text):
            return self.swizzle(index)
        return ("" if text in QUALIFIERS else text), index + 1

    def blank(self, start: int, end: int) -> Step:
        """Nothing but the lines that were there."""
        return "\n" * joined(self.tokens[start:end]).count("\n"), end

    def member_of_other_space(self, index: int) -> Step:
        """A member function that is qualified by an address space goes, with its body: that for `thread` serves all."""
        self.pieces[self.statement :] = ["\n" * "".join(self.pieces[self.statement :]).count("\n")]
        end = self.find(index, STATEMENT_ENDS)
        return self.blank(index, after_brackets(self.tokens, end) if self.tokens[end].text == "{" else end + 1)

    def find(self, index: int, texts: frozenset[str]) -> int:
        """The index of the next token with one of these texts; of the last token if there is none."""
        while index < len(self.tokens) - 1 and self.tokens[index].text not in texts:
            index += 1
        return index

    def swizzle(self, index: int) -> Step:
        text = self.tokens[index].text
        following = next_that_matters(self.tokens, index + 1)
        after = self.tokens[following].text if following < len(self.tokens) else ""
        if after == "(":
            return text, index + 1
        components = ", ".join(str(("xyzw" if text[0] in "xyzw" else "rgba").index(letter)) for letter in text)
        method = "assignable" if after in ASSIGNMENTS else "swizzle"
        return f"{method}(metal::at<{components}>{{}})", index + 1

    def threadgroup_arrays(self, index: int) -> Step | None:
        """`threadgroup T a[2], b;` as types and references to shared memory; None for pointers and references."""
        end = self.declarator_end(index + 1)
        if self.tokens[end].text in ("*", "&", "(", ":"):
            return None
        name = self.declared_name(index, end)
        element = self.without_qualifiers(index + 1, name)
        pieces = []
        while True:
            end = self.declarator_end(name + 1)
            pieces.append(self.shared(element, self.tokens[name].text, joined(self.tokens[name + 1 : end])))
            if self.tokens[end].text != ",":
                break
            name = next_that_matters(self.tokens, end + 1)
        if self.tokens[end].text == "=":
            return 'static_assert(false, "a threadgroup variable takes no initial value")', end
        lines = joined(self.tokens[index:end]).count("\n") - "".join(pieces).count("\n")
        return "".join(pieces) + "\n" * lines, end + 1

    def declarator_end(self, index: int) -> int:
        """The index of the token after a type, or after a declarator with its dimensions."""
        while index < len(self.tokens) - 1 and self.tokens[index].text not in DECLARATOR_ENDS:
            bracket = self.tokens[index].text in ("<", "[")
            index = after_brackets(self.tokens, index) if bracket else index + 1
        return min(index, len(self.tokens) - 1)

    def declared_name(self, start: int, end: int) -> int:
        """The index of the name in a declaration: the last word before its dimensions."""
        texts = [token.text for token in self.tokens[start:end]]
        dimensions = start + texts.index("[") if "[" in texts else end
        return max(place for place in range(start, dimensions) if self.tokens[place].kind == "word")

    def without_qualifiers(self, start: int, end: int) -> str:
        return joined([token for token in self.tokens[start:end] if token.text not in QUALIFIERS]).strip()

    def shared(self, element: str, name: str, dimensions: str) -> str:
        self.arrays += 1
        reference = f'emulator::threadgroup_array<emulator_{name}>({self.arrays}, "{name}")'
        return f"typedef {element} emulator_{name}{dimensions.rstrip()}; auto& {name} = {reference};"

    def program_constant(self, index: int) -> Step | None:
        """A constant at the scope of the program: a C++ constant, so that it can be the size of an array."""
        if not all(self.scopes):
            return None
        end = self.find(index, STATEMENT_ENDS | {"="})
        declared = FUNCTION_CONSTANT.fullmatch(joined(self.tokens[index:end]))
        if declared:
            value = self.function_constants.get(int(declared[3]), 0)
            return f"static constexpr {declared[1]} {declared[2]} = {declared[1]}({value:d})", end
        following = self.tokens[next_that_matters(self.tokens, index + 1)].text
        return ("static" if following == "const" else "static const"), index + 1

    def instantiation(self, index: int) -> Step | None:
        """An explicit instantiation for the host, which C++ would not know how to name, is left out."""
        following = next_that_matters(self.tokens, index + 1)
        if self.tokens[following].text != "[[":
            return None
        return self.blank(index, self.find(index, frozenset({";"})) + 1)


def _directive(text: str) -> str:
    """A preprocessor line; the body of a macro is translated, and Metal's own headers are always there."""
    if METAL_INCLUDE.match(text):
        return ""
    define = DEFINE.fullmatch(text)
    if not define or re.search(r"\bthreadgroup\b[^*&]*$", define["body"]):
        return text  # an array of a threadgroup in a macro stays as it is, and does not compile
    body = define["body"].replace("\\\n", " ")
    lines = "\n" * define["body"].count("\n")
    return define["head"] + _Translator(tokenise(body), {}, "").run() + lines
