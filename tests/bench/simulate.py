"""What simulate says of more ranks, from a run of 2 and one of 4, against runs that have them; and
how long it takes."""

import json
import pathlib
import statistics
import tempfile
import time

import forecasts
from figures import ask
from forecasts import error_percent, is_within, middle, toml, width_percent

ROUNDS = 2
STEPS = 50
RECORDED = (2, 4)
TOLD = (8, 16, 32)
MOST_ERROR = 12  # % of a step, by which half of the forecasts may be off
LEAST_WITHIN = 85  # % of the intervals have to hold what was measured

# Sleeping layers so small that 32 ranks of them do not fill two cores, and slow links to go with them.
LAYERS = 16
SHAPE = (128, 128)  # 64 KiB
FORWARD_US, BACKWARD_US = 1500, 4000

# What is planted: the link, and by how much each rank's forward is delayed, in ms, give or take
# as much, anew in each step.
SETTINGS = {
    "bandwidth": ({"bandwidth_gbps": 0.12, "latency_us": 200}, 0),
    "latency": ({"bandwidth_gbps": 1, "latency_us": 1500}, 0),
    "stragglers": ({"bandwidth_gbps": 1, "latency_us": 100}, 15),
    "both": ({"bandwidth_gbps": 0.2, "latency_us": 500}, 10),
    "nodes": ({"bandwidth_gbps": 0.25, "latency_us": 1000, "ranks_per_node": 4,
               "inside_bandwidth_gbps": 1, "inside_latency_us": 100}, 8),
}

EXPERIMENT = """
name = "simulate"
[model]
kind = "shapes"
file = "{file}"
[data]
kind = "synthetic"
samples = 4096
batch_size = 4
[processes]
world_size = {ranks}
[optimizer]
kind = "sgd"
learning_rate = 0.01
momentum = 0
[train]
steps = {steps}
seed = {seed}
evaluate_at_end = false
[ddp]
bucket_cap_mb = {cap}
first_bucket_mb = 0.0625
[link]
{link}
"""

JITTER = """
[[faults]]
kind = "delay"
rank = {rank}
milliseconds = {ms}
jitter_ms = {ms}
"""


# What is timed: a bucket a layer, and as many steps as are simulated.
MANY_RANKS, MANY_BUCKETS, MANY_STEPS = 4096, 200, 64
MOST_S = 20
TIMES = 3


