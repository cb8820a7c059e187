"""Rank processes that take turns."""

import json
import os
import random
import select
import socket
import subprocess
import sys
import time

TURN_LIMIT_S = 300


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Contestant:
    """Processes, one a rank, that take turns with other contestants'. They stay up, asleep, wait
    for "go COUNT [WORD...]" on standard input, and answer with one JSON line each."""

    def __init__(self, name, command, ranks=2, environment=None, deadline=None):
        """`deadline`, of time.monotonic(): no answer is waited for any longer."""
        self.name = name
        self.deadline = deadline
        port = str(free_port())
        self.ranks = []
        for rank in range(ranks):
            env = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_RANK=str(rank),
                       LOCAL_WORLD_SIZE=str(ranks), MASTER_ADDR="127.0.0.1", MASTER_PORT=port, OMP_NUM_THREADS="1",
                       GLOO_SOCKET_IFNAME="lo", **(environment or {}))
            self.ranks.append(subprocess.Popen([str(word) for word in command], env=env, text=True,
                                               bufsize=1, stdin=subprocess.PIPE,
                                               stdout=subprocess.PIPE))
        self.ready = self.answers()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def answers(self):
        """Each rank's answer; a rank that ends, or none that answers for too long, ends it all."""
        waiting = {process.stdout: rank for rank, process in enumerate(self.ranks)}
        answers = [None] * len(self.ranks)
        while waiting:
            limit = TURN_LIMIT_S
            if self.deadline is not None:
                limit = max(0, min(limit, self.deadline - time.monotonic()))
            ready = select.select(list(waiting), [], [], limit)[0]
            if not ready:
                self.fail(f"rank {min(waiting.values())} gave no answer within {limit:.0f} s")
            for stream in ready:
                rank = waiting.pop(stream)
                line = stream.readline()
                if not line:
                    self.fail(f"rank {rank} ended with code {self.ranks[rank].wait()}")
                answers[rank] = json.loads(line)
        return answers

    def fail(self, why):
        for process in self.ranks:
            process.terminate()
        self.close()
        sys.exit(f"bench: {self.name}: {why}")

    def turn(self, count, *words):
        """Runs a turn on all ranks; returns each rank's answer."""
        for process in self.ranks:
            try:
                process.stdin.write(" ".join(("go", str(count)) + words) + "\n")
            except BrokenPipeError:
                pass  # its answer says how it ended
        return self.answers()

    def close(self):
        for process in self.ranks:
            try:
                process.stdin.close()
            except BrokenPipeError:
                pass
        deadline = time.monotonic() + 10
        for process in self.ranks:
            for stop in (process.terminate, process.kill):
                try:
                    process.wait(max(0.1, deadline - time.monotonic()))
                    break
                except subprocess.TimeoutExpired:
                    stop()
            process.wait()
            process.stdout.close()


def alternate(sides, rounds, measure):
    """measure(side) of each side in every round, by side. The order is drawn for one round and
    turned round for the next, so that what else the machine does falls on all sides alike. Who
    draws for as many sides and rounds draws the same."""
    source = random.Random(0)
    order = list(sides)
    values = {side: [] for side in order}
    for number in range(rounds):
        if number % 2 == 0:
            source.shuffle(order)
        else:
            order.reverse()
        for side in order:
            values[side].append(measure(side))
    return values
