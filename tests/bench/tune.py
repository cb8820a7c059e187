"""What the tuner chooses against fixed caps, run in alternation."""

import json
import pathlib
import statistics
import sys
import tempfile

import forecasts
from figures import ask, resampled

ROUNDS = 5
CAPS = (0.125, 0.25, 0.5, 1, 2, 4, 6, 8, 12, 16, 25, 50)  # MiB
WORSE_BY = 1.03  # than the best of the fixed caps, at most: what two runs of one setting differ by
FASTER_BY = 0.95  # of the best of the fixed caps, at most, to count as faster
FASTER_ON = 2  # models
OWN, TUNER, BUCKETS = "own", "tuner", "tuner, buckets alone"

# As its first parameter, whose gradient comes last, an embedding of half of all bytes.
TIED = ("late_embedding", "late_embedding.json", 1, {"bandwidth_gbps": 2, "latency_us": 200})
MODELS = [*forecasts.MODELS, TIED]


def late_embedding():
    layers = [{"name": f"layers.{number}.weight", "shape": [128, 512], "dtype": "float32",
               "forward_us": 500, "backward_us": 1000} for number in range(32)]
    embedding = {"name": "embedding.weight", "shape": [4096, 512], "dtype": "float32",
                 "forward_us": 100, "backward_us": 2000}
    return json.dumps({"layers": [embedding, *layers]})


def value_of(text):
    """A value as TOML writes it."""
    return json.loads(text)


def settings_of(candidate):
    """The settings of a candidate by table: those of [ddp] and of [link]."""
    tables = {"ddp": {}, "link": {}}
    for key in candidate["keys"]:
        name, _, value = key.partition(" = ")
        table, _, leaf = name.partition(".")
        tables[table][leaf] = value_of(value)
    return tables


def contestants(bench, model):
    """Settings by name: the run's own, the tuner's choice from a run with those, fixed caps."""
    name, file, cap, link = model
    run, _ = bench.run(f"{name}.own", file, link, {"bucket_cap_mb": cap})
    told = bench.output("tune", run, "--json")
    found = {OWN: {"ddp": {"bucket_cap_mb": cap}, "link": {}}}
    if told is not None:
        candidates = json.loads(told)["candidates"][1:]
        found[TUNER] = settings_of(candidates[0])
        of_buckets = [one for one in candidates
                      if all(key.startswith("ddp.") and "view" not in key for key in one["keys"])]
        if of_buckets:
            found[BUCKETS] = settings_of(of_buckets[0])
    # The first bucket's cap comes down with the others', as the tuner does it.
    found |= {f"cap {fixed:g}": {"ddp": {"bucket_cap_mb": fixed, "first_bucket_mb": min(1, fixed)},
                                 "link": {}} for fixed in CAPS}
    return found


def measure(bench, model, settings, rounds):
    """Step times by settings, a value a round: the mean of the ranks' medians."""
    name, file, _, link = model
    times = {one: [] for one in settings}
    for number in range(rounds):
        order = list(settings) if number % 2 == 0 else list(reversed(settings))
        for one in order:
            of = settings[one]
            _, ranks = bench.run(f"{name}.{number}", file, link | of["link"], of["ddp"])
            times[one].append(statistics.mean(step for _, step in ranks.values()))
    return times


def best_cap(times):
    """The fixed cap with the shortest step in the middle of the rounds."""
    return min((one for one in times if one.startswith("cap")),
               key=lambda one: statistics.median(times[one]))


def ratio_of(times, one, fixed):
    """The middle ratio to a fixed cap in the same round, and its 95 % interval over the rounds."""
    ratios = [a / b for a, b in zip(times[one], times[fixed])]
    return statistics.median(ratios), resampled(statistics.median, ratios)


def lines_of(name, times):
    fixed = best_cap(times)
    for one, values in times.items():
        ratio, (low, high) = ratio_of(times, one, fixed)
        yield (f"{name:14} {one:22} {statistics.median(values):8.2f} ms a step, "
               f"{ratio:.3f} of {fixed} [{low:.3f}, {high:.3f}]")


def report(rows, refusals=()):
    """The result of the step times by settings of each model. What the tuner chose is slower where
    the interval of its ratio to the best cap is above 1, and the ratio above what two runs of one
    setting differ by; and faster where all of the interval is below 1 and the ratio by as much as
    is asked for."""
    result = {"name": "tune", "title": "the tuner's choice against 12 fixed caps", "unit": "",
              "rows": rows, "lines": []}
    ratios = {TUNER: [], BUCKETS: []}
    for row in rows:
        times = row["step_ms"]
        result["lines"] += lines_of(row["model"], times)
        for one, found in ratios.items():
            # Where it advises nothing, the run stays as it was.
            found.append(ratio_of(times, one if one in times else OWN, best_cap(times)))
    result["lines"] += refusals
    for one, found in ratios.items():
        slower = sum(ratio > WORSE_BY and low > 1 for ratio, (low, _) in found)
        faster = sum(ratio <= FASTER_BY and high < 1 for ratio, (_, high) in found)
        told = f"{one}: slower than the best cap on {slower}, faster by 5 % on {faster} of {len(found)}"
        result["lines"].append(told)
        if one == TUNER:
            result["ours"] = max((ratio for ratio, _ in found), default=None)
            ask(result, "models on which the tuner is slower", slower if found else None, "", 0)
            # Of some of the models nothing is asked here.
            ask(result, "models on which it is 5 % faster", faster if len(found) >= len(MODELS) else None, "",
                FASTER_ON, least=True)
    return result


def tune(options):
    """The settings that tune finds for five models of sleeping layers, all of them and buckets
    alone, against twelve fixed caps and the run's own, in alternation. --only NAME,... takes some of
    the models."""
    chosen = [model for model in MODELS if not options.only or model[0] in options.only]
    if not chosen:
        sys.exit(f"bench: the models of tune are {', '.join(model[0] for model in MODELS)}")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        bench = forecasts.Workbench(options, folder)
        file = pathlib.Path(folder) / TIED[1]
        file.write_text(late_embedding(), encoding="utf-8")
        for name, path, cap, link in chosen:
            # The one that was written is taken as it is: a path that is absolute stays so.
            model = (name, file if path == TIED[1] else path, cap, link)
            settings = contestants(bench, model)
            times = measure(bench, model, settings, options.rounds or ROUNDS)
            rows.append({"model": name, "settings": settings, "step_ms": times})
    return report(rows, bench.refusals)


BENCHMARKS = {"tune": tune}
