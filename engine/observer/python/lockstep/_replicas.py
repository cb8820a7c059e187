"""Whether the ranks' parameters are still the same bits: hashes that the recorder compares, so that
nothing is communicated."""

from __future__ import annotations

import os
import struct
from typing import Any, List

from lockstep import _kinds
from lockstep._guard import guarded

VARIABLE = "LOCKSTEP_CHECK_REPLICAS"  # of `lockstep record --check-replicas N`
_WIDTHS = {"torch.float32": 4, "torch.float64": 8}


class Replicas:
    """Tells fingerprints of a model's parameters every so many iterations, as an iteration finds
    them, and once behind the last."""

    def __init__(self, recorder: Any, steps: Any) -> None:
        self._recorder = recorder
        self._steps = steps
        self._lane = 0
        self._parameters: List[Any] = []
        self._every = 0
        self._told = -1

    def check(self, parameters: List[Any], every: int) -> None:
        self._every = every if every > 0 else _asked_for()
        if self._every > 0:
            self._parameters = parameters
            self._steps.before_step.append(self._look)

    def check_module(self, model: Any, every: int) -> None:
        """A module that is no DistributedDataParallel has told nobody its parameters' names."""
        if (every if every > 0 else _asked_for()) <= 0:
            return
        named = list(model.named_parameters())
        if any(hasattr(p, "placements") for _, p in named):
            self._recorder.send("problem", severity="warning", step=self._steps.number, text=(
                "the parameters of this model are sharded: no rank holds a replica that could be "
                "compared"))
            return
        self._recorder.send("parameters", parameters=[
            {"name": name, "shape": list(p.shape), "dtype": str(p.dtype).replace("torch.", ""),
             "numel": p.numel(), "bytes": p.numel() * p.element_size()} for name, p in named])
        self.check([p for _, p in named], every)

    @guarded
    def _look(self, step: int) -> None:
        is_end = step % self._every != 0
        if step == self._told or (is_end and not self._steps.is_over):
            return
        from lockstep import _native

        self._told = step
        memory = self._recorder.memory
        began = memory.ticks()
        hashes, norms, read = [], [], 0
        for parameter in self._parameters:
            # Of a GPU's the bits are fetched, which waits for it.
            tensor = parameter.detach().cpu().contiguous()
            size = tensor.numel() * tensor.element_size()
            told, norm = _native.fingerprint(tensor.data_ptr(), size,
                                             _WIDTHS.get(str(tensor.dtype), 0))
            if str(tensor.dtype) not in _WIDTHS and tensor.is_floating_point():
                norm = float(tensor.double().norm())
            hashes.append(f"{told:016x}")
            norms.append(struct.pack(">d", norm).hex())
            read += size
        self._recorder.send("fingerprint", step=step, hashes="".join(hashes), norms="".join(norms),
                            sketch="")
        memory.ends(self._steps.lane, _kinds.FINGERPRINT, began, step, _kinds.NO_BUCKET, read)


def _asked_for() -> int:
    try:
        return int(os.environ.get(VARIABLE, "0"))
    except ValueError:
        return 0
