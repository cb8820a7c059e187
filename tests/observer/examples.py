"""Runs the scripts of experiments/pytorch under `lockstep record`, and sees that each is seen whole.

Usage: examples.py --bin FOLDER --examples FOLDER CASE
"""

import argparse
import importlib.util
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

STEPS = 20
PHASES = ("data", "forward", "backward", "optimizer")
ROUNDING = 2  # ns, of ticks

# What a case starts, whether its models are watched without a line, and what it must have.
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
CASES = {
    "plain": (["mnist_mlp.py"], "watch", []),
    "plain.auto": (["mnist_mlp.py"], "auto", []),
    "torchrun": ([*TORCHRUN, "mnist_mlp.py"], "watch", ["torchrun"]),
    "trainer": ([*TORCHRUN, "trainer.py"], "watch", ["transformers", "accelerate", "torchrun"]),
    "trainer.auto": ([*TORCHRUN, "trainer.py", "--no-callback"], "auto",
                     ["transformers", "accelerate", "torchrun"]),
    "lightning": (["lightning_module.py"], "watch", ["lightning"]),
    "lightning.auto": (["lightning_module.py", "--no-callback"], "auto", ["lightning"]),
}


def leave_out(why):
    print(f"skipped: {why}")
    sys.exit(77)


def need(what):
    if what != "torchrun":
        if importlib.util.find_spec(what) is None:
            leave_out(f"{sys.executable} has no {what}")
        return
    # That of 1.13 does not know Python 3.11.
    tried = subprocess.run([sys.executable, *TORCHRUN[:-1], "1", "--no_python", "true"],
                           capture_output=True, text=True, timeout=100)
    if tried.returncode != 0:
        leave_out(f"torchrun of {sys.executable} fails: {tried.stderr.strip().splitlines()[-1]}")


def check(holds, what):
    if not holds:
        sys.exit(what)


def check_run(path):
    """Two ranks, every iteration of them whole, its parts in order, its buckets seen."""
    file = sqlite3.connect(path)
    (kind, state), = file.execute("SELECT (SELECT value FROM meta WHERE key = 'kind'), "
                                  "(SELECT value FROM meta WHERE key = 'state')")
    check((kind, state) == ("observed", "finished"), f"{kind} run, {state}")
    spans = {}
    for rank, step, name, start, duration in file.execute(
            "SELECT rank, step, kind, start_ns, duration_ns FROM spans_ns ORDER BY start_ns"):
        spans.setdefault((rank, step), {}).setdefault(name, []).append((start, start + duration))
    for rank in range(2):
        for step in range(STEPS):
            seen = spans.get((rank, step), {})
            where = f"rank {rank}, iteration {step}"
            for name in ("step", *PHASES):
                check(len(seen.get(name, [])) == 1, f"{where}: {name} is {seen.get(name)}")
            whole, = seen["step"]
            times = [whole[0], *(time for name in PHASES for time in seen[name][0]), whole[1]]
            check(all(a <= b + ROUNDING for a, b in zip(times, times[1:])), f"{where}: {times}")
            check(seen.get("bucket_launched") and seen.get("gradient_ready"),
                  f"{where}: no buckets in {sorted(seen)}")
    beyond = {at: sorted(kinds) for at, kinds in spans.items() if at[1] >= STEPS}
    check(not beyond, f"after the last iteration: {beyond}")
    (losses,), = file.execute("SELECT count(*) FROM metrics WHERE name = 'loss'")
    check(losses == 2 * STEPS, f"{losses} losses")
    (parameters, placed), = file.execute(
        "SELECT (SELECT count(*) FROM parameters), (SELECT count(*) FROM bucket_parameters "
        "WHERE layout = (SELECT max(layout) FROM layouts))")
    check(parameters == placed > 0, f"{placed} of {parameters} parameters lie in a bucket")
    file.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--examples", type=pathlib.Path, required=True)
    parser.add_argument("case", choices=CASES)
    options = parser.parse_args()
    arguments, attach, needed = CASES[options.case]
    for what in needed:
        need(what)
    program = options.bin / "lockstep"
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "run.lockstep"
        done = subprocess.run(
            [program, "record", "--quiet", "--attach", attach, "--out", path, "--", sys.executable,
             *arguments, "--steps", str(STEPS)],
            cwd=options.examples, capture_output=True, text=True, timeout=200,
            env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"})
        check(done.returncode == 0, f"exit code {done.returncode}: {done.stdout}{done.stderr}")
        check("not observed" not in done.stderr, done.stderr)
        check_run(path)
        told = json.loads(subprocess.run([program, "info", "--json", path], capture_output=True,
                                         text=True, timeout=60, check=True).stdout)
        for rank in told["ranks"]:
            check(rank["figures"] and rank["figures"]["step_ms"] > 0, f"no figures: {rank}")


main()
