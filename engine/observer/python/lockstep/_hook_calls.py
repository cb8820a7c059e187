"""What a plugin calls (native/hook_tables.c), and what it is told."""

from __future__ import annotations

import collections
import logging
import threading
from typing import Any, Callable, Deque, Dict, List, Optional, Tuple

import torch

from lockstep import _hook_collectives, _hook_host, _hook_memory, _kinds
from lockstep._hook_memory import E_ARGUMENT, E_UNSUPPORTED, OK, Buffer, Refusal
from lockstep._hook_phases import HookPhases

_REMEMBERED = 64  # runs that have ended, so that a call on one of them can be told
_log = logging.getLogger("lockstep")


class Run(_hook_host.Run):
    """One call of a hook on one bucket, until it completes. Touched on the strand alone."""

    def __init__(self, place: str, flat: Any, bucket: int) -> None:
        self.place = place
        self.flat = flat
        self.bucket = bucket
        self.size = flat.numel() * flat.element_size()
        self.promise = torch.futures.Future()
        self.scratch: List[Any] = []
        self.operations: Deque[Any] = collections.deque()
        self.no_more = False
        self.delivered = False
        self.ended = False
        self.marked = False          # the plugin marks its phases itself
        self.queued_in_call = False  # in the call into the plugin that is going on
        self.call_began: Optional[int] = None
        self.mark_began: Optional[int] = None


