"""Runs benchmarks in turns with their peers; see tests/bench/run.

Every contestant is a group of two rank processes that stay up and wait, asleep, for their turn:
"go STEPS" on standard input, answered by one JSON line of step times in milliseconds. Turns
alternate, so that what else the machine does falls on both sides alike; the ratio is taken
round by round, and its 95 % interval is a bootstrap over the rounds.
"""

import argparse
import json
import os
import pathlib
import platform
import random
import re
import select
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PYTHON = "/usr/bin/python3"
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


def ddp_step(options):
    """A DDP step of mlp 1024-2048-2048-2048-10, batch 64, 2 ranks over Gloo, against PyTorch's."""
    ours = Contestant("lockstep", [options.bin / "bench_ddp_step"])
    peer = Contestant("pytorch", [PYTHON, HERE / "ddp_step_peer.py"])
    try:
        for contestant in (ours, peer):
            contestant.turn(5)
        times = {ours: [], peer: []}
        for number in range(options.rounds):
            for contestant in ((ours, peer) if number % 2 == 0 else (peer, ours)):
                times[contestant].append(median_step(contestant.turn(options.steps)))
    finally:
        ours.close()
        peer.close()
    return paired("ddp_step", times[ours], times[peer], peer_name="PyTorch DDP over Gloo")


def tracing(options):
    """The same step with capture on and off in turns, a recorder draining to a file beside it."""
    ours = Contestant("lockstep", [options.bin / "bench_ddp_step"])
    try:
        ours.turn(5)
        on, off, events = [], [], []
        for number in range(options.rounds):
            for word in (("on", "off") if number % 2 == 0 else ("off", "on")):
                answers = ours.turn(options.steps, "capture-" + word)
                (on if word == "on" else off).append(median_step(answers))
                if word == "on":
                    events.append(max(a["events_per_step"] for a in answers))
        event_ns = statistics.median(a["event_ns"] for a in answers)
        dropped = sum(a["dropped"] for a in answers)
    finally:
        ours.close()
    step_ns = statistics.median(off) * 1e6
    ratios = [a / b for a, b in zip(on, off)]
    return {"name": "tracing", "unit": "ms", "ours": statistics.median(on),
            "peer": statistics.median(off), "peer_name": "capture off",
            "ratio": statistics.median(off) / statistics.median(on),
            "on_over_off": statistics.median(ratios), "interval": interval(ratios),
            "rounds": len(ratios), "events_per_step": statistics.median(events),
            "event_ns": event_ns, "dropped": dropped,
            "share_of_step_percent": 100 * statistics.median(events) * event_ns / step_ns}


def messages(name, doc, calls, ours_words, peer_words=None):
    """Small messages, ours against PyTorch's Gloo, or with `peer_words` missing, against ours."""
    def measure(options):
        ours = Contestant("lockstep", [options.bin / "bench_messages"])
        peer = ours if peer_words is None else Contestant(
            "pytorch", [PYTHON, HERE / "messages_peer.py"])
        sides = [(ours, ours_words), (peer, peer_words or ("allreduce",))]
        times = [[], []]
        try:
            for contestant, words in sides:
                contestant.turn(100, *words)
            for number in range(options.rounds):
                for side in ((0, 1) if number % 2 == 0 else (1, 0)):
                    contestant, words = sides[side]
                    times[side].append(median_step(contestant.turn(calls, *words)))
        finally:
            ours.close()
            if peer is not ours:
                peer.close()
        return paired(name, *times, peer_name="unchecked" if peer is ours else "PyTorch's Gloo")
    measure.__doc__ = doc
    return measure


def checked(options):
    """Share of 200 steps of the demo that comparing its first calls takes, and what those waited
    for their last rank, which they do in any case."""
    with tempfile.TemporaryDirectory() as folder:
        demo = (ROOT / "experiments/first_steps/demo.toml").read_text()
        experiment = pathlib.Path(folder) / "demo.toml"
        experiment.write_text(re.sub(r"(?m)^epochs = .*", "steps = 200", demo))
        run = pathlib.Path(folder) / "demo.lockstep"
        lockstep = options.bin / "lockstep"
        subprocess.run([lockstep, "run", experiment, "--out", run, "--quiet"], check=True,
                       cwd=ROOT)
        report = json.loads(subprocess.run([lockstep, "info", "--json", run], check=True,
                                           capture_output=True, text=True).stdout)
    checks = report["checks"]
    spans = checks["calls"] * report["world_size"]
    return {"name": "checked", "unit": "%", "calls": checks["calls"],
            "own_ms_a_call": checks["own_ms"] / spans,
            "waiting_ms_a_call": checks["waiting_ms"] / spans,
            "own_percent_of_step": checks["own_percent"],
            "waiting_percent_of_step": checks["waiting_percent"]}


