"""The window's end of the pipe to the worker: starts it, talks with it, notices its end, and never waits for it."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, QProcess, QTimer, Signal, Slot

from mlxdecoder.app.protocol import Decoder, Message, ProtocolError, encode

BUDGET = 0.004  # s, for messages at a time, before events have their turn
PATIENCE, INSISTENCE = 5000, 1000  # ms for a worker to end by itself, and after it was told to
PATIENCE_AT_THE_END = 25_000  # ms: a training that is being saved must not be cut off
MOST_ERRORS = 2**16


def worker_command() -> list[str]:
    """How the worker is started: in a bundle it is the same program."""
    return [sys.executable, *([] if getattr(sys, "frozen", False) else ["-P", "-m", "mlxdecoder.app"]), "--worker"]


class WorkerClient(QObject):
    """A worker process. `errors` is the end of what it wrote on stderr."""

    received = Signal(object)  # a Message
    ended = Signal(str)  # why, for people; empty when it was asked to

    def __init__(self, command: Sequence[str] | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.errors = ""
        self._command = list(command or worker_command())
        self._process = QProcess(self)
        self._process.readyReadStandardOutput.connect(self._read)
        self._process.readyReadStandardError.connect(self._read_errors)
        self._process.finished.connect(self._finished)
        self._process.errorOccurred.connect(self._failed)
        self._decoder = Decoder()
        self._messages: deque[Message] = deque()
        self._wanted = self._again = False
        self._reproach = ""
        self._insist: deque[Callable[[], None]] = deque()
        self._impatience = self._timer(self._lose_patience)
        self._later = self._timer(self._deliver)

    @property
    def running(self) -> bool:
        return self._process.state() != QProcess.ProcessState.NotRunning

    @property
    def pid(self) -> int:
        """The number of the process; 0 when there is none."""
        return self._process.processId()

    def start(self) -> None:
        """Start the worker, if there is none."""
        if self.running:
            return
        self._decoder, self.errors, self._reproach = Decoder(), "", ""
        self._messages.clear()
        self._wanted = self._again = False
        self._process.start(self._command[0], self._command[1:])

    def send(self, message: Message) -> None:
        """Ask something of the worker; a worker that is not there is asked nothing."""
        if self.running and not self._wanted:
            self._process.write(encode(message))

    def stop(self) -> None:
        """Ask the worker to end; insist when it does not."""
        if self.running and not self._wanted:
            self._ask_to_end()
            self._insist = deque([self._process.terminate, self._process.kill])
            self._impatience.start(PATIENCE)

    def restart(self) -> None:
        """End the worker, whatever it does, and start another."""
        self._again = True
        self.stop()
        if not self.running:
            self.start()

    def shut_down(self) -> None:
        """End the worker and wait for it, when no window is left that could be held up; a training is saved first."""
        self._again = False
        if not self._wanted:
            self._ask_to_end()
        for patience, insist in (
            (PATIENCE_AT_THE_END, self._process.terminate),
            (INSISTENCE, self._process.kill),
        ):
            if not self.running or self._process.waitForFinished(patience):
                return
            insist()
        self._process.waitForFinished(INSISTENCE)

    def _ask_to_end(self) -> None:
        self.send(Message("quit"))
        self._wanted = True
        self._process.closeWriteChannel()

    def _timer(self, slot: Callable[[], None]) -> QTimer:
        timer = QTimer(self, singleShot=True)
        timer.timeout.connect(slot)
        return timer

    @Slot()
    def _lose_patience(self) -> None:
        if self.running and self._insist:
            self._insist.popleft()()
            self._impatience.start(INSISTENCE)

    @Slot()
    def _read(self) -> None:
        try:
            self._messages.extend(self._decoder.feed(bytes(self._process.readAllStandardOutput().data())))
        except ProtocolError as error:
            self._reproach = f"it said what cannot be understood: {error}"
            self._process.kill()
        self._deliver()

    @Slot()
    def _read_errors(self) -> None:
        text = bytes(self._process.readAllStandardError().data()).decode("utf-8", errors="replace")
        self.errors = (self.errors + text)[-MOST_ERRORS:]

    @Slot()
    def _deliver(self) -> None:
        end = time.perf_counter() + BUDGET
        while self._messages and time.perf_counter() < end:
            self._deliver_one()
        if self._messages:
            self._later.start(0)

    def _deliver_one(self) -> None:
        message = self._messages.popleft()
        # Of a worker that was asked to end, only what it saved is still of interest.
        if not self._wanted or message.kind in ("saved", "trained"):
            self.received.emit(message)

    @Slot(int, QProcess.ExitStatus)
    def _finished(self, code: int, status: QProcess.ExitStatus) -> None:
        self._impatience.stop()
        self._read()
        self._read_errors()
        while self._messages:
            self._deliver_one()
        crashed = status == QProcess.ExitStatus.CrashExit
        how = self._reproach or (f"signal {code}" if crashed else f"exit status {code}")
        lost = f"The process that computes has stopped unexpectedly ({how}); what you wrote is kept."
        self._end("" if self._wanted else lost)

    @Slot(QProcess.ProcessError)
    def _failed(self, error: QProcess.ProcessError) -> None:
        # Whatever else goes wrong ends the process, and is told then.
        if error == QProcess.ProcessError.FailedToStart:
            self._end(f"The worker could not be started: {self._process.errorString()}.")

    def _end(self, why: str) -> None:
        again = self._again
        self.ended.emit(why)
        if again:
            self.start()
