"""Forecasts of other buckets, links and hooks against runs that have them, and runs against their
like."""

import contextlib
import csv
import io
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from figures import ask

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ROUNDS = 3
STEPS = 40
FIRST_MEASURED = 2  # buckets are rebuilt behind the first
FIGURES = {"exposed": 10, "step": 5}  # the most that half of the forecasts may be off by, in %
SAME_STEP = 2  # the same of steps of the same settings, run once more
STEP_OF_OTHERS = 8  # the same of steps with another link, number in flight, or hook
HELD_OF_OTHERS = 85  # % of their intervals, and of those, with what was measured
WORTH_SPEAKING_OF = 0.1  # of a step: an interval so narrow says something, whatever its value
OTHERS_MAY_WORK = 4  # % of all cores while a run is measured
TRIES = 3
AGAIN = "again"  # a run of the same settings
TOO_FAST = "is more than half of the"  # in what is said of a link that the backend cannot stand for
KINDS = ("buckets", "link", "in flight", "hook")
HOOK = "fp16"  # it sends half of the bytes, and works for that

# Models of sleeping layers on a link that their communication takes about as long on as their
# backward: name, file, cap in MiB, settings of the link.
MODELS = [
    ("even_layers", "papers/even_layers.json", 1, {"bandwidth_gbps": 2, "latency_us": 50}),
    ("resnet50", "first_steps/shapes_resnet50.json", 25, {"bandwidth_gbps": 5, "latency_us": 100}),
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
[hook]
name = "{hook}"
"""


def toml(settings):
    return "\n".join(f"{key} = {json.dumps(value)}" for key, value in settings.items())


class OthersWork:
    """What a machine's cores do beside the processes that this one starts and waits for."""

    def __init__(self):
        self.began = self.now()

    @staticmethod
    def now():
        user, nice, system, idle, iowait, irq, softirq, steal = map(
            int, pathlib.Path("/proc/stat").read_text().split()[1:9])
        busy = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
        times = os.times()
        return (busy - times.user - times.system - times.children_user - times.children_system,
                time.monotonic())

    def percent(self):
        """Of all cores since this was made. Counted in ticks, a little can come out below 0."""
        (work, end), (before, begin) = self.now(), self.began
        return max(100 * (work - before) / (end - begin) / os.cpu_count(), 0.0)


class NotCarried(SystemExit):
    """A link is faster than what this machine carries. Nothing can be measured on it here."""


def folder_of(options):
    """Where runs lie: --keep, or a folder that goes when they have been measured."""
    if options.keep is None:
        return tempfile.TemporaryDirectory()
    options.keep.mkdir(parents=True, exist_ok=True)
    return contextlib.nullcontext(options.keep)


class Workbench:
    def __init__(self, options, folder):
        self.lockstep = options.bin / "lockstep"
        self.folder = pathlib.Path(folder).absolute()
        self.refusals = []
        self.skipped = []
        self.busy = []

    def output(self, *words):
        """What `lockstep` prints; None where it says that a run cannot tell."""
        done = subprocess.run([self.lockstep, *map(str, words)], capture_output=True, text=True,
                              cwd=ROOT)
        if done.returncode == 2 and "cannot tell" in done.stderr:
            self.refusals.append(done.stderr.strip())
            return None
        if done.returncode != 0 and TOO_FAST in done.stderr:
            raise NotCarried(done.stderr.strip())
        if done.returncode != 0:
            sys.exit(f"bench: {done.args[1]} ended with {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def run(self, name, file, link, ddp, hook="allreduce"):
        """The path of a new run and, by rank, its medians of exposed time and step in ms."""
        run, ranks = self.steps(name, EXPERIMENT.format(
            file=ROOT / "experiments" / file, steps=STEPS, ddp=toml(ddp), link=toml(link),
            hook=hook))
        return run, {rank: tuple(map(statistics.median, zip(*rows))) for rank, rows in ranks.items()}

    def steps(self, name, text):
        """The path of a run and, by rank, exposed time and step in ms of its steps. One of the same
        settings that lies in the folder already is taken."""
        experiment, run = self.folder / f"{name}.toml", self.folder / f"{name}.lockstep"
        if not run.exists() or experiment.read_text() != text:
            run.unlink(missing_ok=True)
            experiment.write_text(text)
            self.measure(experiment, run)
        ranks = {}
        for row in csv.DictReader(io.StringIO(self.output("export", run, "--csv", "overlap", "-"))):
            if int(row["step"]) >= FIRST_MEASURED:
                ranks.setdefault(int(row["rank"]), []).append(
                    (float(row["exposed_ms"]), float(row["step_ms"])))
        return run, ranks

    def measure(self, experiment, run):
        """Runs it anew where the machine was busy with something else, whatever came out."""
        unfinished = self.folder / "unfinished.lockstep"
        for _ in range(TRIES):
            unfinished.unlink(missing_ok=True)
            others = OthersWork()
            self.output("run", experiment, "--out", unfinished, "--quiet")
            busy = others.percent()
            if busy <= OTHERS_MAY_WORK:
                break
        self.busy.append(busy)
        unfinished.rename(run)


def compare(what, number, own, forecast, measured):
    """A row for each rank and figure of one forecast, beside the run that has its buckets."""
    rows = []
    for told in forecast:
        rank = told["rank"]
        for at, figure in enumerate(FIGURES):
            said = told[figure + "_ms"]
            rows.append({"of": what, "round": number, "rank": rank, "figure": figure,
                         "own_ms": own[rank][at], "own_step_ms": own[rank][1],
                         "forecast_ms": said["value"], "low_ms": said["low"],
                         "high_ms": said["high"], "said": said["change"],
                         "measured_ms": measured[rank][at]})
    return rows


class Round:
    """One round of a model: a run of its own settings, and forecasts from that one against runs of
    other settings."""

    def __init__(self, bench, model, number):
        self.bench, self.number = bench, number
        self.name, self.file, self.cap, self.link = model
        self.own_run, self.own = self.run("own", {})
        self.rows = []

    def run(self, label, link, hook="allreduce", ddp=None):
        return self.bench.run(f"{self.name}.{self.number}.{label.replace(' ', '_')}", self.file,
                              self.link | link, ddp or {"bucket_cap_mb": self.cap}, hook)

    def hold(self, label, ranks, **settings):
        """Sets a forecast against a run that has these settings."""
        try:
            _, measured = self.run(label, settings.pop("link", {}), **settings)
        except NotCarried as why:
            self.bench.skipped.append(f"{self.name} {label} skipped: {why}")
            return
        self.rows += compare(f"{self.name} {label}", self.number, self.own, ranks, measured)

    def what_if(self, label, words, **settings):
        told = self.bench.output("whatif", self.own_run, *words, "--json")
        if told is not None:
            self.hold(label, json.loads(told)["ranks"], **settings)

    def buckets(self):
        """Of a quarter and four times the cap, of tune's cut, and of its own cap once more, which
        is how far two runs of the same settings differ."""
        for label, other in (("quarter", self.cap / 4), ("fourfold", self.cap * 4),
                             (AGAIN, self.cap)):
            self.what_if(label, ("--bucket-cap-mb", other), ddp={"bucket_cap_mb": other})
        told = self.bench.output("tune", self.own_run, "--json")
        if told is not None:
            cut = json.loads(told)["cuts"][-1]
            self.hold("tune", cut["ranks"], ddp={"bucket_cap_mb_list": cut["bucket_cap_mb_list"]})

    def links(self):
        gbps, us = self.link["bandwidth_gbps"], self.link["latency_us"]
        for label, gbps, us in (("link half", gbps / 2, us), ("link double", gbps * 2, us),
                                ("link late", gbps, us * 8), ("link far", gbps / 4, us * 4)):
            self.what_if(label, ("--bandwidth-gbps", gbps, "--latency-us", us),
                         link={"bandwidth_gbps": gbps, "latency_us": us})

    def in_flight(self):
        for number in (2, 4):
            self.what_if(f"in flight {number}", ("--in-flight", number),
                         link={"in_flight": number})

    def hook(self):
        """Of a hook that ran on another link: twice as fast, or half where that is not carried."""
        gbps = self.link["bandwidth_gbps"]
        try:
            other, _ = self.run("other hook", {"bandwidth_gbps": 2 * gbps}, HOOK)
        except NotCarried as why:
            self.bench.skipped.append(f"{self.name} hook {HOOK} is of a run with half of the "
                                      f"bandwidth: {why}")
            other, _ = self.run("other hook slow", {"bandwidth_gbps": gbps / 2}, HOOK)
        self.what_if(f"hook {HOOK}", ("--hook-of", other), hook=HOOK)


def one_round(bench, model, number, kinds):
    """The rows of a model; none where this machine does not carry its own link."""
    try:
        one = Round(bench, model, number)
    except NotCarried as why:
        bench.skipped.append(f"{model[0]} skipped: {why}")
        return []
    for kind, hold in zip(KINDS, (one.buckets, one.links, one.in_flight, one.hook)):
        if kind in kinds:
            hold()
    return one.rows


def kind_of(row):
    """What was another one."""
    label = row["of"].partition(" ")[2]
    return next((kind for kind in KINDS if label.startswith(kind)), KINDS[0])


def error_percent(row):
    return 100 * abs(row["forecast_ms"] - row["measured_ms"]) / row["measured_ms"]


def width_percent(row):
    return 100 * (row["high_ms"] - row["low_ms"]) / row["forecast_ms"]


def changed_percent(row):
    """How far two runs differ, of the step: exposed time can be next to nothing."""
    return 100 * abs(row["measured_ms"] - row["own_ms"]) / row["own_step_ms"]


def is_within(row):
    return row["low_ms"] <= row["measured_ms"] <= row["high_ms"]


def is_wrong(row):
    """Whether it was said to become less and did not, or more and did not."""
    change = row["measured_ms"] - row["own_ms"]
    return row["said"] == "less" and change >= 0 or row["said"] == "more" and change <= 0


def says_nothing(row):
    return row["high_ms"] - row["low_ms"] > max(row["forecast_ms"],
                                                WORTH_SPEAKING_OF * row["own_step_ms"])


def line(row):
    remarks = [text for text, is_so in (("OUTSIDE", not is_within(row)),
                                        ("WRONG DIRECTION", is_wrong(row)),
                                        ("SAYS NOTHING", says_nothing(row))) if is_so]
    return (f"{row['of']:22} rank {row['rank']} {row['figure']:8} own {row['own_ms']:8.2f} "
            f"forecast {row['forecast_ms']:8.2f} ({row['low_ms']:.2f} to {row['high_ms']:.2f}), "
            f"{row['said']:7}, measured {row['measured_ms']:8.2f}, error "
            f"{error_percent(row):6.1f} % {' '.join(remarks)}").rstrip()


def middle(values):
    values = list(values)
    return statistics.median(values) if values else None


def report(rows, refusals, busy=(), skipped=()):
    """The result of rows of one_round(); `busy`: OthersWork.percent() beside each run; `skipped`: why
    links were not measured."""
    result = {"name": "forecasts", "title": "forecasts of whatif and tune, four models",
              "unit": "%", "rows": rows, "refusals": refusals, "skipped": list(skipped),
              "lines": [line(row) for row in rows]}
    everything = rows
    rows = [row for row in everything if kind_of(row) == KINDS[0]]
    of_others = [row for row in rows if not row["of"].endswith(AGAIN)]
    for figure, most in FIGURES.items():
        of = [row for row in of_others if row["figure"] == figure]
        same = [row for row in rows if row not in of and row["figure"] == figure]
        within = 100 * statistics.mean(map(is_within, of)) if of else None
        error = middle(map(error_percent, of))
        ask(result, f"median error of {figure} time", error, "%", most)
        ask(result, f"intervals of {figure} time with what was measured", within, "%", 90, True)
        result.setdefault("ours", error)
        if figure == "step":
            ask(result, "median error of step time, same settings", middle(map(error_percent, same)),
                "%", SAME_STEP)
            ask(result, "intervals of step time with what was measured, same settings",
                100 * statistics.mean(map(is_within, same)) if same else None, "%",
                HELD_OF_OTHERS, True)
        if of and same:
            two = [100 * abs(row["measured_ms"] - row["own_ms"]) / row["own_ms"] for row in same]
            result["lines"].append(
                f"{figure} time: intervals as wide as {middle(map(width_percent, of)):.1f} % of the "
                f"forecast in the middle; two runs of the same settings differ by "
                f"{middle(two):.1f} % in the middle, {max(two):.1f} % at most, and "
                f"{100 * statistics.mean(map(is_within, same)):.0f} % of their intervals hold it")
    others = [row for row in everything if row not in rows]
    for kind in KINDS[1:]:
        of = [row for row in others if kind_of(row) == kind and row["figure"] == "step"]
        if of:
            result["lines"].append(
                f"{kind}: {len(of)} forecasts of the step, off by "
                f"{middle(map(error_percent, of)):.1f} % in the middle and {max(map(error_percent, of)):.1f} % at most; "
                f"{sum(map(is_within, of))} within their intervals, as wide as "
                f"{middle(map(width_percent, of)):.1f} % in the middle")
    of = [row for row in others if row["figure"] == "step"]
    if of:
        ask(result, "median error of step time, other link or hook", middle(map(error_percent, of)),
            "%", STEP_OF_OTHERS)
        ask(result, "intervals of step time with what was measured, other link or hook",
            100 * statistics.mean(map(is_within, of)), "%", HELD_OF_OTHERS, True)
    of_others = of_others + others
    told = [row for row in of_others if row["said"] != "unknown"]
    untold = [row for row in of_others if row["said"] == "unknown"]
    wrong = sum(map(is_wrong, told))
    result["lines"].append(f"{len(told) - wrong} directions right, {wrong} wrong, {len(untold)} "
                           f"left open, where it changed by "
                           f"{middle(map(changed_percent, untold)) or 0:.1f} % of the step in the "
                           f"middle; {len(refusals)} forecasts refused")
    result["lines"] += [*refusals, *skipped]
    if busy:
        result["busy"] = list(busy)
        disturbed = sum(one > OTHERS_MAY_WORK for one in busy)
        result["lines"].append(f"beside {len(busy)} runs others took {statistics.median(busy):.1f} % "
                               f"of the cores in the middle; more than {OTHERS_MAY_WORK} % beside "
                               f"{disturbed}, {TRIES} times each")
    ask(result, "forecasts of the wrong direction", wrong, "", 0)
    ask(result, "intervals that say nothing", sum(map(says_nothing, of_others)), "", 0)
    return result


def forecasts(options):
    """What whatif says of a quarter and four times the cap, and tune of its cut, of other links,
    numbers in flight and a hook, on four models of sleeping layers, against runs that have these.
    --only NAME,... takes some of the models, and some of the kinds: buckets, link, in flight, hook.
    --from FILE counts the rounds of an earlier --json, too. With --keep FOLDER the same rounds can be
    forecast again from the runs that lie there. A link that this machine does not carry is skipped
    with a line that says so."""
    before = options.found.get("forecasts", {"rows": [], "refusals": []})
    first = 1 + max((row["round"] for row in before["rows"]), default=-1)
    names = [model[0] for model in MODELS]
    only = set(options.only or [])
    if only - {*names, *KINDS}:
        sys.exit(f"bench: forecasts are of {', '.join(names)}, and of {', '.join(KINDS)}")
    chosen = [model for model in MODELS if not only & set(names) or model[0] in only]
    kinds = [kind for kind in KINDS if not only & set(KINDS) or kind in only]
    rows = []
    with folder_of(options) as folder:
        bench = Workbench(options, folder)
        for number in range(first, first + (options.rounds or ROUNDS)):
            for model in chosen:
                rows += one_round(bench, model, number, kinds)
    return report(before["rows"] + rows, before["refusals"] + bench.refusals,
                  before.get("busy", []) + bench.busy, before.get("skipped", []) + bench.skipped)


BENCHMARKS = {"forecasts": forecasts}