def shaped(options):
    """The shaped link against its preset, 1 KB to 64 MB: bandwidth of a full link, and what a
    single allreduce takes beyond link or backend, less the latency asked for."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out.json"
        subprocess.run([options.bin / "test_engine_process_group_shaped",
                        "--gtest_filter=ShapedAccuracy.*", "--gtest_brief=1",
                        f"--gtest_output=json:{out}"], check=True)
        suite = json.loads(out.read_text())["testsuites"][0]["testsuite"]
    lines = [line for test in suite for key, line in test.items() if key.startswith("line_")]
    return {"name": "shaped", "lines": lines}


BENCHMARKS = {
    "ddp_step": ddp_step,
    "tracing": tracing,
    "message_8b": messages("message_8b", "send to recv of 8 bytes, 2 ranks over Gloo.", 300,
                           ("message", "8"), ("message", "8")),
    "message_64kb": messages("message_64kb", "send to recv of 64 KB, 2 ranks over Gloo.", 300,
                             ("message", "65536"), ("message", "65536")),
    "allreduce_4kb": messages("allreduce_4kb", "allreduce of 4 KB, 2 ranks over Gloo.", 300,
                              ("allreduce",), ("allreduce",)),
    "checked_4kb": messages("checked_4kb", "The same with every call checked, against without.",
                            300, ("checked",)),
    "checked": checked,
    "shaped": shaped,
}


def machine():
    with open("/proc/cpuinfo") as cpuinfo:
        model = next((line.split(":")[1].strip() for line in cpuinfo
                      if line.startswith("model name")), platform.machine())
    torch = subprocess.run([PYTHON, "-c", "import torch; print(torch.__version__)"],
                           capture_output=True, text=True).stdout.strip()
    return {"processor": model, "cores": os.cpu_count(), "kernel": platform.release(),
            "pytorch": torch}


def main():
    parser = argparse.ArgumentParser(prog="tests/bench/run")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--bin", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--json", type=pathlib.Path, help="write the results here")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--steps", type=int, default=8, help="steps a turn")
    parser.add_argument("--list", action="store_true", help="name the benchmarks")
    options = parser.parse_args()
    if options.list:
        for name, function in BENCHMARKS.items():
            print(f"{name:13} {' '.join(function.__doc__.split())}")
        return 0
    unknown = [name for name in options.names if name not in BENCHMARKS]
    if unknown:
        sys.exit(f"bench: no benchmark named {', '.join(unknown)}; there are "
                 f"{', '.join(BENCHMARKS)}")

    results = {"machine": machine(), "benchmarks": []}
    print(" ".join(f"{key}={value}" for key, value in results["machine"].items()))
    print(f"{'benchmark':13} {'ours':>9} {'peer':>9} {'ratio':>7}  95 % interval")
    for name in options.names or BENCHMARKS:
        result = BENCHMARKS[name](options)
        results["benchmarks"].append(result)
        if "ratio" in result:
            low, high = result["interval"]
            print(f"{name:13} {result['ours']:9.3f} {result['peer']:9.3f} {result['ratio']:7.3f}"
                  f"  [{low:.3f}, {high:.3f}] {result['unit']}, peer: {result['peer_name']}")
        else:
            print(name)
        for key in ("on_over_off", "events_per_step", "event_ns", "share_of_step_percent",
                    "dropped", "calls", "own_ms_a_call", "waiting_ms_a_call",
                    "own_percent_of_step", "waiting_percent_of_step"):
            if key in result:
                print(f"{'':13} {key} = {result[key]:.4g}")
        for line in result.get("lines", []):
            print(f"{'':13} {line}")
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
