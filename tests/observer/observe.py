"""Records jobs of PyTorch (job.py) and holds what the run file says against what PyTorch says.

Usage: observe.py --bin FOLDER CASE
"""

import argparse
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

JOB = pathlib.Path(__file__).resolve().with_name("job.py")
STEPS = 12
ROUNDING = 2  # ns, of ticks


class Wrong(Exception):
    """The observer is not as it should be."""


def check(holds, what):
    if not holds:
        raise Wrong(what)


def run(command):
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=100,
                          env=environment)
    ranks = {}
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            told = json.loads(line)
            ranks[told["rank"]] = told
    return done, ranks


def alone(world, *ways):
    """The job as it is without anybody who looks on."""
    done, ranks = run([sys.executable, JOB, world, STEPS, *ways])
    check(done.returncode == 0, f"the job itself failed: {done.stderr}")
    return ranks


class Recorded:
    """A job under `lockstep record`, and its run file."""

    def __init__(self, options, world, *ways, attach="watch"):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name) / "run.lockstep"
        self.done, self.ranks = run([
            options.bin / "lockstep", "record", "--quiet", "--attach", attach, "--out", self.path,
            "--", sys.executable, JOB, world, STEPS, *(["watch"] if attach == "watch" else []),
            *ways])
        self.file = sqlite3.connect(self.path) if self.path.exists() else None

    def rows(self, query, *values):
        return self.file.execute(query, values).fetchall()

    def good(self):
        check(self.done.returncode == 0, f"exit code {self.done.returncode}: {self.done.stderr}")
        check("not observed" not in self.done.stderr, self.done.stderr)
        check(self.file is not None, "no run file: " + self.done.stderr)
        return self

    def same_as(self, ranks):
        check(self.ranks.keys() == ranks.keys(), "not every rank came to its end")
        for rank, told in ranks.items():
            check(self.ranks[rank]["losses"] == told["losses"], f"losses of rank {rank} differ")
            check(self.ranks[rank]["weights"] == told["weights"], f"weights of rank {rank} differ")
        return self


def starts(run_, rank, kind, step):
    """(start, end, bucket, value) of the spans of one kind, in their order."""
    return run_.rows(
        "SELECT start_ns, start_ns + duration_ns, bucket, value FROM spans_ns WHERE rank = ? AND "
        "kind = ? AND step = ? ORDER BY start_ns", rank, kind, step)


def check_iterations(run_, world, steps):
    """Each iteration is whole, and its parts lie where they must."""
    for rank in range(world):
        for step in range(steps):
            for kind in ("step", "forward", "backward", "optimizer"):
                check(len(starts(run_, rank, kind, step)) == 1,
                      f"rank {rank}, step {step}: {starts(run_, rank, kind, step)} of {kind}")
            whole, = starts(run_, rank, "step", step)
            forward, = starts(run_, rank, "forward", step)
            backward, = starts(run_, rank, "backward", step)
            optimizer, = starts(run_, rank, "optimizer", step)
            order = [whole[0], forward[0], forward[1], backward[0], backward[1], optimizer[0],
                     optimizer[1], whole[1]]
            check(all(a <= b + ROUNDING for a, b in zip(order, order[1:])),
                  f"rank {rank}, step {step}: {order}")


def check_buckets(run_, world, steps, parameters):
    """Every gradient of every iteration, every bucket, and what became of it."""
    layouts = dict(run_.rows("SELECT layout, step FROM layouts"))
    last = max(layouts)
    sizes = [size for size, in run_.rows(
        "SELECT bytes FROM buckets WHERE layout = ? ORDER BY bucket", last)]
    told = [int(size) for size in str(run_.ranks[0]["bucket_sizes"]).replace(",", " ").split()]
    check(sorted(sizes) == sorted(told), f"buckets of {sizes} bytes, and DDP says {told}")
    for rank in range(world):
        for step in range(layouts[last], steps):
            backward, = starts(run_, rank, "backward", step)
            ready = starts(run_, rank, "gradient_ready", step)
            check(sorted(value for *_, value in ready) == list(range(parameters)),
                  f"rank {rank}, step {step}: gradients {ready}")
            launched = starts(run_, rank, "bucket_launched", step)
            flown = starts(run_, rank, "collective", step)
            check([bucket for _, _, bucket, _ in launched] == list(range(len(sizes))),
                  f"rank {rank}, step {step}: launched {launched}")
            check(sorted(row[2] for row in flown if row[2] is not None)
                  == list(range(len(sizes))), f"rank {rank}, step {step}: collectives {flown}")
            for start, _, bucket, _ in launched:
                mine = [at for at, _, of, _ in ready if of == bucket]
                check(max(mine) - 1_000_000 <= start, f"bucket {bucket} went before its gradients")
                check(backward[0] <= start <= backward[1], f"bucket {bucket} went elsewhere")
            for start, end, bucket, _ in flown:
                check(bucket is None or end <= backward[1] + 1000,
                      f"rank {rank}, step {step}: bucket {bucket} ended behind its backward")


