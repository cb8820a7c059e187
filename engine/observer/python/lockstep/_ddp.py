"""DistributedDataParallel: its buckets, when each gradient was ready, what became of each bucket."""

from __future__ import annotations

import atexit
import functools
from typing import Any, List, Optional

from lockstep import _collectives, _kinds
from lockstep._comm_hook import CommHook
from lockstep._guard import guarded


def watch(recorder: Any, steps: Any, model: Any) -> None:
    """Watches one DistributedDataParallel; a second call for the same one changes nothing."""
    import torch

    model = getattr(model, "_orig_mod", model)  # behind torch.compile
    if not isinstance(model, torch.nn.parallel.DistributedDataParallel):
        raise TypeError(f"lockstep.watch needs a DistributedDataParallel, this is a "
                        f"{type(model).__name__}")
    if "_lockstep_watch" in model.__dict__:
        return
    if steps.model is not None:
        recorder.send("problem", severity="warning", step=steps.number, text=(
            "this job has more than one DistributedDataParallel: buckets and gradients are those of "
            f"the first ({steps.model}), of {type(model.module).__name__} there are collectives "
            "alone"))
        return
    steps.model = type(model.module).__name__
    object.__setattr__(model, "_lockstep_watch", Watch(recorder, steps, model))


class Watch:
    """Sees one model's iterations from outside: what DDP computes stays as it is."""

    def __init__(self, recorder: Any, steps: Any, model: Any) -> None:
        import torch
        import torch.distributed as dist

        self.recorder = recorder
        self.memory = recorder.memory
        self.steps = steps
        self.model = model
        self.lane = self.memory.lane("ddp")
        names = {id(p): name for name, p in model.module.named_parameters()}
        self.parameters: List[Any] = list(model._build_params_for_reducer()[0])
        self.index = {id(p): i for i, p in enumerate(self.parameters)}
        self._layout = -1
        self._sizes: List[int] = []       # elements of each bucket
        self._bucket_of: List[int] = []   # of each parameter
        self._members: List[List[int]] = []
        self._origin = 0
        self._in_backward = False
        self._synchronised = 0            # backwards
        self._evaluating: Optional[int] = None
        recorder.send("parameters", parameters=[
            {"name": names.get(id(p), f"parameter {i}"), "shape": list(p.shape),
             "dtype": str(p.dtype).replace("torch.", ""), "numel": p.numel(),
             "bytes": p.numel() * p.element_size()} for i, p in enumerate(self.parameters)])
        self._read_layout("construction")
        group = model.process_group
        self._comm_hook: Optional[CommHook] = None
        self.flights = _collectives.flights(recorder, str(dist.get_backend(group)))
        steps.follow(self.flights.set_step)
        if _collectives.has_hooks(group):
            self._group_hooks = _collectives.GroupHooks(self.flights, group)
            atexit.register(self._group_hooks.close)
        else:
            self._comm_hook = CommHook(model, self.flights)
        atexit.register(_collectives.drain, self.flights)
        model.register_forward_pre_hook(self._forward_begins)
        model.register_forward_hook(self._forward_ends)
        self._wrap_backward(torch)

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
        import torch

        if self._comm_hook is not None:
            self._comm_hook.forward_begins()
        if torch.is_grad_enabled() and self.model.training:
            self._evaluating = None
            self.steps.forward_begins()
        else:
            self._evaluating = self.steps.evaluation_begins()

    @guarded
    def _forward_ends(self, *_: Any) -> None:
        if self._evaluating is not None:
            self.steps.evaluation_ends(self._evaluating)
            self._evaluating = None
        else:
            # DDP prepared its backward just now: what it times is counted from here.
            self._origin = self.memory.ticks()

    def _wrap_backward(self, torch: Any) -> None:
        backward = torch.autograd.backward

        @functools.wraps(backward)
        def watched(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            if self._in_backward or self._origin == 0:
                return backward(tensors, *args, **kwargs)
            began = self._backward_begins()
            result = backward(tensors, *args, **kwargs)
            if began is not None:
                self._backward_ends(began, tensors)
            return result

        torch.autograd.backward = watched

    @guarded
    def _backward_begins(self) -> int:
        self._in_backward = True
        if self._comm_hook is not None:
            self._comm_hook.backward_begins()
        if self._layout == 0 and self._synchronised == 1:  # DDP rebuilds behind its first backward
            self._read_layout("rebuild")
        self.flights.expect(self._sizes if self.model.require_backward_grad_sync else [])
        return self.steps.backward_begins()

    @guarded
    def _backward_ends(self, began: int, tensors: Any) -> None:
        self._in_backward = False
        synchronised = bool(self.model.require_backward_grad_sync)
        step = self.steps.number
        end = self.steps.backward_ends(began, synchronised)
        self._synchronised += 1 if synchronised else 0
        origin, self._origin = self._origin, 0
        self._tell_loss(tensors)
        if synchronised:
            self._tell_gradients(origin, end, step)

    def _tell_loss(self, tensors: Any) -> None:
        root = tensors[0] if isinstance(tensors, (list, tuple)) and tensors else tensors
        # Of a GPU's the value would have to be waited for.
        if getattr(root, "numel", lambda: 0)() == 1 and root.device.type == "cpu":
            self.steps.loss(float(root.detach()))

    def _tell_gradients(self, origin: int, end: int, step: int) -> None:
        ns = self._backward_stats()
        memory, lane = self.memory, self.lane
        if ns:
            memory.offsets(lane, _kinds.GRADIENT_READY, origin, step, ns, self._bucket_of)
        rate = memory.ticks_of(1_000_000_000) / 1e9
        last = origin + int(max(ns, default=0) * rate)
        flown = self.flights.flown(end)
        until = max([last] + [queued for queued, _, _ in flown])
        for bucket, (queued, ended, payload) in enumerate(flown):
            if ns:
                ready = origin + int(max(ns[i] for i in self._members[bucket]) * rate)
                ready = min(ready, queued)
                memory.span(lane, _kinds.BUCKET_READY, ready, ready, step, bucket, payload)
            memory.span(lane, _kinds.BUCKET_LAUNCHED, queued, queued, step, bucket, payload)
            # DDP waits for its buckets in order, once the last one is under way.
            if ended > until:
                memory.span(lane, _kinds.WAIT, until, ended, step, bucket)
                until = ended
        if ns and end > last:
            memory.span(lane, _kinds.FINALIZE, last, end, step)

    def _backward_stats(self) -> List[int]:
        reducer = self.model.reducer
        read = getattr(reducer, "get_backward_stats", None) or getattr(
            reducer, "_get_backward_stats", None)
        return list(read()) if read is not None else []
