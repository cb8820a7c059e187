"""Cases of observe.py about `lockstep capture`."""

import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

from recorded import JOB, STEPS, Recorded, alone, check, check_iterations, starts


class Held(Recorded):
    """A recorded job that holds at step 3, until `go_on`."""

    def __init__(self, options, world, *ways, job=JOB, steps=STEPS):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name) / "run.lockstep"
        self.leave = pathlib.Path(self.folder.name) / "leave"
        self.options = options
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        self.job = subprocess.Popen(
            list(map(str, [options.bin / "lockstep", "record", "--quiet", "--out", self.path, "--",
                           sys.executable, job, world, steps, "watch", "waits", *ways])),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=dict(environment, JOB_MAY_GO_ON=str(self.leave)))
        here = [pathlib.Path(f"{self.leave}.{rank}") for rank in range(world)]
        for _ in range(6000):
            if all(path.exists() and path.read_text() for path in here):
                break
            check(self.job.poll() is None, "the job ended")
            time.sleep(0.01)
        self.pids = [int(path.read_text()) for path in here]

    def capture(self, steps):
        """What the command says."""
        done = subprocess.run([self.options.bin / "lockstep", "capture", self.path, "--steps",
                               str(steps)], capture_output=True, text=True, timeout=20)
        return done.returncode, done.stdout + done.stderr

    def go_on(self):
        self.leave.touch()
        out, err = self.job.communicate(timeout=100)
        self.done = subprocess.CompletedProcess([], self.job.returncode, out, err)
        self.ranks = {told["rank"]: told for told in map(json.loads, (
            line for line in out.splitlines() if line.startswith("{")))}
        self.file = sqlite3.connect(self.path)
        return self


def has_kineto(run_):
    """Whether this PyTorch's profiler sees other threads; Debian's 1.13 is built without."""
    (version,), = run_.rows("SELECT value FROM environment WHERE rank = 0 AND key = 'torch'")
    return int(version.split(".")[0]) >= 2


def case_capture(options):
    """Two iterations of a live job as PyTorch's profiler sees them, in the same run."""
    held = Held(options, 2)
    os.kill(held.pids[1], signal.SIGSTOP)
    code, said = held.capture(2)
    os.kill(held.pids[1], signal.SIGCONT)
    check(code == 2 and f"rank 1 is stopped and would not trace; let it go on (kill -CONT "
          f"{held.pids[1]})" in said, f"of a stopped rank: {code} {said}")
    code, said = held.capture(2)
    check(code == 0 and "2 ranks trace their next 2 iterations, and the run has them then" in said,
          said)
    code, said = held.capture(2)
    check(code == 2 and "a capture of 2 iterations is under way: rank 0 has not ended it" in said,
          f"of a second one: {code} {said}")
    run_ = held.go_on().good().same_as(alone(2))
    code, said = held.capture(2)
    check(code != 0 and said.count("\n") == 1 and 'takes no commands, its state is "finished"' in said,
          f"of an ended run: {said}")
    check_iterations(run_, 2, STEPS)
    names = dict(run_.rows("SELECT substr(key, 7), value FROM environment WHERE rank = 0 AND "
                           "key LIKE 'phase.%'"))
    (first,), = run_.rows("SELECT min(step) FROM spans_ns WHERE kind = 'operator'")
    check(first in (3, 4), f"traced from {first}")
    for rank in range(2):
        check([step for step, in run_.rows(
            "SELECT DISTINCT step FROM spans_ns WHERE kind = 'operator' AND rank = ? ORDER BY step",
            rank)] == [first, first + 1], f"iterations of rank {rank}")
        for step in (first, first + 1):
            forward, = starts(run_, rank, "forward", step)
            backward, = starts(run_, rank, "backward", step)
            layers = [row for row in starts(run_, rank, "operator", step)
                      if names[str(row[3])] == "aten::addmm"]
            inside = [row for row in layers
                      if forward[0] - 100_000 <= row[0] <= row[1] <= forward[1] + 100_000]
            check(len(layers) == len(inside) == 4, f"rank {rank}, step {step}: {layers}")
            check(any("Backward" in names[str(value)] and backward[0] - 100_000 <= start
                      and end <= backward[1] + 100_000
                      for start, end, _, value in starts(run_, rank, "operator", step)),
                  f"rank {rank}, step {step}: nothing of the backward")
            if has_kineto(run_):
                worked = [row for row in starts(run_, rank, "operator", step)
                          if names[str(row[3])] == "gloo:all_reduce"]
                launched = starts(run_, rank, "bucket_launched", step)
                # Its thread may lose its core before it says that it has ended.
                check(len(worked) == len(launched) and all(
                    start[0] - 100_000 <= began[0] <= backward[1]
                    for start, began in zip(launched, worked)),
                    f"rank {rank}, step {step}: Gloo worked {worked}, launched {launched}")
        (told,), = run_.rows("SELECT value FROM environment WHERE rank = ? AND key = 'trace.1'",
                             rank)
        (count,), = run_.rows("SELECT count(*) FROM spans_ns WHERE rank = ? AND kind = 'operator'",
                              rank)
        check(told == f"iterations {first} to {first + 1}, {count} events", f"{told}, {count}")


def case_capture_gives_way(options):
    """A job that starts a profiler of its own has it, and is told of."""
    held = Held(options, 2, "profiler")
    code, said = held.capture(5)
    check(code == 0, said)
    run_ = held.go_on().good().same_as(alone(2))
    said = run_.rows("SELECT DISTINCT text FROM problems WHERE text LIKE 'no trace%'")
    check(said == [("no trace of this rank's iterations: the job started a profiler of its own",)],
          str(said))
    check(run_.rows("SELECT 1 FROM spans_ns WHERE kind = 'operator'") == [], "operators")


CASES = {"capture": case_capture, "capture.gives_way": case_capture_gives_way}
