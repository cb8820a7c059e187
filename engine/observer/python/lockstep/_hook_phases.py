"""The phases of a hook of Lockstep's in a recorded run, as the engine's own runs have them."""

from __future__ import annotations

import sys
from typing import Any, Optional

from lockstep import _kinds
from lockstep._guard import guarded

_ENCODE, _DECODE = 1, 2  # of plugins/abi


class HookPhases:
    """Tells when a hook encodes, communicates and decodes: what it marks itself, or else its calls,
    and each of its operations. Where nobody records, it looks whether somebody does, and that is all.

    A moment is None where nobody records. [strand]
    """

    def __init__(self) -> None:
        self._steps: Any = None
        self._lane = 0

    def now(self) -> Optional[int]:
        steps = self._steps if self._steps is not None else self._find()
        return None if steps is None else int(steps.memory.ticks())

    def mark(self, run: Any, phase: int, begins: bool) -> None:
        """The hook says itself where a phase begins and ends."""
        if phase not in (_ENCODE, _DECODE):
            return
        run.marked = True
        began, run.mark_began = run.mark_began, self.now() if begins else None
        if not begins:
            self.tell(_kinds.HOOK_ENCODE if phase == _ENCODE else _kinds.HOOK_DECODE, run, began)

    @guarded
    def tell(self, kind: int, run: Any, began: Optional[int], size: int = -1) -> None:
        """A span until now; `size` in bytes, where it is not the bucket's."""
        if began is not None and self._steps is not None:
            self._steps.memory.ends(self._lane, kind, began, self._steps.number, run.bucket,
                                    run.size if size < 0 else size)

    @guarded
    def _find(self) -> Any:
        session = sys.modules.get("lockstep._session")
        here = getattr(session, "_session", None)
        if here is not None:
            self._lane = here.recorder.memory.lane("hook")
            self._steps = here.steps
        return self._steps
