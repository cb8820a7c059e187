"""The recorder alone: no training, no studio."""

import os
import pathlib
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

from figures import ask, interval
from studio import EVENTS_PER_S, LOAD, RANKS, cpu_seconds, end, wait_for

SECONDS = 12
WARM_UP_S = 2
START_S = 2  # for all ranks to have begun
ROUNDS = 3
LIMIT_PERCENT = 12


def one_run(options):
    """The recorder's share of a core in percent, the events recorded a second, those dropped."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        experiment, run = folder / "load.toml", folder / "load.lockstep"
        experiment.write_text(LOAD)
        begin_s = time.monotonic() + START_S
        recording = subprocess.Popen(
            [options.bin / "lockstep", "run", experiment, "--out", run, "--quiet"],
            env=dict(os.environ, LOCKSTEP_RANK=str(options.bin / "bench_emit"),
                     EMIT_EVENTS_PER_S=str(EVENTS_PER_S / RANKS), EMIT_SECONDS=str(SECONDS),
                     EMIT_START_NS=str(int(begin_s * 1e9))))
        try:
            wait_for(run, recording)
            time.sleep(max(0, begin_s + WARM_UP_S - time.monotonic()))
            before, since = cpu_seconds(recording), time.monotonic()
            time.sleep(max(0, begin_s + SECONDS - 1 - time.monotonic()))
            percent = 100 * (cpu_seconds(recording) - before) / (time.monotonic() - since)
            if recording.wait(60) != 0:
                sys.exit("bench: the run of generators failed")
        finally:
            end(recording)
        with sqlite3.connect(run) as file:
            spans, = file.execute("SELECT count(*) FROM spans").fetchone()
            dropped, = file.execute("SELECT sum(events_dropped) FROM ranks").fetchone()
    return percent, spans / SECONDS, dropped


def recorder(options):
    """What recording 100,000 events a second of 8 processes that only emit takes of a core, as
    `lockstep run` does it, with no studio."""
    runs = [one_run(options) for _ in range(options.rounds or ROUNDS)]
    percent, events, dropped = zip(*runs)
    result = {"name": "recorder", "title": f"recorder at {EVENTS_PER_S:,} events/s, of a core",
              "unit": "%", "ours": statistics.median(percent), "ours_name": "lockstep run",
              "interval": interval(percent), "rounds": len(runs), "events_per_s": list(events),
              "dropped": list(dropped)}
    ask(result, "spans recorded a second", min(events), "", 0.95 * EVENTS_PER_S, True)
    ask(result, "events dropped", max(dropped), "", 0)
    ask(result, "recorder, of one core", result["ours"], "%", LIMIT_PERCENT)
    return result


BENCHMARKS = {"recorder": recorder}
