"""What the tuner chooses against fixed caps, run in alternation."""

import json
import statistics
import sys
import tempfile

from figures import ask
from forecasts import MODELS, Workbench

ROUNDS = 3
CAPS = (0.25, 1, 4, 25)  # MiB
TUNED = ("even_layers", "many_layers", "message_sizes")
WORSE_BY = 1.03  # than the best of the fixed caps, at most: what two runs of one setting differ by
OWN, TUNER, BUCKETS = "own", "tuner", "tuner, buckets alone"


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


def report_of(name, times, lines):
    """Adds what a model came to; the tuner's buckets against the best of the fixed caps."""
    middle = {one: statistics.median(values) for one, values in times.items()}
    fixed = min((one for one in middle if one.startswith("cap")), key=middle.get)
    for one in middle:
        ratios = [a / b for a, b in zip(times[one], times[fixed])]
        lines.append(f"{name:14} {one:22} {middle[one]:8.2f} ms a step, "
                     f"{statistics.median(ratios):.3f} of {fixed} ({min(ratios):.3f} to {max(ratios):.3f} by round)")
    return middle.get(BUCKETS, middle.get(TUNER, middle[OWN])) / middle[fixed]


def tune(options):
    """The settings that tune finds for three models of sleeping layers, all of them and buckets
    alone, against four fixed caps and the run's own, in alternation. --only NAME,... takes some of
    the models."""
    chosen = [model for model in MODELS if model[0] in (options.only or TUNED)]
    if not chosen:
        sys.exit(f"bench: the models of tune are {', '.join(model[0] for model in MODELS)}")
    result = {"name": "tune", "title": "the tuner's choice against fixed caps", "unit": "",
              "rows": [], "lines": []}
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        bench = Workbench(options, folder)
        for model in chosen:
            settings = contestants(bench, model)
            times = measure(bench, model, settings, options.rounds or ROUNDS)
            result["rows"].append({"model": model[0], "settings": settings, "step_ms": times})
            ratios.append(report_of(model[0], times, result["lines"]))
    result["lines"] += bench.refusals
    result["ours"] = max(ratios)
    ask(result, "the tuner's buckets against the best fixed cap", max(ratios), "x", WORSE_BY)
    return result


BENCHMARKS = {"tune": tune}
