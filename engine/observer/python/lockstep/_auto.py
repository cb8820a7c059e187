"""``lockstep record --attach auto``: what a job makes is watched as it is made."""

from __future__ import annotations

import functools
from typing import Any

from lockstep import _session, _steps
from lockstep._guard import guarded


def install(module: Any) -> None:
    """Watches what a module of PyTorch makes from now on."""
    if module.__name__ == "torch.optim.optimizer":
        _watch_optimizers(module)
    elif module.__name__ == "torch.distributed.distributed_c10d":
        _watch_groups(module)
    else:
        _watch_models(module.DistributedDataParallel)


def _watch_models(ddp: Any) -> None:
    construct = ddp.__init__

    @functools.wraps(construct)
    def watched(self: Any, *args: Any, **kwargs: Any) -> None:
        construct(self, *args, **kwargs)
        _session.watch(self)

    ddp.__init__ = watched


def _watch_groups(module: Any) -> None:
    """A job without DistributedDataParallel is seen from its process group on."""
    make = module.init_process_group

    @functools.wraps(make)
    def made(*args: Any, **kwargs: Any) -> Any:
        result = make(*args, **kwargs)
        _begin()
        return result

    module.init_process_group = made


@guarded
def _begin() -> None:
    from lockstep import _module

    here = _session.session()
    if here is not None:
        here.steps.sees_optimizer = True
        _module.watch_backwards(here.recorder, here.steps, here.groups)


def _watch_optimizers(module: Any) -> None:
    before, after = _session.optimizer_begins, _session.optimizer_ends
    if hasattr(module, "register_optimizer_step_pre_hook"):  # 2.1 on
        module.register_optimizer_step_pre_hook(before)
        module.register_optimizer_step_post_hook(after)
        return
    construct = module.Optimizer.__init__

    @functools.wraps(construct)
    def watched(self: Any, *args: Any, **kwargs: Any) -> None:
        construct(self, *args, **kwargs)
        _steps.watch_optimizer(self, before, after)

    module.Optimizer.__init__ = watched
