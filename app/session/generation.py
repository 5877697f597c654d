"""What is generated, with the mistakes that are on and without, and what the heatmaps show of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlxdecoder.app.protocol import Message
from mlxdecoder.app.session.compared import Compared, compared_of
from mlxdecoder.app.session.recording import Picture, Recording, difference
from mlxdecoder.app.session.topics import Listener
from mlxdecoder.app.session.word_picture import MERGED_STAGES, merged

if TYPE_CHECKING:
    from mlxdecoder.app.session.session import Session

PURPOSES = ("wrong", "right", "pictures")


class Generation:
    """`recordings` has what each side wrote token by token, `compared` what both do when they read all at once.

    `seeks` says whether to turn to where a mistake shows, as soon as that is known.
    """

    def __init__(self, session: Session, tell: Listener) -> None:
        self.recordings: dict[str, Recording] = {}
        self.compared: Compared | None = None
        self.seeks = False
        self._unfit = ""  # what was said of the newest one that was refused
        self._session, self._tell = session, tell

    # What is asked and told -------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Generate anew, with the mistakes that are on, and beside it without; then compare the two."""
        requests, document = self._session.requests, self._session.document
        requests.cancel(*PURPOSES)
        self.recordings, self.compared = {"wrong": Recording()}, None
        if self._unfit and self._session.notice == self._unfit:
            self._session.say("")
        requests.ask("generate", "wrong", **self._wanted(document.mistakes))
        if document.mistakes:
            self.recordings["right"] = Recording()
            requests.ask("generate", "right", **self._wanted(()))
            requests.ask("compare", "pictures", sentence=document.sentence, mistakes=list(document.mistakes))
        self._tell("recording")

    def take(self, purpose: str, message: Message) -> None:
        """What the worker tells of one side, or of both compared."""
        if purpose == "pictures":
            self.compared = compared_of(message)
            self._look_where_it_shows()
            self._tell("recording")
            return
        self.recordings[purpose].take(message)
        self._session.requests.confirm(message)
        self._tell("token" if message.kind == "token" else "recording")

    def refused(self, purpose: str, message: Message) -> None:
        """One side will not be generated."""
        self.recordings[purpose].reason, self._unfit = "refused", message["message"]
        self._tell("recording")

    def _wanted(self, mistakes: tuple[str, ...]) -> dict[str, Any]:
        document = self._session.document
        return {
            "sentence": document.sentence,
            "forced": {str(step): token for step, token in document.forced.items()},
            "sampling": vars(document.sampling).copy(),
            "mistakes": list(mistakes),
            "max_tokens": None,
        }

    def _look_where_it_shows(self) -> None:
        """After a mistake was switched on: turn to weight outside the mask, else to where most has changed."""
        if self.compared is None or not (self.seeks and self.reads_at_once):
            return
        self.seeks = False
        self._session.look(kind=self.compared.kind_to_look_at(self._session.document.view.kind))

    # What is shown ----------------------------------------------------------------------------------------------

    def picture(self, side: str | None = None, *, whole: bool = False) -> Picture | None:
        """What the heatmaps show now, of one side or of the one that is chosen; `whole` with the steps after it too.

        "change" is the mistaken minus the right one; without the right one there is none.
        """
        side = side or self._session.document.view.side
        found = self._difference(whole) if side == "change" else self._picture(side, whole)
        return merged(found) if self.merges_words and found is not None and found.values.size else found

    @property
    def merges_words(self) -> bool:
        """Whether the heatmaps show words instead of pieces."""
        view = self._session.document.view
        return view.words and view.stage in MERGED_STAGES

    @property
    def reads_at_once(self) -> bool:
        """Whether the heatmaps are of all tokens read together: many mistakes do not show one token at a time."""
        view = self._session.document.view
        return self.compared is not None and view.at_once and view.stage == "weights"

    def reach(self) -> float:
        """The largest size of any value of the kind and stage that are looked at, on either side."""
        view = self._session.document.view
        return max((one.reach(view.kind, view.stage) for one in self.recordings.values()), default=0.0)

    def _difference(self, whole: bool) -> Picture | None:
        pair = [self._picture(one, whole) for one in ("right", "wrong")]
        return difference(*pair) if "right" in self.recordings and all(pair) else None  # type: ignore[arg-type]

    def _picture(self, side: str, whole: bool) -> Picture | None:
        view = self._session.document.view
        if self.compared is not None and self.reads_at_once:
            found = self.compared.sides[side].get(view.kind)
        else:
            recording = self.recordings.get(side) or self.recordings.get("wrong")
            rows = None if whole or view.step is None else view.step + 1
            found = recording.picture(view.kind, view.stage, rows) if recording else None
        return found.averaged if found is not None and view.average else found
