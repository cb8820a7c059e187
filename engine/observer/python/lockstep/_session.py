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
        import torch.distributed as dist

        from lockstep import _ending, _environment

        self.recorder = _recorder.Recorder(dist.get_rank(), dist.get_world_size())
        self.pid = os.getpid()
        self.recorder.send("environment", values=_environment.facts())
        self.steps = _steps.Steps(self.recorder)
        _ending.install(self.recorder, self.steps.finish)

    def watch_module(self, model: Any) -> None:
        from lockstep import _ddp

        _ddp.watch(self.recorder, self.steps, model)


def session() -> Optional[Session]:
    """The session of this process: None where nobody records, or after a failure."""
    global _session
    if _session is not None and _session.pid != os.getpid():
        return None  # a worker that was forked: what it does is no step of the rank's
    if _session is None and _recorder.is_recorded():
        _session = Session()
    return _session


def watch(model: Model, optimizer: Any = None) -> Model:
    """Lets ``lockstep record`` see what a model does, and returns the model.

    Args:
        model: a ``torch.nn.parallel.DistributedDataParallel``, made before.
        optimizer: whose steps are a phase of an iteration, which ends with the last of them.
            Without one, it ends where the next forward begins.

    Nothing that the job computes changes. Not under ``lockstep record`` this does nothing.
    """
    if _recorder.is_recorded():
        _watch(model, optimizer)
    return model


@guarded
def _watch(model: Any, optimizer: Any) -> None:
    here = session()
    if here is None:
        return
    here.watch_module(model)
    if optimizer is not None:
        _steps.watch_optimizer(optimizer, optimizer_begins, optimizer_ends)


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
    """Marks what the training thread does as a phase of its own.

    Args:
        name: "evaluate" or "checkpoint".
    """
    if name not in _steps.PHASES:
        raise ValueError(f'lockstep.phase: "{name}" is none of {", ".join(_steps.PHASES)}')
    here = _session
    if here is None:
        yield
        return
    here.steps.begin_phase(name)
    try:
        yield
    finally:
        here.steps.end_phase()


def log(**metrics: float) -> None:
    """Records numbers of the current iteration, as in ``lockstep.log(loss=loss.item())``."""
    here = _session
    if here is not None:
        _log(here, metrics)


@guarded
def _log(here: Session, metrics: dict) -> None:
    here.steps.log(metrics)
