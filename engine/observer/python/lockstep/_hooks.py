"""Hooks of Lockstep's as communication hooks of PyTorch's DistributedDataParallel."""

from __future__ import annotations

import atexit
import gc
import math
import struct
import weakref
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch
import torch.distributed as dist

from lockstep import _hook_host, _hook_library, _hook_memory
from lockstep._hook_collectives import Group, global_ranks, timeout_of
from lockstep._hook_library import HookError
from lockstep._hook_optimizer import facts_of
from lockstep._hook_session import Session

_LAST = 1            # LOCKSTEP_BUCKET_LAST
_DEFAULT_LIMIT = 1800.0
_SIGNATURE = b"lockstep hook state 1\n"  # engine/hooks/plugin/detail/HookStates.h


class HookState:
    """A hook at work in this rank: what ``lockstep.hook`` returns first.

    Attributes:
        name: the hook's id.
        sent_bytes: what its collectives have sent so far, without headers.
        counters: what the hook counted (``lockstep_host::counter``), added up by key.
        replicas_drift: whether it lets ranks end with different parameters, by design.
    """

    def __init__(self, name: str, process_group: Any, optimizer: Any,
                 values: Dict[str, Any]) -> None:
        library, self._description = _hook_library.find(name)
        self.name = self._description.id
        given = _hook_library.values(self._description, values)
        if not self._description.devices & (1 << _hook_memory.CPU):
            raise HookError(f"hook '{self.name}' takes no gradients on the CPU, and PyTorch's are "
                            "only handed over from there")
        if not dist.is_initialized():
            raise HookError(f"hook '{self.name}': the job has no process group yet; call "
                            "init_process_group first")
        parent = dist.group.WORLD if process_group is None else process_group
        ranks = global_ranks(parent)
        timeout = timeout_of(parent)
        local = len(ranks) < dist.get_world_size()
        self._group = Group(ranks, timeout, local)
        limit = _DEFAULT_LIMIT if timeout is None else timeout.total_seconds()
        self._session = Session(
            library, self._description, given, self._group,
            lambda members: Group([ranks[member] for member in members], timeout, local), limit)
        _open.add(self)
        self._optimizer = optimizer
        self._facts: Optional[Tuple] = None
        self._step = 0
        self._waiting: List[Tuple[Any, int]] = []  # runs whose buckets' number is not known yet
        self._layout = _Layout(self.name)
        try:
            self._require_expressible()
        except HookError:
            self.close()
            raise
        self.replicas_drift = bool(self._session.host.drifts())

    def _require_expressible(self) -> None:
        """What PyTorch's communication hooks are not called for is refused."""
        host = self._session.host
        before, after, _ = host.around()
        if before or after:
            raise HookError(
                f"hook '{self.name}' works on the parameters "
                f"{'before each forward' if before else 'after each step of the optimizer'}, where a "
                "communication hook of PyTorch is not called; run it in Lockstep's engine")
        if not host.wants_optimizer():
            return
        replaces = HookError(
            f"hook '{self.name}' steps the parameters in the optimizer's place, which a "
            "communication hook of PyTorch cannot; run it in Lockstep's engine")
        if self._optimizer is None and host.has_update():
            raise replaces
        if self._optimizer is None:
            raise HookError(f"hook '{self.name}' has to know the optimizer: "
                            f"lockstep.hook('{self.name}', optimizer=optimizer)")
        self._tell_optimizer()
        if host.owns_update():
            raise replaces

    def _tell_optimizer(self) -> None:
        facts = facts_of(self.name, self._optimizer)
        if facts != self._facts:
            self._session.ask("configure", lambda: self._session.host.configure(*facts))
            self._facts = facts

    # -- a step -----------------------------------------------------------------------------------

    def run(self, bucket: Any) -> Any:
        """Averages a bucket: what DDP calls. Returns a future of its buffer."""
        self._session.require_usable()
        flat = bucket.buffer()
        self._require_taken(flat)
        index = bucket.index()
        if index == 0:
            self._begin_step(bucket)
        step, last = self._step, bucket.is_last()
        self._layout.add(bucket)
        run, future = self._session.prepare(f"bucket {index} of step {step}", flat, index)
        self._waiting.append((run, index))
        if self._layout.is_known(last):
            for ready, number in self._waiting:
                flags = _LAST if last and ready is run else 0
                self._session.begin(ready, self._layout.native(number), flags, step,
                                    self._group.size)
            self._waiting.clear()
        self._step += 1 if last else 0
        return future

    def _begin_step(self, bucket: Any) -> None:
        self._waiting.clear()  # of a backward that failed
        self._layout.begin_step(bucket)
        if self._optimizer is not None and self._session.host.wants_optimizer():
            self._tell_optimizer()

    def _require_taken(self, flat: Any) -> None:
        if flat.layout != torch.strided:
            raise HookError(f"hook '{self.name}' takes no sparse gradients")
        if flat.device.type != "cpu":
            raise HookError(f"hook '{self.name}' was given gradients on {flat.device}; hooks of "
                            "Lockstep take them on the CPU alone in PyTorch")
        number = _hook_memory.NUMBERS.get(flat.dtype, 0)
        if not number or not self._description.dtypes & (1 << number):
            raise HookError(f"hook '{self.name}' does not take buckets of {str(flat.dtype)[6:]}")

    # -- between steps ------------------------------------------------------------------------------

    def set(self, **values: Any) -> None:
        """Changes live parameters of the hook, between two steps; the same ones on every rank."""
        for key, given in values.items():
            param = next((p for p in self._description.params if p["key"] == key), None)
            if param is None or not param["live"]:
                raise HookError(f"hook '{self.name}': {key} cannot change during a run")
            raw = _hook_library.value(self._description, param, given)
            if self._session.ask(f"changing {key}", lambda: self._session.host.set(*raw)) is None:
                raise HookError(f"hook '{self.name}': {key} cannot change during a run")

    def state_dict(self) -> Dict[str, Any]:
        """What a checkpoint of this rank keeps of the hook, between two steps.

        Each rank keeps its own, since hooks remember what they have not sent yet.
        """
        saved = self._session.ask("saving its state", self._session.host.save)
        state = b""
        if saved is not None:
            _, schema, content = saved
            name = self.name.encode()
            state = (_SIGNATURE + struct.pack("<Q", len(name)) + name +
                     struct.pack("<QQ", schema, len(content)) + content)
        return {"hook": self.name, "rank": self._group.rank, "world_size": self._group.size,
                "step": self._step, "state": torch.frombuffer(bytearray(state), dtype=torch.uint8)
                if state else torch.empty(0, dtype=torch.uint8)}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """Goes on where ``state_dict`` was taken. Before the first step, or between two."""
        missing = [key for key in ("hook", "rank", "world_size", "step", "state") if key not in state]
        if missing:
            raise HookError(f"hook '{self.name}': this is no state of a hook: it has no "
                            f"{missing[0]}")
        if state["hook"] != self.name:
            raise HookError(f"hook '{self.name}': the state is one of hook '{state['hook']}'")
        if state["rank"] != self._group.rank:
            raise HookError(f"hook '{self.name}': the state is that of rank {state['rank']}, and this "
                            f"is rank {self._group.rank}: each rank saves its own")
        kept = state["state"].cpu().contiguous()
        content = _hook_host.memory(kept.data_ptr(), kept.numel()).tobytes() if len(kept) else b""
        schema, hook_bytes = self._unpack(content)
        if schema is not None:
            world = int(state["world_size"])
            answer = self._session.ask("loading its state", lambda: self._session.host.load(
                schema, world, hook_bytes))
            if answer is None:
                raise HookError(f"hook '{self.name}': the checkpoint holds a state that it cannot "
                                "read")
        elif self._session.ask("saving its state", self._session.host.save) is not None:
            raise HookError(f"hook '{self.name}': the checkpoint holds no state of it")
        self._step = int(state["step"])

    def _unpack(self, content: bytes) -> Tuple[Optional[int], bytes]:
        if not content:
            return None, b""
        at = len(_SIGNATURE)
        try:
            if content[:at] != _SIGNATURE:
                raise ValueError
            length, = struct.unpack_from("<Q", content, at)
            at += 8 + length
            schema, size = struct.unpack_from("<QQ", content, at)
            if len(content) != at + 16 + size:
                raise ValueError
        except (struct.error, ValueError, OverflowError):
            raise HookError(f"hook '{self.name}': its state in the checkpoint is damaged") from None
        return schema, content[at + 16:]

    @property
    def sent_bytes(self) -> int:
        return self._session.sent_bytes

    @property
    def counters(self) -> Dict[str, float]:
        return dict(self._session.counters)

    def close(self) -> None:
        """Ends the hook, which cannot be used after; done at exit, too."""
        self._session.close()
        _open.discard(self)