PARAMETERS = 8


def case_same(options, world, *ways):
    """What the job computes is bit for bit the same, and everything of it is seen."""
    run_ = Recorded(options, world, *ways).good().same_as(alone(world, *ways))
    check_iterations(run_, world, STEPS)
    check_buckets(run_, world, STEPS, PARAMETERS)


def case_auto(options):
    """Without a line in the job."""
    run_ = Recorded(options, 2, attach="auto").good().same_as(alone(2))
    check_iterations(run_, 2, STEPS)
    check_buckets(run_, 2, STEPS, PARAMETERS)


def case_no_sync(options):
    """Micro-batches are of the iteration that they end in."""
    run_ = Recorded(options, 2, "no_sync").good().same_as(alone(2, "no_sync"))
    check(len(run_.rows("SELECT 1 FROM spans_ns WHERE kind = 'step' AND rank = 0"))
          == STEPS // 3, "iterations")
    check([len(starts(run_, 0, "backward", step)) for step in range(STEPS // 3)]
          == [3] * (STEPS // 3), "backwards")


def case_other(options, *ways):
    """Other ways to train: the job is as it was, and its iterations are seen."""
    run_ = Recorded(options, 2, *ways).good().same_as(alone(2, *ways))
    check_iterations(run_, 2, STEPS)


def case_two_models(options):
    run_ = Recorded(options, 2, "two_models").good().same_as(alone(2, "two_models"))
    check(run_.rows("SELECT count(*) FROM parameters") == [(PARAMETERS,)], "of the first model")


def case_own_hook(options):
    """The user's own communication hook works as it did."""
    Recorded(options, 2, "own_hook").good().same_as(alone(2, "own_hook"))


def case_unrecorded(options):
    """The same two lines outside `lockstep record` do nothing."""
    package = options.bin.parent / "python"
    done, ranks = run(["env", f"PYTHONPATH={package}", sys.executable, JOB, 2, STEPS, "watch"])
    check(done.returncode == 0, done.stderr)
    check(ranks == alone(2), "not the same")


def case_failure(options):
    """A rank that throws is named; the exit code is kept."""
    run_ = Recorded(options, 2, "throw")
    check(run_.done.returncode == 1, f"exit code {run_.done.returncode}")
    (failure,), = run_.rows("SELECT value FROM meta WHERE key = 'failure'")
    check(failure.startswith("rank 1 failed") and failure.endswith("ValueError: boom"), failure)


def case_leave(options):
    """A job that leaves without destroy_process_group ends as well as before."""
    for _ in range(5):
        Recorded(options, 2, "leave").good()


CASES = {
    "same.world_2": lambda o: case_same(o, 2),
    "same.world_3": lambda o: case_same(o, 3),
    "same.view": lambda o: case_same(o, 3, "view"),
    "auto": case_auto,
    "no_sync": case_no_sync,
    "unused": lambda o: case_other(o, "unused"),
    "static": lambda o: case_other(o, "static"),
    "workers": lambda o: case_other(o, "workers"),
    "scheduler": lambda o: case_other(o, "scheduler"),
    "two_models": case_two_models,
    "own_hook": case_own_hook,
    "unrecorded": case_unrecorded,
    "failure": case_failure,
    "leave": case_leave,
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("case", choices=CASES)
    options = parser.parse_args()
    try:
        CASES[options.case](options)
    except Wrong as wrong:
        sys.exit(f"{options.case}: {wrong}")


main()
