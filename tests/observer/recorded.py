"""Jobs of PyTorch under `lockstep record`, and what their run files say."""

import json
import os
import pathlib
import socket
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


class Impossible(Exception):
    """This PyTorch has not what the case is about."""


def run(command, **variables):
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment.update(variables)
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=100,
                          env=environment)
    ranks = {}
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            told = json.loads(line)
            ranks[told["rank"]] = told
    return done, ranks


def alone(world, *ways, job=JOB, steps=STEPS):
    """The job as it is without anybody who looks on.

    Its ranks leave as soon as they have said what they computed: PyTorch by itself can abort or
    wait for ever at the end of the interpreter, where a thread of Gloo's still wants it.
    """
    done, ranks = run([sys.executable, job, world, steps, *ways], JOB_LEAVES_AT_ONCE="1")
    check(done.returncode == 0, f"the job itself failed: {done.stderr}")
    return ranks


def same_ranks(ours, alone_):
    """What all ranks of two jobs have computed is the same, to the last bit."""
    check(ours.keys() == alone_.keys(), "not every rank came to its end")
    for rank, told in alone_.items():
        for what in ("losses", "weights"):
            check(ours[rank][what] == told[what], f"{what} of rank {rank} differ")


class Recorded:
    """A job under `lockstep record`, and its run file."""

    def __init__(self, options, world, *ways, attach="watch", job=JOB, record=(), command=None,
                 **variables):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name) / "run.lockstep"
        self.done, self.ranks = run([
            options.bin / "lockstep", "record", "--quiet", "--attach", attach, "--out", self.path,
            *record, "--", *(command or [sys.executable, job, world, STEPS]),
            *(["watch"] if attach == "watch" else []), *ways], **variables)
        self.file = sqlite3.connect(self.path) if self.path.exists() else None

    def rows(self, query, *values):
        return self.file.execute(query, values).fetchall()

    def facts(self, rank, prefix):
        """What a rank said under keys that begin so, without that beginning."""
        return {key[len(prefix):]: value for key, value in self.rows(
            "SELECT key, value FROM environment WHERE rank = ? AND substr(key, 1, ?) = ?", rank,
            len(prefix), prefix)}

    def phases(self, rank):
        """(name, start, end) of the phases that the script named."""
        names = {int(number): name for number, name in self.facts(rank, "phase.").items()}
        return [(names[value], start, end) for value, start, end in self.rows(
            "SELECT value, start_ns, start_ns + duration_ns FROM spans_ns WHERE rank = ? AND "
            "kind = 'user_phase' ORDER BY start_ns", rank)]

    def problems(self):
        return [text for text, in self.rows("SELECT text FROM problems")]

    def good(self):
        check(self.done.returncode == 0, f"exit code {self.done.returncode}: {self.done.stderr}")
        check("not observed" not in self.done.stderr, self.done.stderr)
        check(self.file is not None, "no run file: " + self.done.stderr)
        return self

    def same_as(self, ranks):
        same_ranks(self.ranks, ranks)
        return self


def starts(run_, rank, kind, step):
    """(start, end, bucket, value) of the spans of one kind, in their order."""
    return run_.rows(
        "SELECT start_ns, start_ns + duration_ns, bucket, value FROM spans_ns WHERE rank = ? AND "
        "kind = ? AND step = ? ORDER BY start_ns", rank, kind, step)


def check_iterations(run_, world, steps, host_waits=True):
    """Each iteration is whole, and its parts lie where they must. Where the host does not wait for a
    GPU it is through with an iteration before that."""
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
                     optimizer[1], *([whole[1]] if host_waits else [])]
            check(all(a <= b + ROUNDING for a, b in zip(order, order[1:])),
                  f"rank {rank}, step {step}: {order}")


def sees_all():
    """Whether this PyTorch has hooks of process groups, so that all collectives are seen."""
    import torch.distributed as dist

    return hasattr(dist.ProcessGroup, "register_pre_hook")


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def main(cases, options):
    """Runs one case; the exit code is 77 where this PyTorch cannot."""
    try:
        cases[options.case](options)
    except Wrong as wrong:
        sys.exit(f"{options.case}: {wrong}")
    except Impossible as why:
        print(f"skipped: not with this PyTorch: {why}")
        sys.exit(77)
