"""Planted causes: `lockstep diagnose` has to name each one first, with its place."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from figures import ask

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SEEDS = (1, 2, 3)
REMEDY_ROUNDS = 3

BASE = """
name = "planted: {name}"
[model]
kind = "mlp"
layers = [784, 512, 512, 512, 10]
[data]
kind = "mnist"
batch_size = 32
[processes]
world_size = 2
[ddp]
bucket_cap_mb = 1
[optimizer]
kind = "sgd"
learning_rate = 0.05
[train]
steps = 60
evaluate_at_end = false
"""
# Layers that sleep as long as a GPU would compute, and leave the cores to the communication.
SLEEPING = ["model.kind=shapes", f"model.file={ROOT}/experiments/papers/even_layers.json",
            "data.kind=synthetic", "data.samples=1024", "data.batch_size=4"]
HOOK = """
[hook]
name = "{name}"
library = "{{bin}}/broken_hooks/wrong.so"
"""
TWO_RESULTS = """
[hook]
name = "misbehaving"
library = "{bin}/broken_hooks/misbehaving.so"
wrong = "own"
step = 10
"""
DELAY = """
[[faults]]
kind = "delay"
rank = {rank}
from = 4
milliseconds = {ms}
"""


def pids(options, run):
    """The processes of both ranks, once they train."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        asked = subprocess.run([options.bin / "lockstep", "info", "--json", run],
                               capture_output=True, text=True)
        told = json.loads(asked.stdout) if asked.returncode == 0 else {}
        if any(rank["figures"] for rank in told.get("ranks", [])):
            return [rank["pid"] for rank in sorted(told["ranks"], key=lambda rank: rank["rank"])]
        time.sleep(0.1)
    raise SystemExit("bench: the run did not begin to train")


@contextlib.contextmanager
def starve_rank_1(options, run):
    """Each rank on a core of its own, and a loop that never sleeps on rank 1's."""
    cores = sorted(os.sched_getaffinity(0))[:2]
    for pid, core in zip(pids(options, run), cores):
        for thread in os.listdir(f"/proc/{pid}/task"):
            os.sched_setaffinity(int(thread), {core})
    loop = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    os.sched_setaffinity(loop.pid, {cores[1]})
    try:
        yield
    finally:
        loop.kill()
        loop.wait()


# What is planted: settings over BASE, faults behind it; and what has to be found: the rule of the
# first finding, and what its place and its settings hold.
CAUSES = {
    "slow forward": ([], DELAY.format(rank=1, ms=20), "late_rank", {"rank": 1}, None),
    "slow layer": ([], DELAY.format(rank=0, ms=20) + 'layer = "layers.1"\n', "late_rank",
                   {"rank": 0, "phase": "backward"}, None),
    "slow every fifth step": ([], DELAY.format(rank=1, ms=60) + "every = 5\n", "late_rank",
                              {"rank": 1}, None),
    "one bucket handed over late": ([], DELAY.format(rank=1, ms=20) + "bucket = 2\n", "late_rank",
                                    {"rank": 1}, None),
    "slow link": (["link.bandwidth_gbps=0.3"], "", "transfer", {}, "hook.name"),
    "tiny buckets": ([*SLEEPING, "link.bandwidth_gbps=4", "link.latency_us=2000",
                      "ddp.bucket_cap_mb=0.01", "ddp.first_bucket_mb=0.01"], "", "buckets", {},
                     "ddp.bucket_cap_mb"),
    "one giant bucket": ([*SLEEPING, "link.bandwidth_gbps=4", "ddp.bucket_cap_mb=1000",
                          "ddp.first_bucket_mb=1000"], "", "buckets", {}, "ddp.bucket_cap_mb"),
    "eight ranks on two cores": (["processes.world_size=8"], "", "few_cores", {},
                                 "processes.world_size"),
    "flipped bit": ([], """
[[faults]]
kind = "flip_bit"
rank = 1
step = 20
parameter = "layers.1.weight"
element = 5
bit = 20
""", "replicas_differ", {"parameter": "layers.1.weight"}, None),
    "no number": ([], """
[[faults]]
kind = "nan"
rank = 1
step = 20
parameter = "layers.1.weight"
""", "not_finite", {"rank": 1}, None),
    "killed rank": ([], """
[[faults]]
kind = "kill"
rank = 1
step = 20
""", "failed", {"rank": 1}, None),
    "PowerSGD on a fast link": (["hook.name=powersgd", "train.steps=80"], "", "hook_costs", {},
                                "hook.name"),
    "needless search": (["ddp.find_unused_parameters=true"], "", "search_unused", {},
                        "ddp.find_unused_parameters"),
    "evaluation every ten steps": (["train.evaluate_every=10"], "", "between_steps", {}, None),
    "one rank's slow link": ([*SLEEPING, "processes.world_size=3", "link.bandwidth_gbps=8",
                              "link.slow_ranks=[1]", "link.slow_bandwidth_gbps=0.5"], "",
                             "slow_rank_link", {"rank": 1}, None),
    "slow data": ([], DELAY.format(rank=1, ms=20) + 'phase = "data"\n', "late_rank",
                  {"rank": 1, "phase": "data"}, None),
    "slow data everywhere": ([], "".join(DELAY.format(rank=rank, ms=20) + 'phase = "data"\n'
                                         for rank in (0, 1)), "data", {"phase": "data"}, None),
    "slow optimizer": ([], DELAY.format(rank=0, ms=20) + 'phase = "optimizer"\n', "late_rank",
                       {"rank": 0, "phase": "optimizer"}, None),
    "giant embedding": ([*SLEEPING, "model.file={folder}/giant.json", "link.bandwidth_gbps=4",
                         "ddp.bucket_cap_mb=1"], "", "large_parameter",
                        {"parameter": "embedding.weight"}, None),
    # Copies take 7 to 14 % of its steps, and views save as much; layers that only sleep save none.
    "gradients that are copied": (["model.kind=deep_linear", "model.width=512", "model.depth=48",
                                   "data.kind=synthetic", "data.samples=4096",
                                   "ddp.bucket_cap_mb=4", "ddp.gradient_as_bucket_view=false"],
                                  "", "copies", {"phase": "backward"},
                                  "ddp.gradient_as_bucket_view"),
    "a hook that sums": (["train.steps=40"], HOOK.format(name="summing"), "no_average", {}, None),
    "a hook with two results": ([], TWO_RESULTS, "replicas_differ",
                                {"step": 10, "phase": "backward"}, None),
    # Each call has its like, so that it shows in what came out of them alone.
    "two calls of one size swapped": ([], HOOK.format(name="swapping"), "replicas_differ",
                                      {"phase": "backward"}, None),
    "a call too many": ([], HOOK.format(name="calling"), "failed", {}, None),
    "uneven inputs": (["ddp.join=false"], """
[[faults]]
kind = "uneven"
rank = 1
samples = 640
""", "failed", {"rank": 1}, None),
    "a busy loop on a rank's core": ([], "", "few_cores", {"rank": 1}, None),
}

