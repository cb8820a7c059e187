"""Planted causes: `lockstep diagnose` has to name each one first, with its place."""

import json
import pathlib
import subprocess
import tempfile

from figures import ask

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SEEDS = (1, 2, 3)

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
DELAY = """
[[faults]]
kind = "delay"
rank = {rank}
from = 4
milliseconds = {ms}
"""

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
}


def holds(finding, rule, place, setting):
    return (finding["rule"] == rule and place.items() <= finding["place"].items()
            and (setting is None or setting in finding["settings"]))


def one_run(options, folder, name, seed):
    sets, faults, rule, place, setting = CAUSES[name]
    experiment = pathlib.Path(folder) / "planted.toml"
    run = pathlib.Path(folder) / "planted.lockstep"
    experiment.write_text(BASE.format(name=name) + faults, encoding="utf-8")
    words = [word for one in [*sets, f"train.seed={seed}"] for word in ("--set", one)]
    done = subprocess.run([options.bin / "lockstep", "run", experiment, "--quiet", "--out", run,
                           *words], capture_output=True, text=True, cwd=ROOT)
    if not run.exists():
        raise subprocess.SubprocessError(f"bench: {name}: {done.stderr.strip()}")
    told = json.loads(subprocess.run([options.bin / "lockstep", "diagnose", "--json", run],
                                     check=True, capture_output=True, text=True).stdout)
    run.unlink()
    # Where cores are missing, that is so, whatever else is planted.
    findings = [finding for finding in told["findings"] if finding["rule"] != "few_cores"
                or rule == "few_cores"]
    found = bool(findings) and holds(findings[0], rule, place, setting)
    return {"cause": name, "seed": seed, "found": found,
            "said": [finding["title"] for finding in told["findings"]]
            or [told.get("nothing", "")]}


def causes(options):
    """Runs with one planted cause each, on three seeds: whether the first finding of `lockstep
    diagnose` names it, with its place and, where settings are its remedy, the setting."""
    chosen = [name for name in CAUSES if not options.only or name in options.only]
    if not chosen:
        raise SystemExit(f"bench: --only takes some of {', '.join(CAUSES)}")
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
              "lines": [f"{len(rows)} runs of {len(chosen)} causes"]
              + [f"missed: {name}" for name in missed]}
    ask(result, "causes missed", len(missed), "", len(chosen) // 12)
    return result


BENCHMARKS = {"causes": causes}
