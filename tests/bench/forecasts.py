"""Forecasts of other buckets against runs that have them."""

import csv
import io
import json
import pathlib
import statistics
import subprocess
import tempfile

from figures import ask

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ROUNDS = 3
STEPS = 40
FIRST_MEASURED = 2  # buckets are rebuilt behind the first
CHANGE_OF_STEP = 0.02  # what a run does not exceed by, it has not changed by

# Models of sleeping layers on a link that their communication takes about as long on as their
# backward: name, file, cap in MiB, settings of the link.
MODELS = [
    ("even_layers", "papers/even_layers.json", 1, {"bandwidth_gbps": 2, "latency_us": 50}),
    ("resnet50", "first_steps/shapes_resnet50.json", 25, {"bandwidth_gbps": 8, "latency_us": 100}),
    ("many_layers", "papers/many_layers.json", 1, {"bandwidth_gbps": 2, "latency_us": 500}),
    ("message_sizes", "papers/message_sizes.json", 4, {"bandwidth_gbps": 2, "latency_us": 200}),
]

EXPERIMENT = """
name = "forecasts"
[model]
kind = "shapes"
file = "{file}"
[data]
kind = "synthetic"
samples = 1024
batch_size = 4
[processes]
world_size = 2
[optimizer]
kind = "sgd"
learning_rate = 0.01
momentum = 0
[train]
steps = {steps}
evaluate_at_end = false
[ddp]
{ddp}
[link]
{link}
"""


def toml(settings):
    return "\n".join(f"{key} = {json.dumps(value)}" for key, value in settings.items())


class Workbench:
    def __init__(self, options, folder):
        self.lockstep = options.bin / "lockstep"
        self.folder = pathlib.Path(folder)
        self.refusals = []

    def output(self, *words):
        """What `lockstep` prints; None where it says that a run cannot tell."""
        done = subprocess.run([self.lockstep, *map(str, words)], capture_output=True, text=True,
                              cwd=ROOT)
        if done.returncode == 2 and "cannot tell" in done.stderr:
            self.refusals.append(done.stderr.strip())
            return None
        done.check_returncode()
        return done.stdout

    def run(self, name, file, link, ddp):
        """The path of a new run and, by rank, its medians of exposed time and step in ms."""
        experiment, run = self.folder / f"{name}.toml", self.folder / f"{name}.lockstep"
        experiment.write_text(EXPERIMENT.format(file=ROOT / "experiments" / file, steps=STEPS,
                                                ddp=toml(ddp), link=toml(link)))
        self.output("run", experiment, "--out", run, "--quiet")
        ranks = {}
        for row in csv.DictReader(io.StringIO(self.output("export", run, "--csv", "overlap", "-"))):
            if int(row["step"]) >= FIRST_MEASURED:
                ranks.setdefault(int(row["rank"]), []).append(
                    (float(row["exposed_ms"]), float(row["step_ms"])))
        return run, {rank: tuple(map(statistics.median, zip(*rows))) for rank, rows in ranks.items()}


def compare(what, own, forecast, measured):
    """A row a rank of one forecast and the run that has its buckets."""
    rows = []
    for told in forecast:
        rank = told["rank"]
        for figure, at, key in (("exposed", 0, "exposed_ms"), ("step", 1, "step_ms")):
            truth, before, said = measured[rank][at], own[rank][at], told[key]
            least = CHANGE_OF_STEP * own[rank][1]
            wrong = ((said["value"] - before) * (truth - before) < 0
                     and min(abs(said["value"] - before), abs(truth - before)) > least)
            rows.append({"of": what, "rank": rank, "figure": figure, "own_ms": before,
                         "forecast_ms": said["value"], "low_ms": said["low"],
                         "high_ms": said["high"], "measured_ms": truth,
                         "error_percent": 100 * abs(said["value"] - truth) / truth,
                         "within": said["low"] <= truth <= said["high"],
                         "direction_right": not wrong})
    return rows


def one_round(bench, model, number):
    name, file, cap, link = model
    own_run, own = bench.run(f"{name}.{number}", file, link, {"bucket_cap_mb": cap})
    rows = []
    for label, other in (("quarter", cap / 4), ("fourfold", cap * 4)):
        told = bench.output("whatif", own_run, "--bucket-cap-mb", other, "--json")
        if told is None:
            continue
        _, measured = bench.run(f"{name}.{number}.{label}", file, link, {"bucket_cap_mb": other})
        rows += compare(f"{name} {label}", own, json.loads(told)["ranks"], measured)
    told = bench.output("tune", own_run, "--json")
    if told is not None:
        cut = json.loads(told)["cuts"][-1]
        _, measured = bench.run(f"{name}.{number}.tuned", file, link,
                                {"bucket_cap_mb_list": cut["bucket_cap_mb_list"]})
        rows += compare(f"{name} tune", own, cut["ranks"], measured)
    return rows


def forecasts(options):
    """What whatif says of a quarter and four times the cap, and tune of its cut, on four models of
    sleeping layers, against runs that have these buckets."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        bench = Workbench(options, folder)
        for number in range(options.rounds or ROUNDS):
            for model in MODELS:
                rows += one_round(bench, model, number)
    lines = [f"{row['of']:20} rank {row['rank']} {row['figure']:8} own {row['own_ms']:8.2f} "
             f"forecast {row['forecast_ms']:8.2f} ({row['low_ms']:.2f} to {row['high_ms']:.2f}) "
             f"measured {row['measured_ms']:8.2f} error {row['error_percent']:6.1f} % "
             f"{'' if row['within'] else 'OUTSIDE '}"
             f"{'' if row['direction_right'] else 'WRONG DIRECTION'}" for row in rows]
    result = {"name": "forecasts", "unit": "%", "rows": rows, "refusals": bench.refusals,
              "lines": lines}
    for figure, most in (("exposed", 10), ("step", 5)):
        of = [row for row in rows if row["figure"] == figure]
        error = statistics.median(row["error_percent"] for row in of) if of else None
        within = 100 * statistics.mean(row["within"] for row in of) if of else None
        ask(result, f"median error of {figure} time", error, "%", most)
        ask(result, f"intervals of {figure} time with what was measured", within, "%", 90, True)
    wrong = sum(not row["direction_right"] for row in rows)
    lines += [f"{wrong} directions wrong, {len(bench.refusals)} forecasts refused", *bench.refusals]
    ask(result, "forecasts of the wrong direction", wrong, "", 0)
    return result


BENCHMARKS = {"forecasts": forecasts}