MEANWHILE = {"a busy loop on a rank's core": starve_rank_1}


def layers_with_a_giant():
    """Even layers, and behind them in the backward a parameter that is most of the bytes."""
    layers = json.loads((ROOT / "experiments/papers/even_layers.json").read_text())
    giant = {"name": "embedding.weight", "shape": [8192, 1024], "dtype": "float32",
             "forward_us": 0, "backward_us": 100}
    return json.dumps({"layers": [giant, *layers["layers"]]})


def holds(finding, rule, place, setting):
    """Whether it names this, at this place, with something to do about it."""
    return (finding["rule"] == rule and place.items() <= finding["place"].items()
            and finding["remedy"] != "" and (setting is None or setting in finding["settings"]))


def diagnosed(options, folder, name, seed, faults, sets):
    """What `lockstep diagnose` says of a run of a cause, with these faults and settings."""
    places = {"folder": folder, "bin": options.bin.resolve()}
    experiment = pathlib.Path(folder) / "planted.toml"
    run = pathlib.Path(folder) / "planted.lockstep"
    (pathlib.Path(folder) / "giant.json").write_text(layers_with_a_giant(), encoding="utf-8")
    experiment.write_text(BASE.format(name=name) + faults.format(**places), encoding="utf-8")
    words = [word for one in [*sets, f"train.seed={seed}"]
             for word in ("--set", one.format(**places))]
    with subprocess.Popen([options.bin / "lockstep", "run", experiment, "--quiet", "--out", run,
                           *words], stderr=subprocess.PIPE, text=True, cwd=ROOT) as running:
        with MEANWHILE.get(name, lambda *_: contextlib.nullcontext())(options, run):
            said = running.communicate()[1]
    if not run.exists():
        raise SystemExit(f"bench: {name}: {said.strip()}")
    told = json.loads(subprocess.run([options.bin / "lockstep", "diagnose", "--json", run],
                                     check=True, capture_output=True, text=True).stdout)
    run.unlink()
    return told


def one_run(options, folder, name, seed):
    sets, faults, rule, place, setting = CAUSES[name]
    told = diagnosed(options, folder, name, seed, faults, sets)
    # Where cores are missing, that is so, whatever else is planted.
    findings = [finding for finding in told["findings"] if finding["rule"] != "few_cores"
                or rule == "few_cores"]
    found = bool(findings) and holds(findings[0], rule, place, setting)
    return {"cause": name, "seed": seed, "found": found,
            "first": found and findings[0] is told["findings"][0],
            "said": [finding["title"] for finding in told["findings"]]
            or [told.get("nothing", "")]}


