"""Any module: its forwards, backwards and iterations; of a fully sharded one its units by name."""

from __future__ import annotations

import functools
from typing import Any, Callable, Optional

from lockstep import _backward
from lockstep._guard import guarded


def forward_hooks(model: Any, before: Callable, after: Callable) -> None:
    """Calls around each forward of a model, before and behind all other hooks of it."""
    try:
        model.register_forward_pre_hook(before, prepend=True)  # what shards a model hooks it, too
    except TypeError:  # before 2.0
        model.register_forward_pre_hook(before)
    model.register_forward_hook(after)


class ModuleWatch:
    """The iterations of a model whose script talks to torch.distributed itself, or by a wrapper
    that is no DistributedDataParallel."""

    def __init__(self, recorder: Any, steps: Any, model: Any) -> None:
        self.recorder = recorder
        self.steps = steps
        self._forward_came = False
        steps.computes_on(model)
        steps.ends_with_optimizer = True
        forward_hooks(model, guarded(steps.forward_begins), self._forward_ends)
        _backward.follow(self)
        units = _sharded_units(model)
        if units:
            _name_units(steps)
        kind = f"fully sharded, {units} units" if units else type(model).__name__
        recorder.send("environment", values={"no_buckets": (
            f"the model of this job is no DistributedDataParallel ({kind}): it has no buckets")})

    @guarded
    def _forward_ends(self, *_: Any) -> None:
        if self.steps.forward_ends():
            self._forward_came = True

    def backward_begins(self) -> Any:
        came, self._forward_came = self._forward_came, False
        return self.steps.backward_begins() if came else None

    def backward_ends(self, began: Any, loss: Optional[float]) -> None:
        self.steps.backward_ends(began, not self.steps.sees_optimizer)
        self.steps.loss(loss)


class OtherModelWatch:
    """A model beside the one whose iterations are shown: its forwards and backwards have its name,
    so that what is sent in them can be told apart."""

    def __init__(self, steps: Any, model: Any, name: str) -> None:
        self._steps = steps
        self._name = name
        self._forward: Optional[int] = None
        self._forward_came = False
        forward_hooks(model, self._forward_begins, self._forward_ends)
        _backward.follow(self)

    @guarded
    def _forward_begins(self, *_: Any) -> None:
        self._forward = self._steps.memory.ticks()

    @guarded
    def _forward_ends(self, *_: Any) -> None:
        if self._forward is not None:
            self._steps.named_span(f"forward of {self._name}", self._forward)
            self._forward_came = True

    def backward_begins(self) -> Any:
        came, self._forward_came = self._forward_came, False
        return self._steps.memory.ticks() if came else None

    def backward_ends(self, began: Any, _: Any) -> None:
        self._steps.named_span(f"backward of {self._name}", began)


def _sharded_units(model: Any) -> int:
    """How many modules of a model are sharded by ``fully_shard``."""
    return sum(1 for module in model.modules() if hasattr(module, "_get_fsdp_state"))


_named = False


def _name_units(steps: Any) -> None:
    """Marks what a unit of ``fully_shard`` asks for and waits for by the name of its module."""
    global _named
    try:
        from torch.distributed.fsdp._fully_shard._fsdp_param_group import FSDPParamGroup as Unit
    except ImportError:  # of another PyTorch: its collectives have no names then
        return
    if _named:
        return
    _named = True
    for method, what in (("unshard", "all-gather of"), ("wait_for_unshard", "wait for"),
                         ("post_backward", "reduce-scatter of")):
        if hasattr(Unit, method):
            setattr(Unit, method, _marked(getattr(Unit, method), what, steps))


def _marked(function: Callable, what: str, steps: Any) -> Callable:
    @functools.wraps(function)
    def marked(self: Any, *args: Any, **kwargs: Any) -> Any:
        began = steps.memory.ticks()
        try:
            return function(self, *args, **kwargs)
        finally:
            _mark(steps, what, self, began)

    return marked


@guarded
def _mark(steps: Any, what: str, unit: Any, began: int) -> None:
    # Most calls of these find their work done: only what takes time is shown.
    if steps.memory.ticks() - began > steps.shortest:
        steps.named_span(f"{what} {getattr(unit, '_module_fqn', None) or 'the root'}", began)


def watch_backwards(recorder: Any, steps: Any, groups: Any) -> None:
    """Of a job whose model nobody hands over: its backwards, and iterations by its optimizer."""
    steps.ends_with_optimizer = True
    _backward.follow(_JobWatch(recorder, steps, groups))


class _JobWatch:
    def __init__(self, recorder: Any, steps: Any, groups: Any) -> None:
        self._recorder = recorder
        self._steps = steps
        self._groups = groups
        self._said = False

    def backward_begins(self) -> Any:
        if self._steps.model is not None:
            return None
        if not self._said:
            self._said = True
            self._recorder.send("environment", values={"no_buckets": (
                "no DistributedDataParallel was made in this job: it has no buckets")})
            self._groups.need()
        return self._steps.backward_begins()

    def backward_ends(self, began: Any, loss: Optional[float]) -> None:
        self._steps.backward_ends(began, False)
        self._steps.loss(loss)
