"""No failure of ours is one of the job's."""

from __future__ import annotations

import contextlib
import functools
import warnings
from typing import Any, Callable, List

_given_up = False
when_given_up: List[Callable[[], None]] = []  # what is under way then is ended by these


def guarded(function: Callable) -> Callable:
    """What goes wrong in it is said once, and from then on nothing is observed in this process."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if _given_up:
            return None
        try:
            return function(*args, **kwargs)
        except Exception as error:  # whatever it is: the job is not ours to end
            _give_up(error)
            return None

    return call


def _give_up(error: BaseException) -> None:
    global _given_up
    if not _given_up:
        _given_up = True
        for end in when_given_up:
            with contextlib.suppress(Exception):
                end()
        what = str(error) or type(error).__name__
        warnings.warn(f"lockstep: this process is not observed: {what}", RuntimeWarning, stacklevel=4)
