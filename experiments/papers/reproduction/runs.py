"""Runs of a sweep, read back through `lockstep info` and `lockstep export`."""

import functools
import os
import statistics
import tomllib
from collections import defaultdict

from reproduction.lockstep import Failure


def number(text):
    """A number of a table; None where the table knows none."""
    return float(text) if text else None


class Run:
    def __init__(self, lockstep, path):
        self.lockstep = lockstep
        self.path = path
        self.info = lockstep.info(path)
        self.settings = tomllib.loads(self.info["experiment"])

    @property
    def label(self):
        """What the sweep varies in this run; empty outside of a sweep."""
        return self.get("sweep.run", "")

    @property
    def experiment(self):
        """The name that stands in the experiment file."""
        return self.info["name"].removesuffix(f" {self.label}") if self.label else self.info["name"]

    @property
    def ranks(self):
        return self.info["world_size"]

    def get(self, key, default=None):
        """The value of a key of the experiment, as "ddp.bucket_cap_mb"."""
        value = self.settings
        for part in key.split("."):
            if not isinstance(value, dict) or part not in value:
                return default
            value = value[part]
        return value

    @functools.lru_cache(maxsize=None)
    def table(self, name):
        return self.lockstep.table(self.path, name)

    def measured_steps(self):
        """As tables have them, the warm-up left out."""
        return {row["step"] for row in self.table("steps") if row["measured"] == "1"}

    def by_step(self, column, table="steps", over_ranks=statistics.fmean):
        """(step, value) over the measured steps, ranks put together by `over_ranks`."""
        measured = self.measured_steps()
        values = defaultdict(list)
        for row in self.table(table):
            if row["step"] in measured and row[column]:
                values[int(row["step"])].append(float(row[column]))
        if not values:
            raise Failure(f"{self.path} has no measured step with {column}")
        return [(step, over_ranks(values[step])) for step in sorted(values)]

    def step_ms(self, since=0, before=None):
        return [value for step, value in self.by_step("step_ms")
                if step >= since and (before is None or step < before)]

    def allreduces(self):
        """(bytes, ms from when the last rank came to the last end) of those in measured steps."""
        measured, calls = self.measured_steps(), defaultdict(list)
        for row in self.table("collectives"):
            if row["operation"] == "allreduce" and row["step"] in measured and row["transfer_ms"]:
                calls[row["group"], row["sequence"]].append(row)
        return [(int(rows[0]["bytes"]), max(float(row["transfer_ms"]) for row in rows))
                for rows in calls.values()]

    def buckets(self):
        """How many the last layout has."""
        return len(self.info["buckets"]["rebuilt"])

    def bytes_a_step(self):
        """Sent by a rank in a step, on average over ranks and all steps of the run."""
        sent = statistics.fmean(rank["wire_bytes"] for rank in self.info["ranks"])
        return sent / self.info["steps"]

    def samples(self, name):
        """What ranks sampled of a counter, in the order of time."""
        rows = [row for row in self.table("counters") if row["name"] == name]
        return [float(row["value"]) for row in sorted(rows, key=lambda row: float(row["at_ms"]))]

    def metric(self, name):
        """(step, mean over ranks) of a loss or an evaluation."""
        values = defaultdict(list)
        for row in self.table("loss"):
            if row["name"] == name:
                values[int(row["step"])].append(float(row["value"]))
        return [(step, statistics.fmean(values[step])) for step in sorted(values)]

    def link(self):
        """The link in words, for captions."""
        link = self.get("link", {})
        if link.get("preset", "none") != "none":
            text = link["preset"]
        else:
            speed, latency = link.get("bandwidth_gbps", 0), link.get("latency_us", 0)
            parts = ([f"{speed:g} Gbit/s"] if speed else []) + (
                [f"{latency:g} us"] if latency else [])
            text = ", ".join(parts) or "unshaped"
        if link.get("ranks_per_node", 1) > 1:
            inside = link.get("inside_bandwidth_gbps", 0)
            text += f" between nodes of {link['ranks_per_node']}, " + (
                f"{inside:g} Gbit/s inside" if inside else "unshaped inside")
        if link.get("simulate_anyway"):
            text += ", simulated"
        return text


def found_in(lockstep, folder, experiments):
    """The runs to their end in a folder of experiments of these names, the last one of each label."""
    paths = sorted(folder.rglob("*.lockstep"), key=os.path.getmtime)
    runs = {}
    for path in paths:
        run = Run(lockstep, path)
        if run.experiment in experiments and run.info["state"] in ("finished", "diverged"):
            runs[run.experiment, run.label] = run
    return list(runs.values())
