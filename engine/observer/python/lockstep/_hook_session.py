"""One hook of a plugin at work: its runs, their order, what it asks for. As engine/hooks/plugin.

Note [The order of a plugin's operations] of engine/hooks/plugin/detail/PluginSession.h: operations
are not started where they are queued. Runs stand in a line in the order of their buckets; only the
first that has not said no_more() starts operations, in the order in which it queued them, and its
continuations run in that order, too. So each rank starts the same ones in the same order.
"""

from __future__ import annotations

import collections
import threading
from typing import Any, Callable, Deque, List, Optional, Tuple

from lockstep import _hook_host, _hook_memory, _kinds
from lockstep._hook_calls import PluginCalls, Run, first_line
from lockstep._hook_library import Description, HookError, Library, Value
from lockstep._hook_memory import OK
from lockstep._hook_threads import Strand, Watch

_LEAVING = 1.0  # seconds that a hook has to end


class Session(PluginCalls):
    """[strand], except what says otherwise."""

    def __init__(self, library: Library, description: Description, values: List[Value], group: Any,
                 subgroup: Callable[[List[int]], Any], limit: float) -> None:
        """Makes the hook. Collective. Raises HookError with the plugin's sentence."""
        super().__init__(description.id, group, subgroup, Strand(f"lockstep {description.id}"))
        self._waiter = Strand(f"lockstep {self.id} waits")
        self._watch = Watch(limit, self._late)
        self._line: Deque[Run] = collections.deque()
        self._deliveries: List[Run] = []
        self._in_call = False
        self._outstanding = 0
        self._failure = ""  # the lock guards it, and what follows
        self._inside = ""
        self.sent_bytes = 0
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

    def prepare(self, place: str, flat: Any, bucket: int) -> Tuple[Run, Any]:
        """A run for begin(), and a future of its result. [any-thread]"""
        self.require_usable()
        run = Run(place, flat, bucket)
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

    def _enter(self, run: Run, call: Callable[[], int]) -> None:
        self._inside = run.place
        self._in_call = True
        run.queued_in_call = False
        run.call_began = self._phases.now()
        status = call()
        if status == OK and not (run.ended or run.queued_in_call or run.marked):
            self._phases.tell(_kinds.HOOK_ENCODE, run, run.call_began)
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
            self._break_down(run, f"{run.place}: {first_line(error)}", True)

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
        operation.began = self._phases.now()
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
            self._break_down(run, f"{run.place}: {operation.name}: {first_line(error)}", True)

    def _ended(self, run: Run, operation: Any, failure: Optional[BaseException]) -> None:
        self._outstanding -= 1
        operation.ended = True
        if run.ended:
            return
        if failure is not None:
            self._comm_failed(run, operation, failure)
            return
        self._phases.tell(_kinds.HOOK_COMMUNICATE, run, operation.began, operation.sent)
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


_left_behind: List[Session] = []  # operations may yet write into memory of theirs


def _unpack(future: Any) -> Any:
    value = future.value()
    if isinstance(value, BaseException):
        raise value
    return value
