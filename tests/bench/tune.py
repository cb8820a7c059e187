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
NO_LONGER_RUN = 1.1  # of the best cap in the first round: what is above cannot be the best
WORSE_BY = 1.03  # than the best of the fixed caps, at most: what two runs of one setting differ by
FASTER_BY = 0.95  # of the best of the fixed caps, at most, to count as faster
FASTER_ON = 2  # models
HOOK = "fp16"  # that the tuner may choose
CANDIDATES = 4  # that it runs, the run's own among them
TUNER, HOOKLESS = "tuner", "tuner, no hook"

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


def settings_of(keys):
    """The settings by table: those of [ddp], [link] and [hook]."""
    tables = {"ddp": {}, "link": {}, "hook": {}}
    for key in keys:
        name, _, value = key.partition(" = ")
        table, _, leaf = name.partition(".")
        tables[table][leaf] = value_of(value)
    return tables


def chosen(told, may_use_hook=True):
    """The keys of what won in the tuner's own runs; none where the run stays as it was."""
    faster = [one for one in told.get("measured", {"settings": []})["settings"]
              if "ratio" in one and one["ratio"]["high"] < 1
              and (may_use_hook or not any(key.startswith("hook.") for key in one["keys"]))]
    return min(faster, key=lambda one: one["ratio"]["value"])["keys"] if faster else []


def of_cap(cap):
    """Its name and settings. The first bucket's cap comes down with the others', as the tuner does
    it."""
    return f"cap {cap:g}", {"ddp": {"bucket_cap_mb": cap, "first_bucket_mb": min(1, cap)},
                            "link": {}, "hook": {}}


def contestants(bench, model):
    """Settings by name: fixed caps, the run's own among them, and what the tuner chose from a run
    with that and one with a hook, with the hook and without; where it chose anything."""
    name, file, cap, link = model
    _, own = of_cap(cap)
    run, _ = bench.run(f"{name}.own", file, link, own["ddp"])
    of_hook, _ = bench.run(f"{name}.hook", file, link, own["ddp"], HOOK)
    told = bench.output("tune", run, "--hook-of", of_hook, "--run", "--candidates", CANDIDATES,
                        "--json")
    found = {}
    for one, may_use_hook in ((TUNER, True), (HOOKLESS, False)):
        keys = chosen(json.loads(told), may_use_hook) if told is not None else []
        if keys:
            found[one] = {table: own[table] | of for table, of in settings_of(keys).items()}
    return found | dict(map(of_cap, sorted({*CAPS, cap})))


def measure(bench, model, settings, rounds):
    """Step times by settings, a value a round: the mean of the ranks' medians. Caps that are far
    from the best in the first round have that one alone, but for the run's own."""
    name, file, cap, link = model
    kept = {of_cap(cap)[0], TUNER, HOOKLESS}
    times = {one: [] for one in settings}
    running = list(times)
    for number in range(rounds):
        for one in running if number % 2 == 0 else reversed(running):
            of = settings[one]
            _, ranks = bench.run(f"{name}.{number}", file, link | of["link"], of["ddp"],
                                 of["hook"].get("name", "allreduce"))
            times[one].append(statistics.mean(step for _, step in ranks.values()))
        if number == 0:
            best = times[best_cap(times)][0]
            running = [one for one in running
                       if one in kept or times[one][0] <= NO_LONGER_RUN * best]
    return times


def best_cap(times):
    """The fixed cap with the shortest step in the middle of all rounds."""
    rounds = max(map(len, times.values()))
    return min((one for one in times if one.startswith("cap") and len(times[one]) == rounds),
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
    ratios = {TUNER: [], HOOKLESS: []}
    for row in rows:
        times = row["step_ms"]
        result["lines"] += lines_of(row["model"], times)
        for one, found in ratios.items():
            # Where it advises nothing, the run stays as it was.
            found.append(ratio_of(times, one if one in times else row["own"], best_cap(times)))
    result["lines"] += refusals
    for one, found in ratios.items():
        slower = sum(ratio > WORSE_BY and low > 1 for ratio, (low, _) in found)
        faster = sum(ratio <= FASTER_BY and high < 1 for ratio, (_, high) in found)
        told = f"{one}: slower than the best cap on {slower}, faster by 5 % on {faster} of {len(found)}"
        result["lines"].append(told)
        ask(result, f"models on which the {one} is slower", slower if found else None, "", 0)
        if one == TUNER:
            result["ours"] = max((ratio for ratio, _ in found), default=None)
            # Of some of the models nothing is asked here.
            ask(result, "models on which it is 5 % faster", faster if len(found) >= len(MODELS) else None, "",
                FASTER_ON, least=True)
    return result


def tune(options):
    """What tune --run chooses for five models of sleeping layers, with a hook to choose from and
    without, against twelve fixed caps, in alternation. --only NAME,... takes some
    of the models. --from FILE counts the models of an earlier --json, too."""
    models = [model for model in MODELS if not options.only or model[0] in options.only]
    if not models:
        sys.exit(f"bench: the models of tune are {', '.join(model[0] for model in MODELS)}")
    rows = options.found.get("tune", {"rows": []})["rows"]
    rows = [row for row in rows if row["model"] not in [model[0] for model in models]]
    with tempfile.TemporaryDirectory() as folder:
        bench = forecasts.Workbench(options, folder)
        file = pathlib.Path(folder) / TIED[1]
        file.write_text(late_embedding(), encoding="utf-8")
        for name, path, cap, link in models:
            # The one that was written is taken as it is: a path that is absolute stays so.
            model = (name, file if path == TIED[1] else path, cap, link)
            settings = contestants(bench, model)
            times = measure(bench, model, settings, options.rounds or ROUNDS)
            rows.append({"model": name, "own": of_cap(cap)[0], "settings": settings,
                         "step_ms": times})
    return report(rows, bench.refusals)


BENCHMARKS = {"tune": tune}
