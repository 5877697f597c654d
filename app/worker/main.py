"""The process of the worker: frames come in on stdin and go out on stdout; it ends with the window, at the latest."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable

from mlxdecoder.app.protocol import Decoder, Message, ProtocolError, encode
from mlxdecoder.app.worker.link import Inbox

CHUNK = 2**16
GRACE, GRACE_TO_SAVE = 0.8, 20.0  # seconds for what runs to end by itself


def run() -> int:
    """Serve the window until it goes; gives the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal is for the window, which then ends us
    source, sink = _take_pipes()
    inbox, done = Inbox(), threading.Event()
    send = _sender(sink, inbox)
    threading.Thread(target=_read, args=(source, inbox, send, done), daemon=True).start()
    try:
        _serve(inbox, send)
    finally:
        done.set()
    return 0


def _serve(inbox: Inbox, send: Callable[[Message], None]) -> None:
    from mlxdecoder.app.worker.welcome import welcome  # from here on MLX is loaded

    send(welcome())
    # What a first picture needs is loaded while the window thinks of what to ask.
    from mlxdecoder.app.worker import generation, opening  # noqa: F401
    from mlxdecoder.app.worker.engine import Engine
    from mlxdecoder.app.worker.loop import Loop

    Loop(Engine(), inbox, send).run()


def _take_pipes() -> tuple[int, int]:
    """The pipes for ourselves: what anybody prints goes to stderr, and nobody else reads what is meant for us."""
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return source, sink


def _sender(sink: int, inbox: Inbox) -> Callable[[Message], None]:
    """Whole frames, from any thread; when nobody reads them any more, what runs is to end, and may save first."""
    lock = threading.Lock()

    def send(message: Message) -> None:
        frame = memoryview(encode(message))
        try:
            with lock:
                while frame:
                    frame = frame[os.write(sink, frame) :]
        except BrokenPipeError:
            inbox.close()

    return send


def _read(source: int, inbox: Inbox, send: Callable[[Message], None], done: threading.Event) -> None:
    """The thread that reads; when there is nothing more to read, it sees to it that the process ends."""
    decoder = Decoder()
    try:
        while not inbox.closed and (data := os.read(source, CHUNK)):
            for message in decoder.feed(data):
                inbox.put(message)
    except ProtocolError as error:
        send(Message("broken", fields={"message": str(error), "details": ""}))
    finally:
        inbox.close()
        if not done.wait(GRACE) and not (inbox.has_saving() and done.wait(GRACE_TO_SAVE)):
            os._exit(0)  # nothing but what saves has anything to lose
