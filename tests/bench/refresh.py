"""What a refresh of the live analysis, and of the views of it, costs as a run grows."""

import json
import statistics
import subprocess

from figures import ask, interval

MINUTES = (1, 10, 60)
ROUNDS = 60
GROWTH = 1.2


class Run:
    """A run in memory after so many minutes, which goes on by two seconds for each turn()."""

    def __init__(self, program, minutes):
        self.process = subprocess.Popen([program, str(minutes)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.row = {"refresh_ms": [], "views_ms": {}, **self.read()}

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"bench_refresh ended with {self.process.wait()}")
        return json.loads(line)

    def turn(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        took = self.read()
        self.row["refresh_ms"].append(took["refresh_ms"])
        for view, ms in took["views_ms"].items():
            self.row["views_ms"].setdefault(view, []).append(ms)

    def end(self):
        self.process.stdin.close()
        self.row.update(self.read())
        self.process.wait()
        return self.row


def growth(young, old):
    """How many times the one the other is: the median over pairs of turns, which what else the
    machine did met alike."""
    return statistics.median(after / before for before, after in zip(young, old))


def studio_refresh(options):
    """Processor time of a refresh of the live analysis after 60 minutes of a run of 2 ranks, steps
    of 50 ms and 15 buckets, against that after 1 minute: at most 1.2 of it; and likewise of what
    the views of overlap, hooks and divergence make of it, each with its refresh. Runs of either age
    take turns."""
    runs = [Run(options.bin / "bench_refresh", minutes) for minutes in MINUTES]
    for _ in range(options.rounds or ROUNDS):
        for run in runs:
            run.turn()
    rows = [run.end() for run in runs]
    result = {"name": "studio_refresh", "title": "refresh of the live analysis after 60 minutes",
              "unit": "ms", "ours": statistics.median(rows[-1]["refresh_ms"]),
              "ours_name": "a refresh", "interval": interval(rows[-1]["refresh_ms"]),
              "refreshes": rows, "lines": []}
    for row in rows:
        low, high = interval(row["refresh_ms"])
        result["lines"].append(f"{row['minutes']:2} min, {row['spans']:>10,} spans "
                               f"{statistics.median(row['refresh_ms']):8.2f} ms "
                               f"[{low:.2f}, {high:.2f}], all at once {row['whole_ms']:10.1f} ms")
    ask(result, "after 60 minutes over after 1",
        growth(rows[0]["refresh_ms"], rows[-1]["refresh_ms"]), "", GROWTH)
    for view in rows[0]["views_ms"]:
        shown = [[sum(ms) for ms in zip(row["refresh_ms"], row["views_ms"][view])] for row in rows]
        result["lines"].append(f"with the view {view}: " +
                               ", ".join(f"{minutes} min {statistics.median(ms):.2f} ms"
                                         for minutes, ms in zip(MINUTES, shown)))
        ask(result, f"with the view {view}, after 60 minutes over after 1",
            growth(shown[0], shown[-1]), "", GROWTH)
    return result


BENCHMARKS = {"studio_refresh": studio_refresh}
