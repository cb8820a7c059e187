"""The recorder alone: no training, no studio."""

import pathlib
import sqlite3
import statistics
import sys
import tempfile
import time

from figures import ask, interval
from load import EVENTS_PER_S, MANY, MANY_EVENTS_PER_S, Load, of_many
from studio import cpu_seconds, end, wait_for

SECONDS = 12
WARM_UP_S = 2
START_S = 2  # for all ranks to have begun
ROUNDS = 3
LIMIT_PERCENT = 12

MANY_SECONDS = 20
MANY_START_S = 15
MANY_LIMIT_PERCENT = 25  # of a core, for 100,000 events a second


def one_run(options, load):
    """The recorder's share of a core in percent, the events emitted a second as far as they were
    recorded, those dropped, and the bytes of the file."""
    with tempfile.TemporaryDirectory() as folder:
        run = pathlib.Path(folder) / "load.lockstep"
        recording = load.start(options, run)
        try:
            wait_for(run, recording)
            load.sleep_until(WARM_UP_S)
            before, since = cpu_seconds(recording), time.monotonic()
            load.sleep_until(load.seconds - 1)
            percent = 100 * (cpu_seconds(recording) - before) / (time.monotonic() - since)
            if recording.wait(120) != 0:
                sys.exit("bench: the run of generators failed")
        finally:
            end(recording)
        with sqlite3.connect(run) as file:
            spans, = file.execute("SELECT count(*) FROM spans").fetchone()
            dropped, = file.execute("SELECT sum(events_dropped) FROM ranks").fetchone()
            ranks, = file.execute("SELECT count(DISTINCT rank) FROM tracks").fetchone()
        if ranks != load.ranks:
            sys.exit(f"bench: {ranks} of {load.ranks} generators were recorded")
        return percent, spans / load.seconds, dropped, run.stat().st_size


def recorder(options):
    """What recording 100,000 events a second of 8 processes that only emit takes of a core, as
    `lockstep run` does it, with no studio."""
    runs = [one_run(options, Load(SECONDS, START_S)) for _ in range(options.rounds or ROUNDS)]
    percent, events, dropped, _ = zip(*runs)
    result = {"name": "recorder", "title": f"recorder at {EVENTS_PER_S:,} events/s, of a core",
              "unit": "%", "ours": statistics.median(percent), "ours_name": "lockstep run",
              "interval": interval(percent), "rounds": len(runs), "events_per_s": list(events),
              "dropped": list(dropped)}
    ask(result, "spans recorded a second", min(events), "", 0.95 * EVENTS_PER_S, True)
    ask(result, "events dropped", max(dropped), "", 0)
    ask(result, "recorder, of one core", result["ours"], "%", LIMIT_PERCENT)
    return result


def many(options):
    """256 processes that only emit, 1,000 events a second each, recorded by `lockstep run` with all
    of their events and with outliers alone: events dropped, what recording takes of a core, and
    how large the file is."""
    total = MANY * MANY_EVENTS_PER_S
    kept = {detail: of_many(MANY_SECONDS, MANY_START_S, detail) for detail in ("full", "outliers")}
    runs = {detail: one_run(options, load) for detail, load in kept.items()}
    share = {detail: run[0] * 100_000 / total for detail, run in runs.items()}
    result = {"name": "many", "title": f"recorder of {MANY} ranks, of a core for 100,000 events/s",
              "unit": "%", "ours": share["full"], "ours_name": "lockstep run", "interval": None,
              "rounds": 1, "runs": runs}
    ask(result, "spans recorded a second", runs["full"][1], "", 0.95 * total, True)
    for detail, run in runs.items():
        ask(result, f"{detail}: events dropped", run[2], "", 0)
        ask(result, f"{detail}: recorder, of one core", share[detail], "%", MANY_LIMIT_PERCENT)
    result["lines"].append(f"the file: {runs['full'][3] / 2**20:.0f} MiB with full detail, "
                           f"{runs['outliers'][3] / 2**20:.0f} MiB with outliers")
    return result


BENCHMARKS = {"recorder": recorder, "many": many}
