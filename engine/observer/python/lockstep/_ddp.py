"""DistributedDataParallel: its buckets, when each gradient was ready, what became of each bucket."""

from __future__ import annotations

import functools
from typing import Any, Callable, List, Optional

from lockstep import _backward, _kinds
from lockstep._comm_hook import CommHook
from lockstep._ddp_logging import DdpLogging
from lockstep._gradients import Gradients
from lockstep._guard import guarded
from lockstep._module import forward_hooks


class Watch:
    """Sees one model's iterations from outside: what DDP computes stays as it is."""

    def __init__(self, recorder: Any, steps: Any, groups: Any, model: Any,
                 check_gradients: int) -> None:
        self.recorder = recorder
        self.memory = recorder.memory
        self.steps = steps
        self.groups = groups
        self.model = model
        self.lane = self.memory.lane("ddp")
        names = {id(p): name for name, p in model.module.named_parameters()}
        self.parameters: List[Any] = list(model._build_params_for_reducer()[0])
        self.index = {id(p): i for i, p in enumerate(self.parameters)}
        self._layout = -1
        self._sizes: List[int] = []       # elements of each bucket
        self._bucket_of: List[int] = []   # of each parameter
        self._members: List[List[int]] = []
        self._numels = [p.numel() for p in self.parameters]
        self._origin = 0
        self._synchronised = 0            # backwards
        recorder.send("parameters", parameters=[
            {"name": names.get(id(p), f"parameter {i}"), "shape": list(p.shape),
             "dtype": str(p.dtype).replace("torch.", ""), "numel": p.numel(),
             "bytes": p.numel() * p.element_size()} for i, p in enumerate(self.parameters)])
        self._read_layout("construction")
        self._comm_hook: Optional[CommHook] = None
        self.flights = groups.flights_of(model.process_group)
        self._gradients: Optional[Gradients] = None
        if check_gradients > 0:
            self._gradients = Gradients(recorder, steps, self.lane, check_gradients)
        if groups.seen:
            self._wrap_registration()
            if self._gradients is not None:
                groups.check(self._gradients, model.process_group)
        else:
            self._comm_hook = CommHook(model, self.flights, self._timed, self._hook_registered,
                                       self._gradients)
        reducer = model.reducer
        self._backward_stats: Optional[Callable] = getattr(
            reducer, "get_backward_stats", None) or getattr(reducer, "_get_backward_stats", None)
        self._logging = DdpLogging(recorder, model)
        self._logging.tell(steps.number)
        steps.computes_on(model)
        steps.ends_with_optimizer = False  # DDP itself says which backward synchronises
        begins = guarded(steps.forward_begins) if self._comm_hook is None else self._forward_begins
        forward_hooks(model, begins, self._forward_ends)
        _backward.follow(self)

    # -- the user's communication hook ----------------------------------------------------------

    def _wrap_registration(self) -> None:
        """The hook that the user registers from here on tells when it is called."""
        register = self.model.register_comm_hook

        @functools.wraps(register)
        def registered(state: object, hook: Callable) -> Any:
            result = register(state, self._timed(hook))
            if self._gradients is not None:
                self._gradients.unhook()
            self._hook_registered(hook)
            return result

        self.model.register_comm_hook = registered

    def _timed(self, hook: Callable) -> Callable:
        tells_phases = getattr(hook, "tells_phases", False)  # one of Lockstep's: nothing is derived

        @functools.wraps(hook)  # DDP reads its annotations
        def timed(state, bucket):
            call = self._hook_begins(bucket, tells_phases)
            future = None
            try:
                future = hook(state, bucket)
            finally:
                if call is not None:
                    self._hook_returns(call, future)
            return future

        return timed

    @guarded
    def _hook_begins(self, bucket: Any, tells_phases: bool) -> Optional[int]:
        number, tensor = bucket.index(), bucket.buffer()
        if self._gradients is not None:
            self._gradients.measure(number, tensor)
        if tells_phases:
            return None
        call: int = self.flights.hook_begins(number, tensor.numel() * tensor.element_size())
        return call

    @guarded
    def _hook_returns(self, call: int, future: Any) -> None:
        self.flights.hook_returns(call, future)

    @guarded
    def _hook_registered(self, hook: Callable) -> None:
        name = getattr(hook, "__qualname__", None) or type(hook).__name__
        self.memory.hook(name)
        self.groups.others_call_back = True
        values = {"hook": name}
        if name in ("noop_hook", "post_localSGD_hook"):  # PyTorch's: its replicas differ by design
            values["drifting_hook"] = name
        self.recorder.send("environment", values=values)

    # -- buckets --------------------------------------------------------------------------------

    def _read_layout(self, reason: str) -> None:
        """The buckets as the reducer has them."""
        buckets = sorted(self.model.reducer._get_zeros_like_grad_buckets(), key=lambda b: b.index())
        members = [[self.index[id(p)] for p in bucket.parameters()] for bucket in buckets]
        if members == self._members:
            return  # not every job's buckets are rebuilt
        self._members = members
        self._sizes = [bucket.buffer().numel() for bucket in buckets]
        self._bucket_of = [_kinds.NO_BUCKET] * len(self.parameters)
        told = []
        for number, (bucket, bucket_members) in enumerate(zip(buckets, members)):
            offsets, at = [], 0
            for member in bucket_members:
                self._bucket_of[member] = number
                offsets.append(at)
                at += self.parameters[member].numel() * bucket.buffer().element_size()
            told.append({"parameters": bucket_members, "offsets": offsets, "bytes": at, "limit_bytes": 0,
                         "dtype": str(bucket.buffer().dtype).replace("torch.", "")})
        self._layout += 1
        self.recorder.send("buckets", layout=self._layout, step=self.steps.number, reason=reason,
                           buckets=told)

    # -- an iteration ---------------------------------------------------------------------------

    @guarded
    def _forward_begins(self, *_: Any) -> None:
        self._comm_hook.forward_begins()
        self.steps.forward_begins(self.model)

    @guarded
    def _forward_ends(self, *_: Any) -> None:
        if self.steps.forward_ends():
            # DDP prepared its backward just now: what it times is counted from here.
            self._origin = self.memory.ticks()

    def backward_begins(self) -> Any:
        if self._origin == 0:
            return None
        self.steps.catch_up()
        if self._comm_hook is not None:
            self._comm_hook.backward_begins()
        if self._layout == 0 and self._synchronised == 1:  # DDP rebuilds behind its first backward
            self._read_layout("rebuild")
        expected = self._sizes if self.model.require_backward_grad_sync else []
        if self._gradients is not None and expected:
            self._gradients.backward_begins(self._members, self._numels, self._sizes)
        self.flights.expect(expected)
        if self.recorder.nccl is not None:
            self.recorder.nccl.expect(expected)
        return self.steps.backward_begins()

    def backward_fails(self) -> None:
        self.flights.expect([])  # what is asked for from here on is none of its buckets

    def backward_ends(self, began: Any, loss: Optional[float]) -> None:
        synchronised = bool(self.model.require_backward_grad_sync)
        # Before a thread may tell of an end.
        holds = self.flights.waited() if synchronised else True
        end = self.steps.backward_ends(began, synchronised)
        origin, self._origin = self._origin, 0
        if synchronised:
            self._synchronised += 1
            if self._gradients is not None:
                self._gradients.backward_ends()
        self.steps.soon(functools.partial(self._tell_backward, origin, end, synchronised, holds,
                                          loss))

    def _tell_backward(self, origin: int, end: int, synchronised: bool, holds: bool,
                       loss: Optional[float]) -> None:
        """Tells what became of its gradients and buckets, before DDP forgets it in its next forward."""
        step = self.steps.number
        self.steps.loss(loss)
        if not synchronised:
            return
        stats = self._backward_stats
        self.flights.tell_backward(self.lane, origin, end, stats() if stats is not None else [],
                                   self._bucket_of, True)
        if self._logging.is_due(self._synchronised):
            self._logging.tell(step)
        if not holds:
            self.recorder.send("problem", severity="warning", step=step, text=(
                f"the backward of iteration {step} had other collectives than those before it: "
                "in this one iteration some may stand under a wrong bucket, with 0 bytes, or "
                "nowhere"))
