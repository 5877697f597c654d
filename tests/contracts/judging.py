"""What the collections of right and wrong code are judged by."""

from __future__ import annotations

from mlxdecoder.contracts import Diagnosis, diagnose
from tests.wild import Wild

# Two entries of the catalogue that no black box of that kind can tell from one another, and which is named first:
# a fill of -1e-9 hides as little as no mask; an inverted mask of -inf is the transposed one without its diagonal; a
# decoder sees the same padding whichever axis its mask is on; a mask that hides nothing of what it should is no mask;
# -inf everywhere gives NaN whoever wrote it.
TWINS = {7: {1}, 8: {2, 4}, 10: {9}, 2: {1}}


def judge(entry: Wild, seed: int = 0) -> Diagnosis:
    return diagnose(entry.make(seed), entry.kind, **entry.options)


def assert_right(entry: Wild, found: Diagnosis) -> None:
    """No alarm, apart from what the entry itself says of rows that see nothing."""
    signs = frozenset().union(*(report.signs for report in found.reports))
    assert signs <= entry.blemishes, str(found)


def assert_found(entry: Wild, found: Diagnosis) -> None:
    """It fails, and its mistake is among the three suspects: the first, unless it has a twin."""
    assert not found.holds, str(found)
    suspects = [suspect.mistake.number for suspect in found.suspects]
    if entry.mistake:
        assert entry.mistake in suspects, str(found)
        before = set(suspects[: suspects.index(entry.mistake)])
        assert before <= TWINS.get(entry.mistake, set()), str(found)
