"""What a hook is told of the optimizer: lockstep_optimizer_info."""

from __future__ import annotations

from typing import Any, Dict, Tuple

import torch

from lockstep._hook_library import HookError

_KINDS = {torch.optim.SGD: 1, torch.optim.Adam: 2, torch.optim.AdamW: 3}  # LOCKSTEP_SGD, ...


def facts_of(hook: str, optimizer: Any) -> Tuple:
    """The arguments of Host.configure(). Raises HookError for what cannot be told."""
    name = type(optimizer).__name__
    if type(optimizer) not in _KINDS:
        raise HookError(f"hook '{hook}' can be told of torch.optim's SGD, Adam and AdamW, and not of "
                        f"{name}")
    told = [_of_group(hook, name, group) for group in optimizer.param_groups]
    if any(facts != told[0] for facts in told):
        raise HookError(f"hook '{hook}' can be told of one set of numbers, and the parameter groups "
                        f"of this {name} differ")
    return (_KINDS[type(optimizer)],) + told[0]


def _of_group(hook: str, name: str, group: Dict[str, Any]) -> Tuple:
    for option in ("amsgrad", "maximize"):
        if group.get(option):
            raise HookError(f"hook '{hook}' cannot be told of {name} with {option}")
    beta1, beta2 = group.get("betas", (0.0, 0.0))
    return (float(group["lr"]), float(group["weight_decay"]), float(group.get("momentum", 0.0)),
            float(group.get("dampening", 0.0)), bool(group.get("nesterov", False)), float(beta1),
            float(beta2), float(group.get("eps", 0.0)))
