"""Buckets found from a recorded run, against fixed caps."""

from reproduction.figure import Figure, Panel, point
from reproduction.measured import exact, median, share_saved
from reproduction.points import Points
from reproduction.verdicts import Claim, Verdict, percent, plain

STEP = "step, ms"
BUCKETS = "buckets"
FIXED, GREEDY, BEST = "fixed caps", "MG-WFBP", "exact"
PYTORCH = [1, 25]  # MiB: the first bucket, and those after it
# Places on the axis of caps for what is not one cap.
PLACES = {"PyTorch's": 100.0, GREEDY: 300.0, BEST: 1000.0}


def caps_of(run):
    return run.get("ddp.bucket_cap_mb_list")


def tuned(rule):
    """Settings made of the run with PyTorch's caps."""
    def settings(lockstep, runs):
        base = next(run for run in runs if caps_of(run) == PYTORCH)
        return [f"ddp.bucket_cap_mb_list={lockstep.tuned(base.path, rule)}"]
    return settings


def take(runs):
    taken = []

    def add(run, series, x):
        taken.append(point(run, STEP, series, x, median(run.step_ms())))
        taken.append(point(run, BUCKETS, series, x, exact(run.buckets())))

    for run in runs["tuner"]:
        caps = caps_of(run)
        add(run, FIXED, PLACES["PyTorch's"] if caps == PYTORCH else caps[0])
    add(runs["tuner_mgwfbp"][-1], GREEDY, PLACES[GREEDY])
    add(runs["tuner_exact"][-1], BEST, PLACES[BEST])
    return Points(taken)


def judge(points):
    fixed = points.curve(STEP, FIXED)
    cap, fastest = min(fixed, key=lambda pair: pair[1].value)
    pytorch = dict(fixed)[PLACES["PyTorch's"]]
    best = points.at(STEP, BEST, PLACES[BEST])
    greedy = points.at(STEP, GREEDY, PLACES[GREEDY])
    count = points.at(BUCKETS, BEST, PLACES[BEST]).value
    merged = points.at(BUCKETS, GREEDY, PLACES[GREEDY]).value
    name = "PyTorch's caps" if fastest == pytorch else f"{cap:g} MiB"
    return Verdict([
        Claim(not fastest.below(best), f"the exact {count:g} buckets take {plain(best, 'ms')}, the "
                                       f"best fixed cap, {name}, {plain(fastest, 'ms')}"),
        Claim(best.below(pytorch),
              f"they take {percent(share_saved(pytorch, best))} off the step with PyTorch's caps",
              core=False),
        Claim(merged == 1 and best.below(greedy),
              f"the greedy rule makes {merged:g} bucket{'' if merged == 1 else 's'} and "
              f"{plain(greedy, 'ms')}"),
    ])


NAMES = {PLACES["PyTorch's"]: "1, 25", PLACES[GREEDY]: "greedy", PLACES[BEST]: "exact"}

FIGURES = [
    Figure("tuner", "Shi et al., MG-WFBP, INFOCOM 2019; its exact counterpart",
           "the best cut is no slower than any fixed cap; the greedy rule merges everything where "
           "gradients come more densely than a latency",
           ("tuner", "tuner_mgwfbp", "tuner_exact"),
           (Panel(STEP, "bucket cap, MiB", NAMES), Panel(BUCKETS, "bucket cap, MiB", NAMES)),
           take, judge,
           {"tuner_mgwfbp": tuned("mg-wfbp"), "tuner_exact": tuned("exact")}),
]
