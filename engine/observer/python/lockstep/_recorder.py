"""The road to the recorder: Note [Attaching] of engine/launch/detail/Attaching.h."""

from __future__ import annotations

import array
import json
import os
import socket
from typing import Any

VARIABLE = "LOCKSTEP_ATTACH"
_PROTOCOL = 1
_PATIENCE = 10.0  # seconds for an answer


def is_recorded() -> bool:
    """Whether this process was started under ``lockstep record``."""
    return bool(os.environ.get(VARIABLE))


class Refused(Exception):
    """The recorder will not have this process, and says why."""


class Recorder:
    """The event memory of this process, and the first step that it may write."""

    def __init__(self, rank: int, world_size: int):
        from lockstep import _native

        fd, answer = _ask(rank, world_size)
        try:
            self.memory = _native.Memory(fd, answer["clock"] == "tsc")
        finally:
            os.close(fd)
        self.first_step: int = int(answer.get("step", 0))
        self.nccl: Any = None  # NCCL's profiler plugin, where it is joined

    def send(self, kind: str, **content) -> None:
        """Sends one of the messages of engine/trace/Messages.h."""
        self.memory.send(json.dumps({"type": kind, **content}))


def _ask(rank: int, world_size: int) -> tuple:
    hello = {"lockstep": _PROTOCOL, "rank": rank, "world_size": world_size}
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_PATIENCE)
        connection.connect(os.environ[VARIABLE])
        connection.sendall(json.dumps(hello).encode() + b"\n")
        return _answer(connection)


def _answer(connection: socket.socket) -> tuple:
    text, descriptors = b"", array.array("i")
    while not text.endswith(b"\n"):
        part, control, _, _ = connection.recvmsg(4096, socket.CMSG_SPACE(descriptors.itemsize))
        if not part:
            raise Refused("the recorder closed the connection")
        text += part
        for level, kind, data in control:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
    answer = json.loads(text)
    if not answer.get("ok"):
        for fd in descriptors:
            os.close(fd)
        raise Refused(str(answer.get("error", "no reason given")))
    if len(descriptors) != 1:
        raise Refused("no event memory came with the recorder's answer")
    return descriptors[0], answer
