"""A worker for tests that knows nothing of MLX: it does what it is told, good or bad."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from mlxdecoder.app.protocol import Decoder, Message, encode

GREETING = {"version": "0", "device": "CPU", "kernels": "off", "catalogue": [], "presets": []}


def main() -> None:
    """Greet, then answer `echo`, `flood`, `die`, `babble`, `complain`, `deafen` and `linger` until stdin ends."""
    decoder = Decoder()
    tell(Message("welcome", fields={**GREETING, "pid": os.getpid()}))
    while data := os.read(0, 65536):
        for message in decoder.feed(data):
            if message.kind == "quit":
                return
            act(message)


def act(message: Message) -> None:
    if message.kind == "echo":
        tell(Message("echoed", message.run, message.fields, message.arrays))
    elif message.kind == "flood":
        for number in range(message["count"]):
            tell(Message("drop", fields={"number": number}))
    elif message.kind == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    elif message.kind == "leave":
        os._exit(3)
    elif message.kind == "babble":
        os.write(1, b"\xff" * 64)
    elif message.kind == "complain":
        print("it hurts", file=sys.stderr, flush=True)
        os._exit(1)
    elif message.kind == "deafen":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        tell(Message("deaf"))
        time.sleep(3600)
    elif message.kind == "linger":
        tell(Message("lingers"))
        while os.read(0, 65536):
            pass
        time.sleep(0.3)
        Path(message["path"]).write_text("saved")
        os._exit(0)
    elif message.kind == "train":
        tell(Message("training", message.run, {"steps": 10, "rate": 0.0, "folder": message["folder"], "at": 0}))
        Path(message["folder"]).mkdir(parents=True, exist_ok=True)
        (Path(message["folder"]) / "run.json").write_text("{}")
        tell(Message("saved", message.run, {"step": 5, "path": f"{message['folder']}/step-0000005"}))


def tell(message: Message) -> None:
    os.write(1, encode(message))


if __name__ == "__main__":
    main()
