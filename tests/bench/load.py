"""Processes that only emit events, recorded by `lockstep run`."""

import os
import subprocess
import time

RANKS = 8
EVENTS_PER_S = 100_000

# A job of many processes, each with little to say.
MANY = 256
MANY_EVENTS_PER_S = 1_000  # of each
MANY_RING_EVENTS = 4096

EXPERIMENT = """name = "load"
[model]
kind = "mlp"
layers = [784, 10]
[data]
kind = "mnist"
batch_size = 16
[processes]
world_size = {ranks}
[train]
steps = 1000000
"""


class Load:
    """What the processes emit, and what of it is kept. They begin `start_s` seconds after they are
    started."""

    def __init__(self, seconds, start_s, ranks=RANKS, events_per_s=EVENTS_PER_S, wake_ms=2,
                 capture=""):
        self.ranks, self.events_per_s, self.seconds = ranks, events_per_s, seconds
        self.start_s, self.wake_ms, self.capture = start_s, wake_ms, capture
        self.begin_s = None

    def environment(self, options):
        """What tells them; from now on it is `start_s` until they begin."""
        self.begin_s = time.monotonic() + self.start_s
        return dict(os.environ, LOCKSTEP_RANK=str(options.bin / "bench_emit"),
                    EMIT_EVENTS_PER_S=str(self.events_per_s / self.ranks),
                    EMIT_SECONDS=str(self.seconds), EMIT_WAKE_MS=str(self.wake_ms),
                    EMIT_START_NS=str(int(self.begin_s * 1e9)))

    def start(self, options, run):
        """Returns the process that records them into the file `run`."""
        experiment = run.with_suffix(".toml")
        experiment.write_text(EXPERIMENT.format(ranks=self.ranks) + self.capture)
        return subprocess.Popen(
            [options.bin / "lockstep", "run", experiment, "--out", run, "--quiet"],
            env=self.environment(options))

    def sleep_until(self, seconds):
        """Until so many seconds after they began."""
        time.sleep(max(0, self.begin_s + seconds - time.monotonic()))


def of_many(seconds, start_s, detail="full"):
    return Load(seconds, start_s, MANY, MANY * MANY_EVENTS_PER_S, wake_ms=20,
                capture=f'[capture]\nring_events = {MANY_RING_EVENTS}\ndetail = "{detail}"\n')
