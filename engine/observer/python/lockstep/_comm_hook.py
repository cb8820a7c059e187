"""What a PyTorch before 2.14 lets be seen of its buckets: what a communication hook sees."""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Set

from lockstep import _group_methods
from lockstep._guard import guarded


class CommHook:
    """Stands between DDP and its allreduce, or the user's own hook.

    DDP divides a gradient as it copies it into its bucket, and leaves that to a hook where there is
    one. This one does what DDP would have done to each gradient, so that no bit differs; it costs a
    pass over the bucket. The user's own tells what it does by the calls that it makes
    (``_group_methods``); one of Lockstep's tells it itself.
    """

    def __init__(self, model: Any, flights: Any, timed: Callable, registered: Callable,
                 gradients: Any) -> None:
        import torch.distributed as dist

        self._model = model
        self._flights = flights
        self._gradients = gradients  # who measures them; None where nobody asked
        self._group = model.process_group
        self._allreduce = _group_methods.unwatched("allreduce")
        self._size = dist.get_world_size(self._group)
        # Of gradient_as_bucket_view: where each gradient lies in its bucket, and those that were
        # there before this backward: they are divided where they lie, the others as they are copied.
        self._views: Optional[Dict[int, int]] = {} if model.gradient_as_bucket_view else None
        self._aliased: Set[int] = set()
        self._users: Optional[Callable] = None
        self._users_state: Any = None
        self._tells_itself = False
        self._timed = timed
        self._registered = registered
        # What a bucket's future holds takes Python's lock to be let go of, which a thread of the
        # group's must not wait for as the group ends: so this is the last to hold one.
        self._futures: Dict[int, Any] = {}
        try:
            model.register_comm_hook(None, self._hook)
        except RuntimeError as error:
            raise RuntimeError("this model has a communication hook already: watch the model before "
                               f"register_comm_hook ({error})") from error
        model.register_comm_hook = self._register

    def forward_begins(self) -> None:
        """Before DDP may rebuild its buckets, and move the gradients that lie in them."""
        if self._views is not None:
            self._aliased = {id(p) for p in self._model.parameters() if self._lies_in_bucket(p)}

    def backward_begins(self) -> None:
        if self._views is not None:
            self._aliased = {id(p) for p in self._model.parameters() if p.grad is not None
                             and (id(p) in self._aliased or self._lies_in_bucket(p))}

    def _lies_in_bucket(self, parameter: Any) -> bool:
        grad = parameter.grad
        return grad is not None and self._views.get(id(parameter)) == grad.data_ptr()

    def _register(self, state: Any, hook: Callable) -> None:
        """What the user calls in place of DDP's own function."""
        if self._users is not None:
            raise RuntimeError("register_comm_hook can only be called once.")
        self._tells_itself = getattr(hook, "tells_phases", False)
        self._users, self._users_state = self._timed(hook), state
        self._registered(hook)

    def _hook(self, _, bucket):  # DDP reads annotations, and takes none for right
        tensor = bucket.buffer()
        place = None
        if self._users is None:
            self._measure(bucket, tensor)
            self._divide(bucket, tensor)  # as DDP does before it launches a bucket
        if self._users is None or self._tells_itself:
            place = self._begin(bucket, tensor)
        if self._users is not None:
            future = self._users(self._users_state, bucket)
        else:  # dist.all_reduce asks again what DDP knows
            future = self._flights.result(-1 if place is None else place, self._allreduce(
                self._group, [tensor]).get_future())
        self._follow(place if self._tells_itself else None, bucket, future)
        return future

    @guarded
    def _measure(self, bucket: Any, tensor: Any) -> None:
        if self._gradients is not None:
            self._gradients.measure(bucket.index(), tensor)

    @guarded
    def _begin(self, bucket: Any, tensor: Any) -> int:
        place: int = self._flights.begin(bucket.index(), tensor.numel() * tensor.element_size(), tensor)
        return place

    @guarded
    def _follow(self, place: Optional[int], bucket: Any, future: Any) -> None:
        self._futures[bucket.index()] = future
        if place is not None:
            self._flights.follow(place, future)

    def _divide(self, bucket: Any, tensor: Any) -> None:
        if self._views is not None:
            for parameter, view in zip(bucket.parameters(), bucket.gradients()):
                if id(parameter) in self._aliased:
                    view.div_(self._size)
                else:
                    view.mul_(1.0 / self._size)
                self._views[id(parameter)] = view.data_ptr()
        else:
            tensor.mul_(1.0 / self._size)
