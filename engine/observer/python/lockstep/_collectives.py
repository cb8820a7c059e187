"""Collectives of a process group: what was asked for, and when it was done."""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, Iterable, List, Optional

from lockstep import _kinds

_HOOK_ID = 0x4C4B  # ours among a group's hooks

# c10d's names of operations.
_OPERATIONS = {
    "BROADCAST": _kinds.BROADCAST,
    "ALLREDUCE": _kinds.ALLREDUCE,
    "ALLREDUCE_COALESCED": _kinds.ALLREDUCE,
    "REDUCE": _kinds.REDUCE,
    "ALLGATHER": _kinds.ALLGATHER,
    "ALLGATHER_BASE": _kinds.ALLGATHER,
    "ALLGATHER_COALESCED": _kinds.ALLGATHER,
    "ALLGATHER_INTO_TENSOR_COALESCED": _kinds.ALLGATHER,
    "REDUCE_SCATTER": _kinds.REDUCE_SCATTER,
    "REDUCE_SCATTER_BASE": _kinds.REDUCE_SCATTER,
    "REDUCE_SCATTER_TENSOR_COALESCED": _kinds.REDUCE_SCATTER,
    "ALLTOALL": _kinds.ALLTOALL,
    "ALLTOALL_BASE": _kinds.ALLTOALL,
    "GATHER": _kinds.GATHER,
    "SCATTER": _kinds.SCATTER,
    "SEND": _kinds.SEND,
    "RECV": _kinds.RECV,
    "BARRIER": _kinds.BARRIER,
}

# What functions of pybind11's are bound to, in version 1 of its layout, by GCC and Clang.
_FUNCTION_OF_CPP = ("pybind11_builtins.pybind11_detail_function_record_v1_system_libstdcpp_"
                    "gxx_abi_1xxx_use_cxx11_abi_1")

# How many collectives of one group run at a time: Gloo's threads, NCCL's stream.
_AT_ONCE = {"gloo": 2}


def has_hooks(group: Any) -> bool:
    """Whether this PyTorch lets a group's collectives be seen (2.14 on)."""
    return hasattr(group, "register_pre_hook") and hasattr(group, "register_post_hook")


def flights(recorder: Any, backend: str, number: int, ranks: int, own_lane: Optional[str],
            device: Callable[[Any], Any]) -> Any:
    """What the collectives of one group are told to.

    Args:
        number: of the group among the job's; 0 is the default one.
        ranks: how many the group has.
        own_lane: the one lane that all of them are shown in; None: as many as run at a time.
        device: what tells by a tensor's device when that did its work; None for the host.
    """
    import torch
    from lockstep import _device_flights, _native

    add_done_callback = torch._C.Future.add_done_callback
    told = _native.Flights(recorder.memory, backend, _AT_ONCE.get(backend, 1), number, ranks,
                           _numbers(), add_done_callback, own_lane)
    if backend == "gloo" or not torch.cuda.is_available():
        return told
    return _device_flights.DeviceFlights(told, recorder.memory, device, add_done_callback)


def name_of(group: Any) -> str:
    """c10d's name of a group, which no other group of the job has."""
    import torch.distributed.distributed_c10d as c10d

    name = getattr(group, "group_name", "")
    if not name:  # before 2.1
        world = getattr(c10d, "_world", None)
        names = c10d._pg_names if world is None else world.pg_names
        name = names.get(group, "")
    return str(name)


def method_names() -> List[str]:
    """The methods of a process group that are collectives."""
    return [name.lower() for name in _OPERATIONS] + ["_allgather_base", "_reduce_scatter_base",
                                                     "recv_anysource"]


def _number_of_method(name: str) -> int:
    return _OPERATIONS["RECV" if name == "recv_anysource" else name.strip("_").upper()]


def _numbers() -> Dict[Any, int]:
    """PyTorch's names of operations, as its hooks give them or, before 2.14, as a group's methods
    are called, and our numbers."""
    try:
        from torch._C._distributed_c10d import HookOpName
    except ImportError:
        return {name: _number_of_method(name) for name in method_names()}
    return {getattr(HookOpName, name): number for name, number in _OPERATIONS.items()
            if hasattr(HookOpName, name)}


def unseen_hook(flights: Any, group: Any, otherwise: Callable[[Any], Any]) -> Any:
    """A pre-hook that PyTorch calls without Python, for operations that nobody looks at; None where
    this PyTorch is not known to. One that after all is not calls ``otherwise``."""
    from torch._C._distributed_c10d import HookOpName

    bound_to = type(getattr(type(group).register_pre_hook, "__self__", None))
    name = f"{bound_to.__module__}.{bound_to.__qualname__}"
    if name != _FUNCTION_OF_CPP:
        return None
    return flights.unseen(name, int(HookOpName.ALLREDUCE), otherwise)


class GroupHooks:
    """Sees every collective of a group by hooks of the group itself: nobody's work changes."""

    def __init__(self, flights: Any, group: Any) -> None:
        self._group: Any = group
        self._flights = flights
        self._before = flights.before
        self._after = flights.after
        self._unseen: Any = None
        group.register_pre_hook(_HOOK_ID, self._before)
        if hasattr(flights, "by_need"):
            flights.by_need(self._look_after)  # never, where threads of Gloo's tell of all
        else:
            self._look_after(True)

    def _look_after(self, whether: bool) -> None:
        if self._group is None:
            return
        if whether:
            self._group.register_post_hook(_HOOK_ID, self._after)
        else:
            self._group.unregister_post_hook(_HOOK_ID)

    def take_unseen(self) -> None:
        """Backwards of which it is known what they ask for have a hook without Python: Note [A
        function of C++] of native/unseen_hook.h."""
        self._unseen = unseen_hook(self._flights, self._group, self._before)
        self._take_turns()

    def _take_turns(self) -> None:
        if self._unseen is not None:
            self._flights.by_turns(self._group.register_pre_hook, _HOOK_ID, self._unseen,
                                   self._before)

    def close(self) -> None:
        """Takes the hooks out: a group that ends with hooks of Python's takes the process along."""
        if self._group is not None:
            if self._unseen is not None:
                self._flights.by_turns()
            self._group.unregister_pre_hook(_HOOK_ID)
            self._group.unregister_post_hook(_HOOK_ID)
            self._group = None


def drain(all_flights: Iterable[Any], seconds: float = 0.5) -> None:
    """Lets the threads of groups that tell of an end do so, and let go of what they called: both
    take Python's lock. Who ends a group, or Python, holds it, waits for those threads, and would
    wait for ever."""
    deadline = time.monotonic() + seconds
    while any(flights.busy() for flights in all_flights) and time.monotonic() < deadline:
        time.sleep(0.001)
