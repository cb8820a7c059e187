"""The threads of a hook: one that calls it, one that waits for its operations, one that looks on."""

from __future__ import annotations

import queue
import threading
import time
from typing import Any, Callable, Dict, Optional, Tuple


class Strand:
    """One thread that runs what is posted to it, in that order."""

    def __init__(self, name: str) -> None:
        self._tasks: "queue.SimpleQueue[Optional[Callable[[], None]]]" = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def post(self, task: Callable[[], None]) -> None:
        self._tasks.put(task)

    def is_here(self) -> bool:
        return threading.current_thread() is self._thread

    def end(self, seconds: float) -> bool:
        """When what was posted is done. Returns whether it has ended."""
        self._tasks.put(None)
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _work(self) -> None:
        while True:
            task = self._tasks.get()
            if task is None:
                return
            task()


class Watch:
    """Tells of what does not end within its time: calls of `late` with what was begun."""

    def __init__(self, limit: float, late: Callable[[Any], None]) -> None:
        self.limit = limit
        self._late = late
        self._changed = threading.Condition()
        self._open: Dict[int, Tuple[float, Any]] = {}
        self._closing = False
        threading.Thread(target=self._work, name="lockstep watch", daemon=True).start()

    def begin(self, what: Any) -> None:
        with self._changed:
            self._open[id(what)] = (time.monotonic() + self.limit, what)
            if len(self._open) == 1:
                self._changed.notify()  # else an earlier one ends the thread's sleep

    def end(self, what: Any) -> None:
        with self._changed:
            self._open.pop(id(what), None)

    def close(self) -> None:
        with self._changed:
            self._closing = True
            self._changed.notify()

    def _work(self) -> None:
        while True:
            with self._changed:
                if self._closing:
                    return
                now = time.monotonic()
                due = [key for key, (deadline, _) in self._open.items() if deadline <= now]
                late = [self._open.pop(key)[1] for key in due]
                if not late:
                    # All have one limit: the first to begin is the first to be due.
                    deadline = next((at for at, _ in self._open.values()), None)
                    self._changed.wait(None if deadline is None else deadline - now)
            for what in late:
                self._late(what)