def shapes(folder, layers=LAYERS):
    """The path of the layers, as model.file takes them; of more than usual each is shorter."""
    path = pathlib.Path(folder) / f"layers.{layers}.json"
    path.write_text(json.dumps({"layers": [
        {"name": f"layers.{number}.weight", "shape": SHAPE,
         "forward_us": FORWARD_US * LAYERS // layers, "backward_us": BACKWARD_US * LAYERS // layers}
        for number in range(layers)]}))
    return path


def measure(bench, name, ranks, seed):
    """The path of a run and its medians over the steps of exposed time and step in ms, of the mean
    over the ranks."""
    link, ms = SETTINGS[name]
    text = EXPERIMENT.format(file=shapes(bench.folder), ranks=ranks, steps=STEPS, seed=seed,
                             cap=0.25, link=toml(link))
    if ms:
        text += "".join(JITTER.format(rank=rank, ms=ms) for rank in range(ranks))
    run, by_rank = bench.steps(f"{name}.{ranks}.{seed}", text)
    means = [tuple(map(statistics.mean, zip(*step))) for step in zip(*by_rank.values())]
    return run, tuple(map(statistics.median, zip(*means)))


def one_round(bench, name, number):
    """A row for each number of ranks that was told of, and figure."""
    seed = 10 * number + 1
    truth = {ranks: measure(bench, name, ranks, seed + ranks)[1] for ranks in TOLD}
    rows = []
    for recorded in RECORDED:
        run, _ = measure(bench, name, recorded, seed)
        said = bench.output("simulate", run, "--ranks", ",".join(map(str, TOLD)), "--algorithm",
                            "ring", "--json")
        if said is None:
            continue
        for told in json.loads(said)["ranks"]:
            for at, figure in enumerate(("exposed", "step")):
                of = told[figure + "_ms"]
                rows.append({"of": name, "round": number, "recorded": recorded,
                             "ranks": told["ranks"], "figure": figure, "forecast_ms": of["value"],
                             "low_ms": of["low"], "high_ms": of["high"],
                             "bound_by": told["bound_by"],
                             "measured_ms": truth[told["ranks"]][at]})
    return rows


def line(row):
    outside = "" if is_within(row) else " OUTSIDE"
    return (f"{row['of']:12} {row['ranks']:3} ranks from {row['recorded']}, {row['figure']:8} "
            f"forecast {row['forecast_ms']:8.2f} ({row['low_ms']:.2f} to {row['high_ms']:.2f}), "
            f"measured {row['measured_ms']:8.2f}, error {error_percent(row):5.1f} %, by "
            f"{row['bound_by']}{outside}")


def report(rows, refusals, busy=()):
    """The result of rows of one_round()."""
    result = {"name": "simulate", "title": "simulations of 8, 16 and 32 ranks from 2 and 4",
              "unit": "%", "rows": rows, "refusals": refusals, "busy": list(busy),
              "lines": [line(row) for row in rows]}
    for figure in ("step", "exposed"):
        of = [row for row in rows if row["figure"] == figure]
        error = middle(map(error_percent, of))
        within = 100 * statistics.mean(map(is_within, of)) if of else None
        if figure == "step":
            ask(result, "median error of step time", error, "%", MOST_ERROR)
            ask(result, "intervals of step time with what was measured", within, "%", LEAST_WITHIN,
                True)
            result["ours"] = error
        if of:
            result["lines"].append(
                f"{figure} time: off by {error:.1f} % in the middle, "
                f"{max(map(error_percent, of)):.1f} % at most; {within:.0f} % of the intervals hold "
                f"what was measured, and they are as wide as {middle(map(width_percent, of)):.0f} % "
                f"of the forecast in the middle")
    result["lines"] += refusals
    if busy:
        result["lines"].append(f"beside {len(busy)} runs others took {statistics.median(busy):.1f} % "
                               f"of the cores in the middle")
    return result


def simulate(options):
    """What simulate says of 8, 16 and 32 ranks, from recordings of 2 and 4 sleeping ranks with planted
    jitter on a shaped link, against runs of as many. --only NAME,... takes some of the settings,
    --from FILE counts the rounds of an earlier --json, too."""
    before = options.found.get("simulate", {"rows": [], "refusals": []})
    first = 1 + max((row["round"] for row in before["rows"]), default=-1)
    chosen = [name for name in SETTINGS if not options.only or name in options.only]
    if not chosen:
        raise SystemExit(f"bench: --only takes some of {', '.join(SETTINGS)}")
    rows = []
    with forecasts.folder_of(options) as folder:
        bench = forecasts.Workbench(options, folder)
        for number in range(first, first + (options.rounds or ROUNDS)):
            for name in chosen:
                rows += one_round(bench, name, number)
    return report(before["rows"] + rows, before["refusals"] + bench.refusals,
                  before.get("busy", []) + bench.busy)


def simulate_4096(options):
    """What simulate takes for 4,096 ranks, 200 buckets and 64 steps, from 2 sleeping ranks, its run
    file written: the best of three, --rounds N of N."""
    with tempfile.TemporaryDirectory() as folder:
        bench = forecasts.Workbench(options, folder)
        run, _ = bench.steps("many_buckets", EXPERIMENT.format(
            file=shapes(folder, MANY_BUCKETS), ranks=2, steps=MANY_STEPS + STEPS, seed=1,
            cap=0.0625, link=toml({"bandwidth_gbps": 1, "latency_us": 20})))
        seconds = []
        for number in range(options.rounds or TIMES):
            begin = time.monotonic()
            said = bench.output("simulate", run, "--ranks", MANY_RANKS, "--steps", MANY_STEPS,
                                "--out", bench.folder / f"simulated.{number}.lockstep", "--json")
            seconds.append(time.monotonic() - begin)
            if said is None:
                break
        told = json.loads(bench.output("whatif", run, "--compute-factor", 1, "--json"))
    result = {"name": "simulate_4096", "title": "simulating 4,096 ranks", "unit": "s",
              "ours": min(seconds), "seconds": seconds,
              "lines": [f"{told['own_buckets']} buckets", *bench.refusals]}
    if told["own_buckets"] != MANY_BUCKETS:
        raise SystemExit(f"bench: the run has {told['own_buckets']} buckets, not {MANY_BUCKETS}")
    ask(result, "simulating and writing", None if bench.refusals else min(seconds), "s", MOST_S)
    return result


BENCHMARKS = {"simulate": simulate, "simulate_4096": simulate_4096}
