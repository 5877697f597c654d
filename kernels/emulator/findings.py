"""What is wrong with a kernel, and the errors that say so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """A defect that showed in a launch.

    Args:
        kind: "out of bounds", "race", "uninitialised", "divergence", "simd", "limit", "unwritten", "read-only",
            "undefined", "misaligned", "timeout", "stack", or "order" where the two schedules gave different outputs.
        line: the line, from 1, in the kernel's source or in the file named by `file`; 0 where no line is to blame.
        text: that line, stripped.
        message: what happened, with buffer, index and thread.
        file: "source", "header", or the path of an included file.
    """

    kind: str
    line: int
    text: str
    message: str
    file: str = "source"

    def __str__(self) -> str:
        place = f" at {self.file} line {self.line} `{self.text}`" if self.line else ""
        return f"{self.kind}{place}: {self.message}"


class EmulatorError(RuntimeError):
    """A kernel did something wrong; the message has one line for each finding.

    Args:
        kernel: the kernel's name.
        findings: what was found, in the order in which it showed.
    """

    def __init__(self, kernel: str, findings: Sequence[Finding]) -> None:
        count = "1 finding" if len(findings) == 1 else f"{len(findings)} findings"
        super().__init__("\n".join([f"{kernel}: {count}", *map(str, findings)]))
        self.findings = tuple(findings)


class CompileError(RuntimeError):
    """A kernel does not compile; the message has the compiler's first errors with lines of the kernel's source."""
