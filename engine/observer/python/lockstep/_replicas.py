"""Whether the ranks' parameters are still the same bits, and how far they are apart: hashes and
sketches that the recorder keeps, so that nothing is communicated."""

from __future__ import annotations

from typing import Any, List

from lockstep import _kinds, _reals
from lockstep._guard import guarded

VARIABLE = "LOCKSTEP_CHECK_REPLICAS"  # of `lockstep record --check-replicas N`


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
        self._every = every if every > 0 else _reals.asked_for(VARIABLE)
        if self._every > 0:
            self._parameters = parameters
            self._steps.before_step.append(self._look)

    def check_module(self, model: Any, every: int) -> None:
        """A module that is no DistributedDataParallel has told nobody its parameters' names."""
        if (every if every > 0 else _reals.asked_for(VARIABLE)) <= 0:
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
        tensors = [_reals.on_host(parameter) for parameter in self._parameters]
        reals = [_reals.reals_of(tensor) for tensor in tensors]
        places = [_reals.placed(*both) for both in zip(tensors, reals)]
        hashes, norms, sketch = _native.fingerprints(places)
        self._recorder.send("fingerprint", step=step, hashes=hashes, norms=norms, sketch=sketch)
        memory.ends(self._steps.lane, _kinds.FINGERPRINT, began, step, _kinds.NO_BUCKET,
                    sum(place[1] for place in places))
