"""Healthy runs, quiet and beside busy loops: nothing may be accused and no verdict may flip."""

import contextlib
import json
import pathlib
import subprocess
import sys
import tempfile

from figures import ask

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TIMES = 5
BUSY_LOOPS = 4

# Shipped experiments in which nothing is planted: no fault, no shaped link, no uneven input; with
# what makes the long ones short.
EXPERIMENTS = {
    "first_steps/mnist_mlp": [],
    "first_steps/mnist_cnn": ["train.epochs=2"],
    "first_steps/char_gpt": ["train.steps=25", "train.evaluate_at_end=false"],
    "first_steps/deep_linear": ["train.steps=40"],
    "first_steps/shapes": ["train.steps=25"],
    "ddp/delayed_parameters": [],
    "ddp/mixed_dtypes": [],
    "ddp/mixed_precision": [],
    "ddp/sparse_embedding": [],
    "ddp/static_graph_checkpointing": ["train.evaluate_at_end=false"],
    "ddp/unused_parameters": [],
    "ddp/zero": ["train.evaluate_at_end=false"],
}


@contextlib.contextmanager
def busy(loops):
    """So many threads that never sleep, each a process of its own."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(loops)]
    try:
        yield
    finally:
        for loop in running:
            loop.kill()
            loop.wait()


def accuses(finding):
    return (finding["rule"] != "few_cores" and finding["weight"] != "note"
            and ("rank" in finding["place"] or finding["settings"]
                 or finding["rule"] in ("transfer", "slow_rank_link")))


def accusations(info):
    """What `lockstep info --json` says against anything: a rank, the link, a setting, the file.
    That there are not enough cores may be so, and is nobody's fault."""
    found = [f"rank {rank['rank']} late" for rank in info["ranks"]
             if rank["figures"] and rank["figures"]["late"]]
    found += [f"{problem['severity']}: {problem['text'][:60]}" for problem in info["problems"]]
    found += [cause["title"] for cause in info.get("causes", []) if cause["accuses"]]
    found += [finding["title"] for finding in info["diagnosis"] if accuses(finding)]
    return found


def verdict(info):
    """How the run ended, and what each rank's communication is found to be to its step."""
    ranks = [(rank["figures"] or {}).get("bottleneck") for rank in info["ranks"]]
    return {"state": info["state"], "bottleneck": ranks}


def flips(verdicts):
    """Which verdicts differ among runs of one experiment; to abstain, null, is no verdict."""
    found = []
    states = {one["state"] for one in verdicts}
    if len(states) > 1:
        found.append("state " + " or ".join(sorted(states)))
    for rank, said in enumerate(zip(*(one["bottleneck"] for one in verdicts))):
        if {True, False} <= set(said):
            found.append(f"rank {rank} bottleneck {said.count(True)} yes, {said.count(False)} no")
    return found


def one_run(options, folder, name, sets):
    lockstep, run = options.bin / "lockstep", pathlib.Path(folder) / "healthy.lockstep"
    words = [word for setting in sets for word in ("--set", setting)]
    done = subprocess.run([lockstep, "run", ROOT / f"experiments/{name}.toml", "--quiet", "--out",
                           run, *words], capture_output=True, text=True, cwd=ROOT)
    if not run.exists():
        raise subprocess.SubprocessError(f"bench: {name}: {done.stderr.strip()}")
    report = subprocess.run([lockstep, "info", "--json", run], check=True, capture_output=True,
                            text=True).stdout
    run.unlink()
    return json.loads(report)


def median_of(info, figure):
    values = [rank["figures"][figure] for rank in info["ranks"]
              if rank["figures"] and rank["figures"][figure] is not None]
    return max(values) if values else float("nan")


def row(name, load, info):
    figures = {key: median_of(info, key)
               for key in ("step_ms", "exposed_ms", "core_wait_ms", "lateness_ms")}
    return {"experiment": name, "busy_loops": load, "stolen_percent": info["stolen_percent"],
            **figures, **verdict(info),
            "accusations": accusations(info)}


def line(row):
    yes = {True: "yes", False: "no", None: "?"}
    said = "/".join(yes[one] for one in row["bottleneck"])
    return (f"{row['experiment']:32} {row['busy_loops']} busy  step {row['step_ms']:7.2f} ms  "
            f"exposed {row['exposed_ms']:6.2f}  no core {row['core_wait_ms']:6.2f}  "
            f"latest {row['lateness_ms']:5.2f}  stolen {row['stolen_percent'] or 0:4.1f} %  "
            f"{row['state']}, bottleneck {said}  {'; '.join(row['accusations'])}")


def healthy(options):
    """Twelve shipped experiments in which nothing is planted, five times each, quiet and beside
    four busy loops: what `lockstep info` accuses, and which verdicts flip."""
    chosen = [name for name in EXPERIMENTS if not options.only or name in options.only]
    if not chosen:
        raise SystemExit(f"bench: --only takes some of {', '.join(EXPERIMENTS)}")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for load in (0, BUSY_LOOPS) if options.busy is None else (options.busy,):
            with busy(load):
                for name in chosen:
                    for _ in range(options.rounds or TIMES):
                        rows.append(row(name, load, one_run(options, folder, name,
                                                            EXPERIMENTS[name])))
                        print(f"{'':4}{line(rows[-1])}", flush=True)
    flipped = {name: flips([row for row in rows if row["experiment"] == name]) for name in chosen}
    accused = sum(len(row["accusations"]) for row in rows)
    lines = [f"{name}: {'; '.join(found)}" for name, found in flipped.items() if found]
    lines.append(f"{len(rows)} runs of {len(chosen)} experiments")
    result = {"name": "healthy", "unit": "", "rows": rows, "lines": lines}
    ask(result, "accusations", accused, "", 0)
    ask(result, "verdicts that flip", sum(map(len, flipped.values())), "", 0)
    return result


BENCHMARKS = {"healthy": healthy}
