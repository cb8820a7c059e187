"""Where a rank hangs: what its threads run, once nothing has ended for a while."""

from __future__ import annotations

import os
import sys
import threading
import traceback
from typing import Any, List

VARIABLE = "LOCKSTEP_STALL_SECONDS"
_PATIENCE = 60.0  # seconds
_FRAMES = 8       # of the training thread, the innermost


def watch(recorder: Any, steps: Any) -> None:
    """Tells, once a stall, where the training thread is; LOCKSTEP_STALL_SECONDS=0: never."""
    try:
        patience = float(os.environ.get(VARIABLE, _PATIENCE))
    except ValueError:
        patience = _PATIENCE
    if patience > 0:
        threading.Thread(target=_watch, args=(recorder, steps, patience), daemon=True,
                         name="lockstep stall").start()


def _watch(recorder: Any, steps: Any, patience: float) -> None:
    pause = threading.Event()
    pid = os.getpid()
    last, told = steps.progress, False
    while not pause.wait(patience) and os.getpid() == pid:
        if steps.progress != last:
            last, told = steps.progress, False
        elif last > 0 and not told:
            told = True
            recorder.send("problem", severity="warning", step=steps.number, text=(
                f"nothing of iteration {steps.number} has ended for {patience:g} s and more; the "
                f"rank is in {stack()}"))


def stack() -> str:
    """Where the main thread is, from the inside out: "wait (loader.py:12), main (train.py:40)"."""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    if frame is None:
        return "no Python code"
    places: List[str] = []
    for at in reversed(traceback.extract_stack(frame)):
        places.append(f"{at.name} ({os.path.basename(at.filename)}:{at.lineno})")
    more = len(places) - _FRAMES
    return ", ".join(places[:_FRAMES]) + (f", and {more} more frames" if more > 0 else "")
