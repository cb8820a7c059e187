"""The points of a figure, and the questions that verdicts ask of them."""

import csv
from dataclasses import dataclass

from reproduction.measured import Measured


@dataclass(frozen=True)
class Point:
    """A measured value: in which panel of the figure, on which curve, over which x."""

    panel: str
    series: str
    x: float
    y: Measured
    ranks: int
    link: str


class Points:
    def __init__(self, points):
        self.all = list(points)

    def panels(self):
        return list(dict.fromkeys(point.panel for point in self.all))

    def series_of(self, panel):
        return list(dict.fromkeys(point.series for point in self.all if point.panel == panel))

    def curve(self, panel, series):
        """(x, value) of one curve, x ascending."""
        found = [(point.x, point.y) for point in self.all
                 if (point.panel, point.series) == (panel, series)]
        if not found:
            raise LookupError(f"there is no curve \"{series}\" in \"{panel}\"")
        return sorted(found, key=lambda pair: pair[0])

    def at(self, panel, series, x):
        for place, value in self.curve(panel, series):
            if place == x:
                return value
        raise LookupError(f"the curve \"{series}\" in \"{panel}\" has no point at {x:g}")

    def ranks(self):
        return sorted({point.ranks for point in self.all})

    def links(self):
        return list(dict.fromkeys(point.link for point in self.all))


def write_csv(points, cores, path):
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["panel", "series", "x", "value", "low", "high", "ranks", "cores", "link"])
        for point in points.all:
            rows.writerow([point.panel, point.series, f"{point.x:g}", f"{point.y.value:.6g}",
                           f"{point.y.low:.6g}", f"{point.y.high:.6g}", point.ranks, cores,
                           point.link])
