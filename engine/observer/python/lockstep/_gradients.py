"""How large this rank's own gradients are, and whether all of them are finite: of each bucket, before
it is averaged."""

from __future__ import annotations

import bisect
import itertools
import math
from typing import Any, Dict, List, Optional, Union

from lockstep import _kinds, _reals
from lockstep._guard import guarded

VARIABLE = "LOCKSTEP_CHECK_GRADIENTS"  # every so many iterations; 0: never
_HOOK_ID = 0x4C4C  # ours among a group's hooks
_WHOLE_BUCKET = 1


class Gradients:
    """Measures the buckets of every n-th iteration of a model, each before it is handed on.

    Who has a bucket in hand calls ``measure``. Where nobody has, since DDP hands it straight to its
    process group, ``hook`` sees it there: divided by the number of ranks already.
    """

    def __init__(self, recorder: Any, steps: Any, lane: int, every: int) -> None:
        self._recorder = recorder
        self._steps = steps
        self._lane = lane
        self._every = every
        self._is_due = False
        self._told: Dict[int, Dict[str, Union[int, float, str]]] = {}
        self._members: List[List[int]] = []
        self._starts: List[List[int]] = []  # of each bucket's parameters, in elements
        self._sizes: List[int] = []
        self._divisor = 1
        self._group: Any = None

    def hook(self, group: Any, world_size: int) -> None:
        """Looks at what DDP hands to its process group; until ``unhook``."""
        self._divisor = world_size
        self._group = group
        group.register_pre_hook(_HOOK_ID, self._before)

    def unhook(self) -> None:
        """A communication hook has the buckets in hand now, or the job is over."""
        group, self._group = self._group, None
        if group is not None:
            group.unregister_pre_hook(_HOOK_ID)

    def backward_begins(self, members: List[List[int]], numels: List[int], sizes: List[int]) -> None:
        """A backward that synchronises buckets with these parameters, which have so many elements."""
        self._is_due = self._steps.number % self._every == 0
        self._told = {}
        if self._is_due and members is not self._members:
            self._members, self._sizes = members, sizes
            self._starts = [[0, *itertools.accumulate(numels[p] for p in bucket)]
                            for bucket in members]

    def backward_ends(self) -> None:
        if self._told:
            self._recorder.send("gradients", step=self._steps.number,
                                buckets=[self._told[bucket] for bucket in sorted(self._told)])
        self._is_due = False

    @guarded
    def _before(self, args: Any) -> None:
        bucket = len(self._told)
        if not self._is_due or bucket >= len(self._sizes):
            return
        tensors = args.input_tensors
        if (str(args.name).rpartition(".")[2] == "ALLREDUCE" and len(tensors) == 1
                and tensors[0].numel() == self._sizes[bucket]):
            self._measure(bucket, tensors[0], self._divisor)

    def measure(self, bucket: int, flat: Any) -> None:
        """Of a bucket before anything is done to it."""
        if self._is_due and self._group is None:
            self._measure(bucket, flat, 1)

    def _measure(self, bucket: int, flat: Any, divisor: int) -> None:
        import torch
        from lockstep import _native

        if flat.layout != torch.strided or bucket >= len(self._starts):
            return
        memory = self._recorder.memory
        began = memory.ticks()
        reals = _reals.reals_of(_reals.on_host(flat))
        squares, largest, nans, infinities, place = _native.tally(
            reals.data_ptr(), reals.numel(), reals.element_size())
        told: Dict[str, Union[int, float, str]] = {
            "bucket": bucket, "norm": _number(math.sqrt(squares) * divisor),
            "largest": _number(largest * divisor), "nans": nans, "infinities": infinities}
        first = self._parameter_at(bucket, place * flat.numel() // max(1, reals.numel()))
        if place >= 0 and first is not None:
            told["parameter"] = first
        self._told[bucket] = told
        memory.ends(self._lane, _kinds.GRADIENT_CHECK, began, self._steps.number, bucket,
                    flat.numel() * flat.element_size(), _WHOLE_BUCKET)

    def _parameter_at(self, bucket: int, element: int) -> Optional[int]:
        at = bisect.bisect_right(self._starts[bucket], element) - 1
        return self._members[bucket][at] if 0 <= at < len(self._members[bucket]) else None


def _number(value: float) -> Union[float, str]:
    """As a message has it: JSON has no infinity."""
    return value if math.isfinite(value) else "inf"
