"""What a user calls, and the one session of this process behind it."""

from __future__ import annotations

import contextlib
import os
from typing import Any, Iterator, Optional, TypeVar

from lockstep import _recorder, _steps
from lockstep._guard import guarded

Model = TypeVar("Model")

_session: Optional["Session"] = None


class Session:
    """This process as a rank of an observed job."""

    def __init__(self) -> None:
        from lockstep import _ending, _environment, _groups, _nccl, _replicas, _stall, _trace

        rank, world_size = _place()
        self.recorder = _recorder.Recorder(rank, world_size)
        self.pid = os.getpid()
        self.recorder.send("environment", values=_environment.facts())
        self.steps = _steps.Steps(self.recorder)
        _nccl.link(self.recorder, self.steps)
        self.groups: Optional[_groups.Groups] = None
        self.replicas = _replicas.Replicas(self.recorder, self.steps)
        _trace.install(self.recorder, self.steps)
        _ending.install(self.recorder, self.steps.finish)
        _stall.watch(self.recorder, self.steps)
        if _is_distributed():
            self.groups = _groups.Groups(self.recorder, self.steps)
            self.groups.watch()

    def watch_module(self, model: Any, check_replicas: int, check_gradients: int) -> None:
        """Watches a model; a second call for the same one changes nothing."""
        import torch

        from lockstep import _ddp, _gradients, _module, _reals

        model = getattr(model, "_orig_mod", model)  # behind torch.compile
        if not isinstance(model, torch.nn.Module):
            raise TypeError(f"lockstep.watch needs a torch.nn.Module, this is a "
                            f"{type(model).__name__}")
        if "_lockstep_watch" in model.__dict__:
            return
        is_ddp = self.groups is not None and isinstance(
            model, torch.nn.parallel.DistributedDataParallel)
        name = type(model.module if is_ddp else model).__name__
        if self.steps.model is not None:
            self.recorder.send("problem", severity="warning", step=self.steps.number, text=(
                "this job has more than one model that is watched: buckets, gradients and "
                f"iterations are those of the first ({self.steps.model}), of {name} there are its "
                "collectives, and its forwards and backwards by name"))
            watch: Any = _module.OtherModelWatch(self.steps, model, name)
        elif is_ddp:
            watch = _ddp.Watch(self.recorder, self.steps, self.groups, model,
                               check_gradients or _reals.asked_for(_gradients.VARIABLE))
            self.replicas.check(watch.parameters, check_replicas)
        else:
            watch = _module.ModuleWatch(self.recorder, self.steps, model)
            if self.groups is not None:
                self.groups.need()
            self.replicas.check_module(model, check_replicas)
        self.steps.model = self.steps.model or name
        object.__setattr__(model, "_lockstep_watch", watch)


def _is_distributed() -> bool:
    import torch.distributed as dist

    return dist.is_available() and dist.is_initialized()


def _place() -> tuple:
    """This process's rank and the number of them: those of its process group, or of one alone."""
    import torch.distributed as dist

    return (dist.get_rank(), dist.get_world_size()) if _is_distributed() else (0, 1)


def session() -> Optional[Session]:
    """The session of this process: None where nobody records, or after a failure."""
    global _session
    if _session is not None and _session.pid != os.getpid():
        return None  # a worker that was forked: what it does is no step of the rank's
    if _session is None and _recorder.is_recorded():
        _session = Session()
    return _session


def watch(model: Model, optimizer: Any = None, *, check_replicas: int = 0,
          check_gradients: int = 0) -> Model:
    """Lets ``lockstep record`` see what a model does, and returns the model.

    Args:
        model: a ``torch.nn.parallel.DistributedDataParallel``, made before; or any other
            ``torch.nn.Module``, as one that ``fully_shard`` was called on.
        optimizer: whose steps are a phase of an iteration, which ends with the last of them.
            Without one, it ends where the next forward begins.
        check_replicas: every so many iterations the recorder compares the ranks' parameters, bit
            for bit, and says where they differ; 0: as ``lockstep record --check-replicas`` says.
        check_gradients: every so many iterations this rank measures its own gradients before they
            are averaged: how large they are, and what of them is not finite; 0: as
            ``lockstep record --check-gradients`` says. Of a DistributedDataParallel alone.

    Nothing that the job computes changes. Not under ``lockstep record`` this does nothing.
    """
    if _recorder.is_recorded():
        _watch(model, optimizer, check_replicas, check_gradients)
    return model


@guarded
def _watch(model: Any, optimizer: Any, check_replicas: int, check_gradients: int) -> None:
    here = session()
    if here is None:
        return
    here.watch_module(model, check_replicas, check_gradients)
    if optimizer is not None:
        here.steps.sees_optimizer = True
        _steps.watch_optimizer(optimizer, guarded(here.steps.optimizer_begins),
                               guarded(here.steps.optimizer_ends))


@guarded
def optimizer_begins(*_: Any) -> None:
    """An optimizer of this process begins a step."""
    if _session is not None:
        _session.steps.optimizer_begins()


@guarded
def optimizer_ends(*_: Any) -> None:
    """It has ended it."""
    if _session is not None:
        _session.steps.optimizer_ends()


@contextlib.contextmanager
def phase(name: str) -> Iterator[None]:
    """Marks what the training thread does as a phase, shown under its name. Phases may be nested.

    Args:
        name: any; "evaluate" and "checkpoint" are shown as those of Lockstep's own runs.
    """
    if not isinstance(name, str) or not name:
        raise ValueError(f"lockstep.phase: a phase needs a name, this is {name!r}")
    here = _session
    if here is None:
        yield
        return
    began = here.recorder.memory.ticks()
    try:
        yield
    finally:
        _phase_ends(here, name, began)


@guarded
def _phase_ends(here: Session, name: str, began: int) -> None:
    here.steps.phase_ends(name, began)


def log(**metrics: float) -> None:
    """Records numbers of the current iteration, as in ``lockstep.log(loss=loss.item())``."""
    here = _session
    if here is not None:
        _log(here, metrics)


@guarded
def _log(here: Session, metrics: dict) -> None:
    here.steps.log(metrics)
