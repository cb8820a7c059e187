"""The iterations of this process and their phases."""

from __future__ import annotations

import math
import types
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

from lockstep import _device, _kinds

# Names of phases that Lockstep has kinds of its own for.
_OWN_PHASES = {"evaluate": _kinds.EVALUATE, "checkpoint": _kinds.CHECKPOINT}


_SHORTEST_NS = 20_000


def phase_number(name: str) -> int:
    """The number that an event has for a name: Note [User phases] of engine/trace/UserPhases.h."""
    number = 0xCBF29CE484222325
    for byte in name.encode("utf-8", "replace"):
        number = ((number ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return (number ^ number >> 48) & 0xFFFFFFFFFFFF


def watch_optimizer(optimizer: Any, before: Callable, after: Callable) -> None:
    """Calls around each step of an optimizer; a second time for the same one changes nothing."""
    while hasattr(optimizer, "optimizer"):  # one that wraps the one that steps, as accelerate's
        optimizer = optimizer.optimizer
    if getattr(optimizer, "_lockstep_watched", False):
        return
    optimizer._lockstep_watched = True
    if hasattr(optimizer, "register_step_post_hook"):
        optimizer.register_step_pre_hook(before)
        optimizer.register_step_post_hook(after)
        return
    step = optimizer.step  # before 2.0

    def watched(_: Any, *args: Any, **kwargs: Any) -> Any:
        before()
        try:
            return step(*args, **kwargs)
        finally:
            after()

    optimizer.step = types.MethodType(watched, optimizer)  # as schedulers expect it


Point = Tuple[int, Any]  # the host's ticks, and what a device will have come to


class Steps:
    """Cuts what happens on the training thread into iterations: data, forward, backward, optimizer.

    An iteration has one backward that synchronises: micro-batches under ``no_sync`` are of the one
    that follows them. It ends where its last optimizer step ended, or, where none was seen, as the
    next forward begins.
    """

    def __init__(self, recorder) -> None:
        import torch

        self._is_grad_enabled = torch.is_grad_enabled
        self.recorder = recorder
        self.memory = recorder.memory
        self.lane = self.memory.lane("step")
        self.memory.tell_cores(self.lane)
        self.number: int = recorder.first_step
        self.model: Optional[str] = None  # whose iterations they are
        self._began: int = self.memory.ticks()
        self._forward: Optional[Point] = None
        self._evaluating: Optional[int] = None  # when the forward began that trains nothing
        self._synchronised = False  # its backward has come
        self._stepped = 0           # when its last optimizer step ended
        self._saw_forward = False
        self._optimizer: Optional[Point] = None  # when its step began, where one is open
        self._depth = 0             # of optimizers that are stepping
        self._names: Dict[str, int] = {}
        self.shortest = 0           # ticks of a span that is worth one
        self.sees_optimizer = False
        self.ends_with_optimizer = False  # where no model says when a backward synchronises
        self.before_step: List[Callable] = []  # called with an iteration's number as it begins
        self.is_over = False        # no iteration will come
        self.progress = 0           # goes up with all that ends
        self._losses_of_user = False
        self._device: Optional[_device.DeviceSpans] = None
        self._computes_there = False
        self._followers: List[Callable] = []
        self._once: List[Callable] = []
        self._late: List[Callable] = []

    def follow(self, follower: Callable) -> None:
        """Calls it with the number of each iteration as it begins."""
        self._followers.append(follower)
        follower(self.number)

    def as_next_begins(self, call: Callable) -> None:
        """Calls it once, as the next iteration begins."""
        self._once.append(call)

    def soon(self, call: Callable) -> None:
        """Calls it once, as an optimizer's step ends, or the next forward or backward begins. Right
        behind a backward, which has filled the caches, a call of Python's takes two to three times
        as long. At once where a device tells the times, since what it had come to is asked for."""
        if self._computes_there:
            call()
        else:
            self._late.append(call)

    def catch_up(self) -> None:
        """Calls now what was to be called soon."""
        while self._late:
            self._late.pop(0)()

    # -- a device ---------------------------------------------------------------------------------

    def device_of(self, tensor: Any) -> Optional[_device.DeviceSpans]:
        """What tells when the device that a tensor is on did what the host queued; None of the host.
        A process has one device, as DistributedDataParallel has it."""
        if self._device is None and getattr(tensor, "is_cuda", False):
            self._device = _device.spans_of(tensor, self.recorder, lambda: self.number)
        return self._device if getattr(tensor, "is_cuda", False) else None

    def computes_on(self, model: Any) -> None:
        """Forward, backward and optimizer are told by the clock of the model's device."""
        first = next(iter(model.parameters()), None)
        self._computes_there = self.device_of(first) is not None

    def _enter(self, phase: int, number: int) -> Point:
        """From now on this thread is in a phase of an iteration."""
        there = self._device.now() if self._device is not None and self._computes_there else None
        return self.memory.enter(phase, number), there

    def _turn(self, kind: int, begin: Point, phase: int, number: int) -> Point:
        """The same, as what began there ends."""
        if begin[1] is None:
            there = self._device.now() if self._device is not None and self._computes_there else None
            return self.memory.turn(self.lane, kind, begin[0], self.number, phase, number), there
        end = self._enter(phase, number)
        if self._device is not None and end[1] is not None:
            self._device.add(self.lane, kind, begin[1], end[1], self.number)
        else:
            self.memory.span(self.lane, kind, begin[0], end[0], self.number)
        return end

    # -- what comes from the model --------------------------------------------------------------

    def forward_begins(self, model: Any, *_: Any) -> None:
        """A forward of the model whose iterations these are: it trains, or it evaluates."""
        self.catch_up()
        now = self.memory.ticks()
        self._end_what_is_over(now)
        if not (self._is_grad_enabled() and model.training):
            self._evaluating = self.memory.enter(_kinds.EVALUATE, self.number)
            return
        self._evaluating = None
        if not self._saw_forward:
            self.memory.span(self.lane, _kinds.DATA, self._began, now, self.number)
            self._saw_forward = True
            for look in self.before_step:
                look(self.number)
        self._forward = self._enter(_kinds.FORWARD, self.number)

    def forward_ends(self) -> bool:
        """Returns whether it trains, so that a backward may follow."""
        began, self._evaluating = self._evaluating, None
        if began is None:
            return True
        now = self.memory.turn(self.lane, _kinds.EVALUATE, began, self.number, _kinds.DATA,
                               self.number)
        self.progress += 1
        if not self._saw_forward:
            self._began = now  # it is of no iteration
        return False

    def backward_begins(self) -> Point:
        if self.model is None:  # no forward is seen: what is over is known here
            self._end_what_is_over(self.memory.ticks())
        forward, self._forward = self._forward, None
        # What computes the loss is of the forward.
        began = (self._enter(_kinds.BACKWARD, self.number) if forward is None else
                 self._turn(_kinds.FORWARD, forward, _kinds.BACKWARD, self.number))
        if self._device is not None:  # here it has a forward to do, and does not wait for the host
            self._device.write()
        return began

    def backward_ends(self, began: Point, synchronised: bool) -> int:
        """Returns when the host was through with it."""
        phase = _kinds.STEP if self._optimizer is None else _kinds.OPTIMIZER
        now = self._turn(_kinds.BACKWARD, began, phase, self.number)
        self._synchronised |= synchronised
        self.progress += 1
        if self._optimizer is not None:  # called with the closure that this is part of: Lightning
            self._optimizer = now
        return now[0]

    def loss(self, value: Optional[float]) -> None:
        if value is not None and not self._losses_of_user:
            self._number(_kinds.LOSS, value)

    def _end_what_is_over(self, now: int) -> None:
        if not self._synchronised:
            return
        self.progress += 1
        if self.shortest == 0:
            self.shortest = self.memory.ticks_of(_SHORTEST_NS)
        end = self._stepped or now
        self.memory.span(self.lane, _kinds.STEP, self._began, end, self.number)
        self.number += 1
        for follower in self._followers:
            follower(self.number)
        while self._once:
            self._once.pop()()
        self._began = end
        self._saw_forward = False
        self._synchronised = False
        self._stepped = 0

    def finish(self) -> None:
        """The job's last iteration has no forward behind it."""
        self.catch_up()
        self._end_what_is_over(self.memory.ticks())
        if self._device is not None:
            self._device.finish()
        self.is_over = True
        for look in self.before_step:
            look(self.number)

    # -- what comes from the optimizer ----------------------------------------------------------

    def optimizer_begins(self, *_: Any) -> None:
        if self._optimizer is None:  # one that is seen twice, or steps another, is one phase
            self._optimizer = self._enter(_kinds.OPTIMIZER, self.number)
        self._depth += 1

    def optimizer_ends(self, *_: Any) -> None:
        self._depth -= 1
        if self._depth == 0 and self._optimizer is not None:
            began, self._optimizer = self._optimizer, None
            self._synchronised |= self.ends_with_optimizer
            self.progress += 1
            self._stepped = self._turn(_kinds.OPTIMIZER, began, _kinds.DATA,
                                       self.number + (1 if self._synchronised else 0))[0]
            self.catch_up()

    # -- what comes from the user ---------------------------------------------------------------

    def phase_ends(self, name: str, began: int) -> None:
        kind = _OWN_PHASES.get(name)
        if kind is None:
            self.named_span(name, began)
        else:
            self.memory.ends(self.lane, kind, began, self.number)
        self.progress += 1

    def named_span(self, name: str, began: int) -> None:
        """A span until now that the timeline shows under this name."""
        self.memory.ends(self.lane, _kinds.USER_PHASE, began, self.number, _kinds.NO_BUCKET,
                         self.number_of(name))

    def number_of(self, name: str) -> int:
        """What an event has for a name, which the recorder is told once."""
        if name not in self._names:
            self.tell_names([name])
        return self._names[name]

    def tell_names(self, names: Iterable[str]) -> None:
        """Tells the recorder, in one message, those names that it does not know."""
        new = {name: phase_number(name) for name in names if name not in self._names}
        if new:
            self._names.update(new)
            self.recorder.send("environment",
                               values={f"phase.{number}": name for name, number in new.items()})

    def log(self, metrics: Dict[str, float]) -> None:
        numbers = {name: float(value) for name, value in metrics.items()}
        if "loss" in numbers:
            self._losses_of_user = True
            self._number(_kinds.LOSS, numbers.pop("loss"))
        if numbers:
            self.recorder.send("ddp_logging", step=self.number, facts={}, numbers=numbers)

    def _number(self, kind: int, value: float) -> None:
        self.memory.number(self.lane, kind, self.number, value)
        if not math.isfinite(value):
            self.recorder.send("bad_loss", step=self.number, loss=str(value), before="nan",
                               least="nan", finite=0, hook="")
