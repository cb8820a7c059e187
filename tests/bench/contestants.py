"""What benchmarks share: rank processes that take turns, and the statistics of paired times."""

import json
import os
import random
import select
import socket
import statistics
import subprocess
import sys
import time

TURN_LIMIT_S = 120


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Contestant:
    """Two rank processes that take turns with another contestant's."""

    def __init__(self, name, command, ranks=2, environment=None):
        self.name = name
        port = str(free_port())
        self.ranks = []
        for rank in range(ranks):
            env = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_RANK=str(rank),
                       MASTER_ADDR="127.0.0.1", MASTER_PORT=port, OMP_NUM_THREADS="1",
                       GLOO_SOCKET_IFNAME="lo", **(environment or {}))
            self.ranks.append(subprocess.Popen(command, env=env, text=True, bufsize=1,
                                               stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        for rank in range(ranks):
            self.answer(rank)

    def answer(self, rank):
        process = self.ranks[rank]
        if not select.select([process.stdout], [], [], TURN_LIMIT_S)[0]:
            self.close()
            sys.exit(f"bench: {self.name}: rank {rank} gave no answer within {TURN_LIMIT_S} s")
        line = process.stdout.readline()
        if not line:
            self.close()
            sys.exit(f"bench: {self.name}: rank {rank} ended with code {process.wait()}")
        return json.loads(line)

    def turn(self, steps, *words):
        """Runs `steps` steps on all ranks; returns each rank's answer."""
        for process in self.ranks:
            process.stdin.write(" ".join(("go", str(steps)) + words) + "\n")
        return [self.answer(rank) for rank in range(len(self.ranks))]

    def close(self):
        for process in self.ranks:
            process.stdin.close()
        deadline = time.monotonic() + 10
        for process in self.ranks:
            try:
                process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def median_step(answers):
    """The step time of a turn: the median over its steps of the slowest rank."""
    return statistics.median(max(times) for times in zip(*(a["step_ms"] for a in answers)))


def interval(values, resamples=2000):
    """The 95 % bootstrap interval of the median."""
    source = random.Random(0)
    medians = sorted(statistics.median(source.choices(values, k=len(values)))
                     for _ in range(resamples))
    return [medians[int(0.025 * resamples)], medians[int(0.975 * resamples)]]


def paired(name, ours, peer, unit="ms", **extra):
    """The result of two lists of paired measurements: ratio = peer / ours, above 1 is faster."""
    ratios = [p / o for o, p in zip(ours, peer)]
    return {"name": name, "unit": unit, "ours": statistics.median(ours),
            "peer": statistics.median(peer), "ratio": statistics.median(ratios),
            "interval": interval(ratios), "rounds": len(ratios), **extra}
