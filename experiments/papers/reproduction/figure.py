"""What a figure is made of: its experiments, how its points are taken, and its rule."""

from collections.abc import Callable
from dataclasses import dataclass, field

from reproduction.points import Point


@dataclass(frozen=True)
class Panel:
    """One pair of axes. `y` names it. Without `numbers`, x are categories in even steps, called by
    `names` where these have a name for one."""

    y: str
    x: str
    names: dict = field(default_factory=dict)
    numbers: bool = False
    scale: str = "linear"  # "log", or "symlog" where a value can be zero


@dataclass(frozen=True)
class Figure:
    """`files` are experiments, by their path from this folder without .toml; the first has the name
    of the figure. `take` makes points of {file name: runs}; `judge` a verdict of points alone."""

    name: str
    paper: str
    shape: str
    files: tuple
    panels: tuple
    take: Callable
    judge: Callable
    # {file: settings(lockstep, runs)}: what of the runs of files before it, which are all there then,
    # an experiment is run with, as "KEY=VALUE".
    settings: dict = field(default_factory=dict)


def point(run, panel, series, x, y):
    return Point(panel, series, float(x), y, run.ranks, run.link())