_Members = Tuple[List[int], List[List[int]]]  # a bucket's parameters: numbers, shapes
_LEARNING = 3  # steps: DDP rebuilds its buckets once, before its second or third backward


class _Layout:
    """Which parameters lie where: DDP's buckets, by the numbers of the parameters.

    A hook may ask how many buckets a step has, which PyTorch tells with the last one. So in the first
    steps, and where a bucket is not as it was, buckets are handed over when the last has come.
    """

    def __init__(self, hook: str) -> None:
        self._hook = hook
        self._ids: Dict[int, int] = {}     # by id() of a parameter, which self._model keeps alive
        self._model: Any = None
        self._number = -1                  # of the layout
        self._known: List[_Members] = []   # of each bucket
        self._native: Dict[int, Any] = {}  # by index
        self._seen: List[_Members] = []    # in this step
        self._learns = True
        self._steps = 0

    def begin_step(self, bucket: Any) -> None:
        """Before the first bucket of a step is added."""
        if self._model is None:
            self._find_model(bucket)
        join = getattr(self._model, "_join_config", None)
        if getattr(join, "enable", False):
            raise HookError(f"hook '{self._hook}': Join is not offered: a communication hook of "
                            "PyTorch is not told which ranks have run out of inputs")
        self._steps += 1
        self._learns = self._steps <= _LEARNING
        self._seen = []

    def add(self, bucket: Any) -> None:
        """The step's next bucket."""
        members = self._of(bucket), [list(gradient.shape) for gradient in bucket.gradients()]
        index = len(self._seen)
        self._seen.append(members)
        if index >= len(self._known) or members != self._known[index]:
            self._learns = True

    def is_known(self, last: bool) -> bool:
        """Whether the buckets that were added can be shown to the hook."""
        if last and self._seen != self._known:
            self._known, self._native = self._seen, {}
            self._number += 1
        return last or not self._learns

    def native(self, index: int) -> Any:
        """A bucket as the plugin sees it."""
        if index not in self._native:
            ids, shapes = self._known[index]
            lengths = [math.prod(shape) for shape in shapes]
            offsets = [sum(lengths[:i]) for i in range(len(lengths))]
            self._native[index] = _hook_host.Bucket(index, len(self._known), self._number, ids,
                                                    offsets, lengths, shapes)
        return self._native[index]

    def _of(self, bucket: Any) -> List[int]:
        try:
            return [self._ids[id(parameter)] for parameter in bucket.parameters()]
        except KeyError:
            raise HookError(f"hook '{self._hook}' belongs to another model: each "
                            "DistributedDataParallel takes a hook of its own") from None

    def _find_model(self, bucket: Any) -> None:
        wanted = {id(parameter) for parameter in bucket.parameters()}
        for candidate in _models_of(bucket.parameters()[0]):
            reduced = list(candidate._build_params_for_reducer()[0])
            if wanted <= {id(parameter) for parameter in reduced}:
                self._model = candidate
                self._ids = {id(parameter): i for i, parameter in enumerate(reduced)}
                return
        raise HookError(f"hook '{self._hook}' was called for a bucket of no DistributedDataParallel")


