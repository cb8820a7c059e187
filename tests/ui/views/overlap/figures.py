"""What `lockstep info` and the overlap view say of a run is what its file says.

Usage: figures.py LOCKSTEP OVERLAP_TABLE [RUN...]

Computes overlap and exposed time of every iteration from the rows of the run file alone, by the
definitions in engine/analysis/RankActivity.h but by another road: a sweep over the moments at which
anything begins or ends, in whole ticks. Compares with each cell of the table that the overlap view
shows, to its last digit, and with `lockstep info --json`. Besides the runs named, it looks at a
made-up run that OVERLAP_TABLE writes.
"""

import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile

PHASES = ("forward", "backward", "optimizer")
SERVICE = ("copy_in", "copy_out", "hook_encode", "hook_decode", "wait", "finalize",
           "broadcast_buffers", "rebuild_buckets", "search_unused", "used_map", "sync_batch_norm",
           "zero_broadcast")
COPIES = ("scatter", "replicate", "gather", "reduce_gradients")
FLYING = ("collective", "checked", "shaped")
ASIDE = "bucket_optimizer"


class Run:
    def __init__(self, path):
        self.file = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        self.ns_per_tick = self.file.execute(
            "SELECT ns_per_tick FROM clocks ORDER BY id DESC LIMIT 1").fetchone()[0]
        self.spans = {}
        for rank, *span in self.file.execute(
                "SELECT rank, kinds.name, start, start + duration, step, bucket, spans.value FROM spans"
                " JOIN tracks ON tracks.id = track JOIN kinds ON kinds.kind = spans.kind"):
            self.spans.setdefault(rank, []).append(span)

    def ms(self, ticks):
        return ticks * self.ns_per_tick / 1e6

    def first_measured(self):
        steps = [span[3] for spans in self.spans.values() for span in spans if span[0] == "step"]
        first = min(steps)
        rebuilt = self.file.execute(
            "SELECT step FROM layouts WHERE reason = 'rebuild' AND step > ? ORDER BY layout",
            (first,)).fetchone()
        return (rebuilt[0] if rebuilt else first) + 1

    def steps(self):
        """Yields rank, step, and ticks by name, of every iteration."""
        for rank in sorted(self.spans):
            spans = self.spans[rank]
            moments = sorted(moments_of(spans, self.ns_per_tick))
            lost = {step for name, _, _, step, *_ in spans if name == "gap"}
            gaps = [(begin, end) for name, begin, end, *_ in spans if name == "gap"]
            phases = {}
            for name, begin, end, step, *_ in spans:
                phases[name, step] = phases.get((name, step), 0) + end - begin
            steps = sorted((s for s in spans if s[0] == "step"), key=lambda span: span[1])
            windows = [(begin, end) for _, begin, end, *_ in steps]
            for (_, begin, end, step, *_), ticks in zip(steps, sweep(moments, windows)):
                for phase in PHASES:
                    ticks[phase] = phases.get((phase, step), 0)
                ticks["step"] = end - begin
                dropped = step in lost or any(b < end and e > begin for b, e in gaps)
                yield rank, step, ticks, dropped


def moments_of(spans, ns_per_tick):
    """Yields when the number of open spans of a class changes: (ticks, class, by)."""
    gradients = [begin for name, begin, *_ in spans if name == "gradient_ready"]
    for name, begin, end, _, bucket, value in spans:
        classes = []
        if name == "backward":  # is over with its last gradient
            end = max((at for at in gradients if begin <= at <= end), default=end)
        if name == "off_core":  # somewhere in the span: in its middle
            waited = min(int(value / ns_per_tick), end - begin)
            begin += (end - begin - waited) // 2
            end = begin + waited
            classes.append("off core")
        if name in PHASES:
            classes.append("work")
        if name in SERVICE + COPIES or (name == "hook_communicate" and bucket is None):
            classes.append("service")
        if name in FLYING + COPIES:
            classes.append("flying")
        if name == ASIDE:
            classes.append("aside")
        for of in classes:
            if end > begin:
                yield begin, of, 1
                yield end, of, -1


