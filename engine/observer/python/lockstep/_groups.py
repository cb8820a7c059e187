"""The process groups of this process: each a number, and whose collectives are seen."""

from __future__ import annotations

import atexit
import functools
import sys
import time
import zlib
from typing import Any, Dict, List, Optional, Tuple

from lockstep import _collectives, _gloo_threads, _group_methods
from lockstep._guard import guarded

# Of an event eight bits are a group's number. c10d names most groups by counting them; those that
# it names by a hash have the numbers from here on.
_HASHED_FROM = 128
_HASHED = 127
_MOMENT = 0.01  # seconds
_OWN_LANES = 4  # subgroups with a lane each; the lanes of a process are few


class Groups:
    """Sees the collectives of every group: those there are, and those that the job makes later.

    Before PyTorch 2.14 those are seen that Python asks for, and none that C++ asks for itself: of
    DDP's own there is what a communication hook tells (``flights_of``).
    """

    def __init__(self, recorder: Any, steps: Any) -> None:
        self._recorder = recorder
        self._steps = steps
        self._flights: Dict[int, Any] = {}                       # by number
        self._numbers: Dict[str, int] = {}                       # by c10d's name
        self._hooks: List[_collectives.GroupHooks] = []
        self._checks: List[Any] = []                             # of gradients, by hooks of groups
        self._untold: List[Tuple[int, Any]] = []
        self._heard: Any = None                                  # flights that threads of Gloo's tell of
        atexit.register(self._settle)
        atexit.register(self.close)
        self.seen = False  # whether all collectives are, without a communication hook
        self.others_call_back = False  # a hook of the user's does, from the same threads

    @guarded
    def watch(self) -> None:
        """Looks at all groups from now on."""
        import torch.distributed as dist
        import torch.distributed.distributed_c10d as c10d

        self._wrap_end(c10d, dist)
        self.seen = _collectives.has_hooks(c10d._get_default_group())
        if not self.seen:
            _group_methods.watch(self._flights_of_method)
            return
        for group in list(c10d._world.pg_map):
            self._add(group)
        register = c10d._register_pg_in_world

        @functools.wraps(register)
        def registered(pg: Any, *args: Any, **kwargs: Any) -> Any:
            result = register(pg, *args, **kwargs)
            self._add_later(pg)
            return result

        c10d._register_pg_in_world = registered

    def flights_of(self, group: Any) -> Any:
        """What the collectives of a group are told to."""
        import torch.distributed as dist

        number = self._number(group)
        if number not in self._flights:
            backend = str(dist.get_backend(group))
            own_lane = None
            if number != 0:
                own_lane = f"{backend} " + (
                    f"group {number}" if len(self._flights) <= _OWN_LANES else "other groups")
            flights = _collectives.flights(self._recorder, backend, number, group.size(),
                                           own_lane, self._steps.device_of)
            self._flights[number] = flights
            self._steps.follow(flights.set_step)
        return self._flights[number]

    def _flights_of_method(self, group: Any) -> Optional[Any]:
        """None of a group that the job does not know, or that is of a hook of Lockstep's, which tells
        itself what it does."""
        hooks = sys.modules.get("lockstep._hook_collectives")
        if hooks is not None and _collectives.name_of(group) in hooks.own_groups:
            return None
        if self._number(group) not in self._flights:
            try:
                self.flights_of(group)
            except (KeyError, RuntimeError, ValueError):
                return None
            self._tell_later(group)
        return self._flights[self._number(group)]

    def check(self, gradients: Any, group: Any) -> None:
        """Lets what DDP hands to its group be measured."""
        import torch.distributed as dist

        gradients.hook(group, dist.get_world_size(group))
        self._checks.append(gradients)

    def need(self) -> None:
        """Says what cannot be seen of a job that has no communication hook to see it by."""
        import torch.distributed as dist

        if not self.seen and dist.get_rank() == 0:
            self._recorder.send("problem", severity="warning", step=self._steps.number, text=(
                "of the collectives of its process groups this PyTorch shows those that Python asks "
                "for; from 2.14 on all are seen"))

    def _wrap_end(self, *modules: Any) -> None:
        """No thread of a group needs Python's lock any more as the job ends it."""
        destroy = modules[0].destroy_process_group

        @functools.wraps(destroy)
        def destroyed(*args: Any, **kwargs: Any) -> Any:
            self._settle()
            return destroy(*args, **kwargs)

        for module in modules:
            if module.destroy_process_group is destroy:
                module.destroy_process_group = destroyed

    @guarded
    def _settle(self) -> None:
        _collectives.drain(list(self._flights.values()))
        if self.others_call_back:  # when those let go is not known: theirs is the lock for a moment
            time.sleep(_MOMENT)

    def close(self) -> None:
        """Takes all hooks out: a group that ends with hooks of Python's takes the process along."""
        while self._hooks:
            self._hooks.pop().close()
        while self._checks:
            self._checks.pop().unhook()

    @guarded
    def _add_later(self, group: Any) -> None:
        self._add(group)

    def _add(self, group: Any) -> None:
        import torch.distributed as dist

        if _collectives.has_hooks(group):
            flights = self.flights_of(group)
            hooks = _collectives.GroupHooks(flights, group)
            self._hooks.append(hooks)
            self._tell_later(group)
            self._hear(flights, hooks, str(dist.get_backend(group)))

    def _hear(self, flights: Any, hooks: _collectives.GroupHooks, backend: str) -> None:
        """While the job has one group, threads of Gloo's tell of it: of several they do not say whose
        they are."""
        if self._heard is not None:
            self._heard.hear(False)
        elif len(self._flights) == 1 and backend == "gloo":
            self._heard = flights
            if _gloo_threads.listen(flights):
                hooks.take_unseen()

    def _number(self, group: Any) -> int:
        name = _collectives.name_of(group)
        if name not in self._numbers:
            number = int(name) if name.isdigit() and int(name) < _HASHED_FROM else (
                _HASHED_FROM + zlib.crc32(name.encode()) % _HASHED)
            while number in self._numbers.values() and number < 255:
                number += 1
            self._numbers[name] = number
        return self._numbers[name]

    def _tell_later(self, group: Any) -> None:
        """PyTorch knows a group's ranks a while after it made it."""
        if not self._untold:
            self._steps.as_next_begins(self._tell)
        self._untold.append((self._number(group), group))

    @guarded
    def _tell(self) -> None:
        """What the job calls its groups."""
        import torch.distributed as dist

        values = {}
        for number, group in self._untold:
            ranks = ", ".join(map(str, dist.get_process_group_ranks(group)))
            description = str(getattr(group, "group_desc", "")  # before 2.4 nobody describes one
                              or ("default_pg" if number == 0 else "undefined"))
            values[f"group.{number}"] = (description if number == 0
                                         else f"{description}: ranks {ranks}")
        self._untold.clear()
        self._recorder.send("environment", values=values)

