"""One hook of a plugin at work: its runs, their order, what it asks for. As engine/hooks/plugin.

Note [The order of a plugin's operations] of engine/hooks/plugin/detail/PluginSession.h: operations
are not started where they are queued. Runs stand in a line in the order of their buckets; only the
first that has not said no_more() starts operations, in the order in which it queued them, and its
continuations run in that order, too. So each rank starts the same ones in the same order.
"""

from __future__ import annotations

import collections
import logging
import threading
from typing import Any, Callable, Deque, Dict, List, Optional, Tuple

import torch

from lockstep import _hook_collectives, _hook_host, _hook_memory
from lockstep._hook_library import Description, HookError, Library, Value
from lockstep._hook_memory import E_ARGUMENT, E_UNSUPPORTED, OK, Buffer, Refusal
from lockstep._hook_threads import Strand, Watch

_REMEMBERED = 64      # runs that have ended, so that a call on one of them can be told
_LEAVING = 1.0        # seconds that a hook has to end
_log = logging.getLogger("lockstep")


class Run(_hook_host.Run):
    """One call of a hook on one bucket, until it completes. Touched on the strand alone."""

    def __init__(self, place: str, flat: Any) -> None:
        self.place = place
        self.flat = flat
        self.promise = torch.futures.Future()
        self.scratch: List[Any] = []
        self.operations: Deque[Any] = collections.deque()
        self.no_more = False
        self.delivered = False
        self.ended = False