def sweep(moments, windows):
    """Yields for each window, none overlapping another, its ticks by what goes on in it."""
    edges = sorted([(begin, 1, "") for begin, _ in windows] + [(end, 0, "") for _, end in windows] +
                   [(at, 2, of, by) for at, of, by in moments])
    open_spans = dict.fromkeys(("work", "service", "flying", "aside", "off core"), 0)
    ticks = None
    last = 0
    for at, what, *change in edges:
        if ticks is not None:
            computing = (open_spans["work"] > 0 and open_spans["service"] == 0 and
                         open_spans["off core"] == 0)
            computing = computing or open_spans["aside"] > 0
            flying = open_spans["flying"] > 0
            ticks["in_flight"] += (at - last) if flying else 0
            ticks["overlap"] += (at - last) if flying and computing else 0
            ticks["alone"] += (at - last) if computing and not flying else 0
        last = at
        if what == 0:
            ticks["exposed"] = ticks["in_flight"] - ticks["overlap"]
            yield ticks
            ticks = None
        elif what == 1:
            ticks = {"in_flight": 0, "overlap": 0, "alone": 0}
        else:
            open_spans[change[0]] += change[1]


def expected_rows(run):
    """Returns the cells that the table shows, without waiting, transfer and cause."""
    rows = []
    for rank, step, ticks, _ in run.steps():
        times = [run.ms(ticks[name]) for name in ("step", *PHASES, "in_flight", "overlap", "exposed")]
        share = f"{100.0 * ticks['overlap'] / ticks['in_flight']:.2f}" if ticks["in_flight"] else ""
        other = ticks["step"] - ticks["alone"] - ticks["overlap"] - ticks["exposed"]
        rows.append([str(rank), str(step), *(f"{ms:.3f}" for ms in times), share,
                     f"{run.ms(other):.3f}"])
    return rows


def check_table(path, run, table):
    shown = subprocess.run([table, path], check=True, capture_output=True, text=True).stdout
    lines = [line.split("\t") for line in shown.splitlines()]
    columns = [lines[0].index(title) for title in
               ("Rank", "Iteration", "Step ms", "Forward ms", "Backward ms", "Optimizer ms",
                "In flight ms", "Overlap ms", "Exposed ms", "Overlap %", "Other ms")]
    expected = expected_rows(run)
    assert len(lines) - 1 == len(expected), f"{len(lines) - 1} rows for {len(expected)} iterations"
    for line, row in zip(lines[1:], expected):
        cells = [line[column] for column in columns]
        assert cells == row, f"{path}: {cells} for {row}"
    return len(expected)


def check_info(path, run, lockstep):
    told = json.loads(subprocess.run([lockstep, "info", "--json", path], check=True,
                                     capture_output=True, text=True).stdout)
    first = run.first_measured()
    figures = []
    for rank in told["ranks"]:
        measured = [ticks for number, step, ticks, dropped in run.steps()
                    if number == rank["rank"] and step >= first and not dropped
                    and ticks["in_flight"]]
        for key, values in (
                ("overlap_percent", [100.0 * t["overlap"] / t["in_flight"] for t in measured]),
                ("exposed_ms", [run.ms(t["exposed"]) for t in measured])):
            expected = statistics.median(values) if values else None
            shown = (rank["figures"] or {}).get(key)
            where = f"{path}, rank {rank['rank']}: {key} {shown}, {expected}"
            assert (shown is None) == (expected is None), where
            if expected is not None:
                # Sums are in whole ticks there, and exact here.
                assert abs(shown - expected) <= 1e-6 * abs(expected), where
                figures.append(f"{key} {shown:.3f}")
    return ", ".join(figures) or "nothing in flight"


def main():
    lockstep, table, *paths = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        demo = os.path.join(folder, "demo.lockstep")
        subprocess.run([table, "--make", demo], check=True)
        for path in [demo, *paths]:
            run = Run(path)
            count = check_table(path, run, table)
            figures = check_info(path, run, lockstep)
            print(f"{os.path.basename(path)}: {count} iterations agree; {figures}")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main()