class PluginCalls:
    """The half of a Session that is called by its plugin. [strand], except what says otherwise."""

    def __init__(self, name: str, group: Any, subgroup: Callable[[List[int]], Any],
                 strand: Any) -> None:
        self.id = name
        self._world = group
        self._make_subgroup = subgroup
        self._strand = strand
        self._memory = _hook_memory.KeptMemory()
        self._phases = HookPhases()
        self._runs: List[Run] = []
        self._graveyard: Deque[Run] = collections.deque(maxlen=_REMEMBERED)
        self._lock = threading.Lock()  # guards what follows
        self._reason = ""
        self.counters: Dict[str, float] = {}

    # -- what the session does of it --------------------------------------------------------------

    def _live(self, run: Run, function: str) -> bool:
        """Whether a run may be used; else the hook has misbehaved and is done with."""
        if any(other is run for other in self._runs):
            return True
        self._break_down(None, f"it called {function}() for {run.place} after that had ended",
                         False)
        return False

    def _break_down(self, run: Optional[Run], why: str, cancel: bool) -> None:
        raise NotImplementedError

    def _deliver(self, run: Run) -> None:
        raise NotImplementedError

    def _finish(self, run: Run, error: Any) -> None:
        raise NotImplementedError

    def _take_reason(self) -> str:
        with self._lock:
            reason, self._reason = self._reason, ""
        return reason

    def _refuse(self, where: str, error: BaseException) -> int:
        """By what was raised in a call of the hook's: `where` is which function refuses."""
        status = _hook_memory.status_of(error)
        if status is None:
            raise error
        with self._lock:
            self._reason = f"{where}: {first_line(error)}" if where else first_line(error)
        return status

    def _tensor(self, buffer: Optional[Buffer]) -> Any:
        if buffer is None:
            return None
        tensor = _hook_memory.tensor_of(buffer)
        pieces = self._memory.pieces()
        if self._strand.is_here():
            for run in self._runs:
                if run.flat is not None:
                    pieces.append(_hook_memory.piece(run.place, run.flat))
                pieces += [_hook_memory.piece(f"scratch memory of {run.place}", memory)
                           for memory in run.scratch]
        _hook_memory.require_inside(buffer, pieces)
        return tensor

    # -- the calls --------------------------------------------------------------------------------

    def collective(self, group: Any, run: Run, name: str, stage: int, first: Optional[Buffer],
                   second: Optional[Buffer], extra: Any) -> int:
        try:
            if not self._live(run, name):
                return E_ARGUMENT
            tensors = [self._tensor(first)]
            if name in ("all_gather", "reduce_scatter", "all_to_all", "exchange"):
                tensors.append(self._tensor(second))
            arguments = [] if extra is None else [extra]
            operation = getattr(_hook_collectives, name)(group or self._world, stage, *tensors,
                                                         *arguments)
        except Exception as error:  # noqa: BLE001 - the plugin is told
            return self._refuse(name, error)
        if run.no_more:
            return self._refuse("", Refusal("an operation was queued after no_more()"))
        if not run.queued_in_call and not run.marked:
            self._phases.tell(_kinds.HOOK_ENCODE, run, run.call_began)
        run.queued_in_call = True
        run.operations.append(operation)
        return OK

    def scratch(self, run: Run, numel: int, dtype: int) -> Tuple[int, int]:
        try:
            if not self._live(run, "scratch"):
                return E_ARGUMENT, 0
            if numel < 0:
                raise Refusal(f"it asked for {numel} elements of scratch memory")
            memory = torch.empty(numel, dtype=_hook_memory.dtype_of(dtype))
        except Exception as error:  # noqa: BLE001 - the plugin is told
            return self._refuse("scratch", error), 0
        run.scratch.append(memory)
        return OK, memory.data_ptr()

    def math(self, name: str, buffers: Tuple[Buffer, ...], numbers: Tuple[float, ...]) -> int:
        try:
            with torch.no_grad():
                _hook_memory.calculate(name, [self._tensor(buffer) for buffer in buffers], numbers)
        except Exception as error:  # noqa: BLE001 - the plugin is told
            return self._refuse(f"math: {name}", error)
        return OK

    def allocate(self, like: Buffer, numel: int, dtype: int) -> Tuple[int, int]:
        try:
            if like[3] != _hook_memory.CPU:
                raise Refusal(f"{like[3]} is no device of this host", E_UNSUPPORTED)
            return OK, self._memory.allocate(numel, dtype)
        except Exception as error:  # noqa: BLE001 - the plugin is told
            return self._refuse("math: allocate", error), 0

    def release(self, address: int) -> None:
        self._memory.release(address)

    def subgroup(self, ranks: List[int]) -> Tuple[int, Any, int, int]:
        try:
            group = self._make_subgroup(ranks)
        except Exception as error:  # noqa: BLE001 - the plugin is told
            return self._refuse("subgroup", error), None, -1, 0
        return OK, group, group.rank, group.size

    def mark(self, run: Run, phase: int, begin: int) -> None:
        if self._live(run, "mark"):
            self._phases.mark(run, phase, bool(begin))

    def counter(self, run: Run, key: Optional[str], value: float) -> None:
        if self._live(run, "counter") and key is not None:
            with self._lock:
                self.counters[key] = self.counters.get(key, 0.0) + value

    def no_more(self, run: Run) -> None:
        if self._live(run, "no_more"):
            run.no_more = True

    def result_ready(self, run: Run) -> None:
        if self._live(run, "result_ready") and not run.delivered:
            self._deliver(run)

    def complete(self, run: Run) -> None:
        if not self._live(run, "complete"):
            return
        if run.operations:
            self._break_down(run, f"{run.place}: it called complete() while {len(run.operations)} of "
                             "its operations had not been resumed", False)
            return
        if not run.queued_in_call and not run.marked:
            self._phases.tell(_kinds.HOOK_DECODE, run, run.call_began)
        self._finish(run, None)

    def fail(self, address: int, status: int, text: Optional[str]) -> None:
        """Of the run there, or, with 0, of the call that goes on. [any-thread]"""
        reason = self._take_reason()  # why the host refused what the hook then gave up on
        whole = f"{text or ''}: {reason}" if reason else text or f"status {status}"
        if address == 0:
            with self._lock:
                self._reason = whole
            return

        def task() -> None:
            known = [run for run in (*self._runs, *self._graveyard) if run.address() == address]
            if not known:
                self._break_down(None, "it called fail() with a run that is none", False)
            elif self._live(known[0], "fail"):
                self._break_down(known[0], f"{known[0].place}: {whole}", False)

        if self._strand.is_here():
            task()
        else:
            self._strand.post(task)

    def log(self, level: int, text: Optional[str]) -> None:
        """[any-thread]"""
        _log.log(logging.WARNING if level == 2 else logging.INFO, "hook %s: %s", self.id, text)


def first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