class Session:
    """[strand], except what says otherwise."""

    def __init__(self, library: Library, description: Description, values: List[Value], group: Any,
                 subgroup: Callable[[List[int]], Any], limit: float) -> None:
        """Makes the hook. Collective. Raises HookError with the plugin's sentence."""
        self.id = description.id
        self._world = group
        self._make_subgroup = subgroup
        self._strand = Strand(f"lockstep {self.id}")
        self._waiter = Strand(f"lockstep {self.id} waits")
        self._watch = Watch(limit, self._late)
        self._memory = _hook_memory.KeptMemory()
        self._runs: List[Run] = []
        self._line: Deque[Run] = collections.deque()
        self._graveyard: Deque[Run] = collections.deque(maxlen=_REMEMBERED)
        self._deliveries: List[Run] = []
        self._in_call = False
        self._outstanding = 0
        self._lock = threading.Lock()  # guards what follows
        self._reason = ""
        self._failure = ""
        self._inside = ""
        self.sent_bytes = 0
        self.counters: Dict[str, float] = {}
        self._host = _hook_host.Host(library.native, self, group.rank, group.size)
        self._made = False
        try:
            self._create(values)
        except HookError:
            self.close()
            raise

    def _create(self, values: List[Value]) -> None:
        status = self._call("create", lambda: self._host.create(self.id, values))
        if status != OK:
            why = "its table lacks run, resume or destroy" if status is None else (
                self._take_reason() or f"status {status}")
            raise HookError(f"hook '{self.id}' could not be created: {why}")
        self._made = True

    # -- from the job's threads -------------------------------------------------------------------

    def prepare(self, place: str, flat: Any) -> Tuple[Run, Any]:
        """A run for begin(), and a future of its result. [any-thread]"""
        self.require_usable()
        run = Run(place, flat)
        return run, run.promise.then(_unpack)

    def begin(self, run: Run, bucket: Any, flags: int, step: int, divisor: float) -> None:
        """Hands a bucket to the hook. [any-thread]"""
        address, numel = run.flat.data_ptr(), run.flat.numel()
        number = _hook_memory.NUMBERS[run.flat.dtype]
        self._watch.begin(run)

        def call() -> int:
            return self._host.run(run, bucket, flags, step, divisor, address, numel, number)

        def task() -> None:
            if self._failure:
                self._finish(run, HookError(self._failure))
                return
            self._runs.append(run)
            self._line.append(run)
            self._carry_out(run, lambda: self._enter(run, call))

        self._strand.post(task)

    def require_usable(self) -> None:
        """Raises HookError when the hook has failed before. [any-thread]"""
        if self._failure:
            raise HookError(self._failure)

    def ask(self, doing: str, call: Callable[[], Any]) -> Any:
        """Makes a call of the hook that has no run, between steps. [any-thread]"""
        self.require_usable()
        answer = self._call(doing, call)
        status = answer[0] if isinstance(answer, tuple) else answer
        if isinstance(status, int) and not isinstance(status, bool) and status != OK:
            reason = self._take_reason() or f"it returned status {status}"
            raise HookError(f"hook '{self.id}': {doing}: {reason}")
        return answer

    @property
    def host(self) -> Any:
        return self._host

    def close(self) -> bool:
        """Destroys the hook, once its operations have ended. Returns whether it did, within a
        second; a hook that hangs is left behind. [any-thread]"""
        ended = threading.Event()

        def leave() -> None:
            for run in list(self._runs):
                self._break_down(run, "the run has ended", True)
            # What is still on its way writes into memory of the hook's.
            if self._outstanding == 0 and self._made:
                self._host.destroy()
            if self._outstanding == 0:
                ended.set()

        def wait() -> None:
            self._strand.post(leave)

        self._waiter.post(wait)  # behind all that it waits for
        done = ended.wait(_LEAVING)
        self._watch.close()
        if done:
            self._waiter.end(_LEAVING)
            self._strand.end(_LEAVING)
        else:
            _left_behind.append(self)
        self._failure = self._failure or f"hook '{self.id}': it was closed"
        return done

    def _call(self, doing: str, call: Callable[[], Any]) -> Any:
        """A call of the hook behind all that the strand was given, on a thread that may be left
        behind. Raises what the call raises, and HookError where it does not come back.

        Runs that are open after result_ready() go on meanwhile, and the call may wait for them.
        """
        through, done = threading.Event(), threading.Event()
        outcome: List[Any] = []

        def task() -> None:
            try:
                outcome.append((call(), None))
            except Exception as error:  # noqa: BLE001 - raised where it was asked for
                outcome.append((None, error))
            done.set()

        self._strand.post(through.set)
        if through.wait(self._watch.limit):
            threading.Thread(target=task, name=f"lockstep {self.id} {doing}", daemon=True).start()
        if not done.wait(self._watch.limit if through.is_set() else 0):
            text = f"hook '{self.id}': {doing}: it did not come back within {self._watch.limit:g} s"
            self._failure = self._failure or text
            raise HookError(text)
        result, error = outcome[0]
        if error is not None:
            raise error
        return result

    def _late(self, run: Run) -> None:
        """[watch]: the strand may hang in the plugin for good."""
        place = self._inside or run.place
        text = f"hook '{self.id}': {place}: it gave no result within {self._watch.limit:g} s"
        with self._lock:
            self._failure = self._failure or text
        self._deliver_once(run, HookError(self._failure))

    # -- runs -------------------------------------------------------------------------------------

    def _live(self, run: Run, function: str) -> bool:
        """Whether a run may be used; else the hook has misbehaved and is done with."""
        if any(other is run for other in self._runs):
            return True
        self._break_down(None, f"it called {function}() for {run.place} after that had ended",
                         False)
        return False

    def _enter(self, run: Run, call: Callable[[], int]) -> None:
        self._inside = run.place
        self._in_call = True
        status = call()
        self._in_call = False
        self._inside = ""
        reason = self._take_reason()
        if not run.ended and status != OK:
            self._break_down(run, f"{run.place}: {reason or f'it returned status {status}'}", False)
        self._deliver_all()
        self._start_operations()

    def _carry_out(self, run: Run, task: Callable[[], None]) -> None:
        """Does a task of the strand; what it raises ends the run."""
        try:
            task()
        except Exception as error:  # noqa: BLE001 - becomes the run's
            self._in_call = False
            self._break_down(run, f"{run.place}: {_first_line(error)}", True)

    def _start_operations(self) -> None:
        while self._line:
            run = self._line[0]
            for operation in list(run.operations):
                if not operation.started:
                    self._start(run, operation)
                    if run.ended:
                        return
                if operation.exclusive and not operation.ended:
                    return
            if not (run.no_more or run.ended):
                return
            self._line.popleft()

    def _start(self, run: Run, operation: Any) -> None:
        try:
            operation.start()
        except Exception as error:  # noqa: BLE001 - a collective that cannot begin
            self._comm_failed(run, operation, error)
            return
        self._outstanding += 1
        self.sent_bytes += operation.sent

        def wait() -> None:
            failure = None
            try:
                operation.wait()
            except Exception as error:  # noqa: BLE001 - a collective that failed
                failure = error
            self._strand.post(lambda: self._ended(run, operation, failure))

        self._waiter.post(wait)

    def _comm_failed(self, run: Run, operation: Any, error: BaseException) -> None:
        if not run.ended:
            self._break_down(run, f"{run.place}: {operation.name}: {_first_line(error)}", True)

    def _ended(self, run: Run, operation: Any, failure: Optional[BaseException]) -> None:
        self._outstanding -= 1
        operation.ended = True
        if run.ended:
            return
        if failure is not None:
            self._comm_failed(run, operation, failure)
            return
        self._carry_out(run, lambda: self._resume_ended(run))

    def _resume_ended(self, run: Run) -> None:
        while not run.ended and run.operations and run.operations[0].ended:
            stage = run.operations.popleft().stage
            self._enter(run, lambda: self._host.resume(run, stage))
        self._start_operations()

    def _finish(self, run: Run, error: Optional[HookError]) -> None:
        run.ended = True
        self._runs = [other for other in self._runs if other is not run]
        if error is not None or not run.operations:
            self._line = collections.deque(other for other in self._line if other is not run)
        self._graveyard.append(run)
        if not any(operation.started and not operation.ended for operation in run.operations):
            run.scratch.clear()  # else operations may still be at work in it
        if error is not None:
            self._deliver_once(run, error)
        elif not run.delivered:
            self._deliver(run)

    def _break_down(self, run: Optional[Run], why: str, cancel: bool) -> None:
        """Ends the run, and all others, with the sentence: the hook is done with. `cancel`: whether
        the hook has to be told of the run's end."""
        with self._lock:
            self._failure = self._failure or f"hook '{self.id}': {why}"
        error = HookError(self._failure)
        ending, self._runs = self._runs, []
        self._line.clear()
        for other in ending:
            if other is not run or cancel:
                self._host.cancel(other)
            self._finish(other, error)

    def _deliver(self, run: Run) -> None:
        """Whoever gets the result may call the hook, so that no call of it may be going on."""
        self._deliveries.append(run)
        if not self._in_call:
            self._deliver_all()

    def _deliver_all(self) -> None:
        ready, self._deliveries = self._deliveries, []
        for run in ready:
            self._deliver_once(run, run.flat)

    def _deliver_once(self, run: Run, result: Any) -> None:
        """[any-thread]"""
        with self._lock:
            late, run.delivered = run.delivered, True
            run.flat = None
        self._watch.end(run)
        if not late:
            run.promise.set_result(result)

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
            self._reason = f"{where}: {_first_line(error)}" if where else _first_line(error)
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

    # -- what the plugin calls (hook_tables.c) ------------------------------------------------------

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
        """Phases are not recorded here."""
        self._live(run, "mark")

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


_left_behind: List[Session] = []  # operations may yet write into memory of theirs


def _unpack(future: Any) -> Any:
    value = future.value()
    if isinstance(value, BaseException):
        raise value
    return value


def _first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