def _models_of(parameter: Any) -> List[Any]:
    """The DistributedDataParallels that hold a parameter, which PyTorch does not tell a hook.

    By what refers to it, and to that: dictionaries and modules. Not by a list of all objects, which
    would keep tensors alive that PyTorch is about to free.
    """
    found: List[Any] = []
    level: List[Any] = [parameter]
    seen = {id(parameter)}
    while level and not found:
        above = []
        for holder in gc.get_referrers(*level):
            if id(holder) in seen or not (issubclass(type(holder), dict)
                                          or issubclass(type(holder), torch.nn.Module)):
                continue
            seen.add(id(holder))
            above.append(holder)
            if (issubclass(type(holder), torch.nn.parallel.DistributedDataParallel)
                    and "reducer" in holder.__dict__):
                found.append(holder)
        level = above
    return found


def hook(name: str, *, process_group: Any = None, optimizer: Any = None,
         **values: Any) -> Tuple[HookState, Callable]:
    """A hook of Lockstep's, or one of your own, for DistributedDataParallel.

        ddp.register_comm_hook(*lockstep.hook("powersgd", rank=2))

    Args:
        name: a hook that ``lockstep hooks`` lists; the path of a library with one, "my_hook.so"; or
            of one with several, and the hook, "my_hooks.so:second".
        process_group: DDP's, if it was given one. The hook communicates over a group of its own with
            the same ranks, so that all of them have to call this, in the same order.
        optimizer: for a hook that has to know it: ``torch.optim`` SGD, Adam or AdamW.
        values: the hook's parameters; others begin as ``lockstep hooks NAME`` says.

    Returns:
        What ``register_comm_hook`` takes: the hook's state, which has ``state_dict()`` and
        ``load_state_dict()``, and the function that DDP calls.

    Raises:
        HookError: one sentence. Where a bucket fails, ``backward()`` raises PyTorch's RuntimeError with
            that sentence in it.
    """
    state = HookState(name, process_group, optimizer, values)

    def run(state, bucket):  # DDP reads annotations, and takes none for right
        return state.run(bucket)

    run.__name__ = run.__qualname__ = f"lockstep_{state.name}"
    run.tells_phases = True  # type: ignore[attr-defined]
    return state, run


_open: "weakref.WeakSet[HookState]" = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for state in list(_open):
        state.close()