def chosen_causes(options, names):
    chosen = [name for name in names if not options.only or name in options.only]
    if not chosen:
        raise SystemExit(f"bench: --only takes some of {', '.join(names)}")
    return chosen


def causes(options):
    """Runs with one planted cause each, on three seeds: whether the first finding of `lockstep
    diagnose` names it, with its place and, where settings are its remedy, the setting."""
    chosen = chosen_causes(options, CAUSES)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in chosen:
            for seed in SEEDS[:options.rounds or len(SEEDS)]:
                rows.append(one_run(options, folder, name, seed))
                said = "; ".join(rows[-1]["said"])
                print(f"{'':4}{name:32} seed {seed}  {'found ' if rows[-1]['found'] else 'MISSED'}"
                      f"  {said}", flush=True)
    missed = sorted({row["cause"] for row in rows if not row["found"]})
    result = {"name": "causes", "unit": "", "rows": rows,
              "lines": [f"{len(rows)} runs of {len(chosen)} causes; in "
                        f"{sum(row['found'] and not row['first'] for row in rows)} of them cores were "
                        "missing, which was told before"]
              + [f"missed: {name}" for name in missed]}
    ask(result, "causes missed", len(missed), "", len(chosen) // 12)
    return result


def remedied(name, finding):
    """The faults and settings of a cause once a finding's advice was followed: its settings, or,
    where it names a rank's own work, that work as quick as the others'. None: it costs no time."""
    sets, faults, rule, _, _ = CAUSES[name]
    if "saving_ms" not in finding or finding["rule"] != rule or name in MEANWHILE:
        return None
    if finding["settings"]:
        return faults, [*sets, *(f"{key}={value}"
                                 for key, value in finding["settings"].items())]
    return ("", sets) if "delay" in faults else None


def one_remedy(options, folder, name, seed):
    """The first finding's saving beside what following its advice saves, in turns."""
    sets, faults, rule, _, _ = CAUSES[name]
    told = [diagnosed(options, folder, name, seed, faults, sets)]
    finding = next((one for one in told[0]["findings"] if one["rule"] == rule), None)
    if finding is None:
        return {"cause": name, "seed": seed, "held": None}
    changed = remedied(name, finding)
    if not changed:
        return None
    without = [diagnosed(options, folder, name, seed, *changed)]
    for _ in range(REMEDY_ROUNDS - 1):
        told.append(diagnosed(options, folder, name, seed, faults, sets))
        without.append(diagnosed(options, folder, name, seed, *changed))
    saved = [one["step_ms"] - other["step_ms"] for one, other in zip(told, without)]
    saving = finding["saving_ms"]
    mean = sum(saved) / len(saved)
    held = mean <= saving["high"] and (saving["at_most"] or mean >= saving["low"])
    return {"cause": name, "seed": seed, "title": finding["title"], "saving_ms": saving,
            "saved_ms": saved, "held": held}


def remedies(options):
    """The advice of findings, followed: whether it saves what `lockstep diagnose` said, within its
    interval, or no more than that where it said at most; three runs each way, in turns."""
    chosen = chosen_causes(options, CAUSES)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in chosen:
            for seed in SEEDS[:options.rounds or len(SEEDS)]:
                row = one_remedy(options, folder, name, seed)
                if row is None:
                    break  # nothing to follow
                if row["held"] is None:
                    print(f"{'':4}{name:32} seed {seed}  not found", flush=True)
                    continue
                rows.append(row)
                saving = row["saving_ms"]
                print(f"{'':4}{name:32} seed {seed}  {'held  ' if row['held'] else 'MISSED'}  "
                      f"{'at most ' if saving['at_most'] else ''}{saving['mean']:.2f} "
                      f"[{saving['low']:.2f}, {saving['high']:.2f}], saved "
                      + " ".join(f"{ms:.2f}" for ms in row["saved_ms"]), flush=True)
    held = sum(row["held"] for row in rows)
    both = [row for row in rows if not row["saving_ms"]["at_most"]]
    result = {"name": "remedies", "unit": "", "rows": rows,
              "lines": [f"{held} of {len(rows)} savings as said; {sum(row['held'] for row in both)} of "
                        f"the {len(both)} that were not only said to be at most so much"]}
    ask(result, "share of savings as said", held / len(rows) if rows else None, "", 0.85,
        least=True)
    return result


BENCHMARKS = {"causes": causes, "remedies": remedies}
