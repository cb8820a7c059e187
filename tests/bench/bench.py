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
import re
import statistics
import subprocess
import sys
import tempfile

from contestants import Contestant, interval, median_step, paired
from kernels import kernels
from studio import studio_live, studio_open, studio_step

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PYTHON = "/usr/bin/python3"


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


def messages(name, doc, calls, ours_words, peer_words, peer_name="PyTorch's Gloo"):
    """What single calls take, ours against PyTorch's Gloo, or against ours of other words."""
    def measure(options):
        ours = Contestant("lockstep", [options.bin / "bench_messages"])
        peer = Contestant("pytorch", [PYTHON, HERE / "messages_peer.py"]) \
            if peer_name.startswith("PyTorch") else ours
        sides = [(ours, ours_words), (peer, peer_words)]
        times = [[], []]
        try:
            for contestant, words in sides:
                contestant.turn(max(calls // 3, 3), *words)
            for number in range(options.rounds):
                for side in ((0, 1) if number % 2 == 0 else (1, 0)):
                    contestant, words = sides[side]
                    times[side].append(median_step(contestant.turn(calls, *words)))
        finally:
            ours.close()
            if peer is not ours:
                peer.close()
        return paired(name, *times, peer_name=peer_name)
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
                            300, ("checked",), ("allreduce",), "unchecked"),
    "sum_fp16": messages("sum_fp16", "allreduce of 25 MB of gradients as fp16, 2 ranks over Gloo.",
                         10, ("sum", "fp16"), ("sum", "fp16")),
    "sum_fp16_fp32": messages("sum_fp16_fp32", "The same, against as fp32.", 10,
                              ("sum", "fp16"), ("sum", "fp32"), "as fp32"),
    "sum_bf16_fp32": messages("sum_bf16_fp32", "The same as bf16, which PyTorch's Gloo has not.",
                              10, ("sum", "bf16"), ("sum", "fp32"), "as fp32"),
    "kernels": kernels,
    "checked": checked,
    "shaped": shaped,
    "studio_open": studio_open,
    "studio_live": studio_live,
    "studio_step": studio_step,
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

    missed = []
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
        missed += [f"bench: {name}: {line}" for line in result.get("missed", [])]
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")
    print("\n".join(missed), end="\n" if missed else "", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
