"""How this process ends: whether its work was done, or which error ended it."""

from __future__ import annotations

import atexit
import sys


def install(recorder, finish=lambda: None) -> None:
    """Tells the recorder as Python ends; calls `finish` before that, whatever the reason."""
    memory = recorder.memory
    failed = []
    before = sys.excepthook

    def excepthook(kind, value, traceback):
        failed.append(kind)
        memory.error(f"{kind.__name__}: {value}" if str(value) else kind.__name__)
        before(kind, value, traceback)

    def at_exit():
        finish()
        # sys.exit(3) comes here without an error's text: the exit code is the command's to tell.
        if not failed:
            memory.finished()

    sys.excepthook = excepthook
    atexit.register(at_exit)
