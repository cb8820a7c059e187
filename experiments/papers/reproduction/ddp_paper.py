"""The figures of Li et al., "PyTorch Distributed", VLDB 2020."""

import math

from reproduction.figure import Figure, Panel, point
from reproduction.measured import in_cycles, median, ratio, share_saved
from reproduction.points import Points
from reproduction.verdicts import Claim, Verdict, falls, percent, plain, valley

PAPER = "Li et al., PyTorch Distributed, VLDB 2020"
STEP = "step, ms"
LINK = "link, Gbit/s"
FREE = math.inf  # where no link is shaped
UNSHAPED = {FREE: "none"}
ALL = 1000.0  # MiB, more than any model here: one bucket

SAVED = "saved by overlap, %"
WITH, WITHOUT = "buckets, under the backward", "one bucket, after it"


def link_speed(run):
    return run.get("link.bandwidth_gbps", 0) or FREE


def take_overlap(runs):
    taken = []
    for run in runs["overlap"]:
        overlaps = run.get("ddp.bucket_cap_mb_list")[0] < ALL
        taken.append(point(run, STEP, WITH if overlaps else WITHOUT,
                           link_speed(run), median(run.step_ms())))
    steps = Points(taken)
    for run in runs["overlap"]:
        if run.get("ddp.bucket_cap_mb_list")[0] < ALL:
            place = link_speed(run)
            saved = share_saved(steps.at(STEP, WITHOUT, place), steps.at(STEP, WITH, place))
            taken.append(point(run, SAVED, "saved", place, saved.scaled(100)))
    return Points(taken)


def judge_overlap(points):
    saved = [(x, share.scaled(0.01)) for x, share in points.curve(SAVED, "saved")]
    unshaped = dict(saved)[FREE]
    shaped = [pair for pair in saved if pair[0] < FREE]
    link, most = max(shaped, key=lambda pair: pair[1].value)
    return Verdict([
        Claim(most.low > 0.1, f"with a {link:g} Gbit/s link overlap takes {percent(most)} off the "
                              "step"),
        Claim(unshaped.below(most) and unshaped.value < 0.1, f"without a link {percent(unshaped)}",
              core=False),
    ])


def take_bucket_size(runs):
    return Points([point(run, STEP, f"{run.get('link.latency_us'):g} us",
                         run.get("ddp.bucket_cap_mb_list")[0], median(run.step_ms()))
                   for run in runs["bucket_size"]])


def cap_text(cap):
    return "one for all" if cap >= ALL else f"{cap:g} MiB"


def judge_bucket_size(points):
    claims, lowest = [], []
    for series in sorted(points.series_of(STEP), key=lambda text: float(text.split()[0])):
        found = valley(points.curve(STEP, series))
        lowest.append(found.x)
        sides = [side for side, above in (("smallest", found.left), ("largest", found.right))
                 if not above]
        claims.append(Claim(found.is_one, f"at {series} lowest with {cap_text(found.x)}, "
                            f"{plain(found.value, 'ms')}" + (
                                f", not clearly below the {' and the '.join(sides)}"
                                if sides else ", both ends clearly above")))
    moves = lowest == sorted(lowest) and lowest[0] < lowest[-1]
    claims.append(Claim(moves, "the lowest point moves right with latency" if moves else
                        "the lowest point does not move right with latency", core=False))
    return Verdict(claims)


def take_skip_sync(runs):
    longest = max(run.get("ddp.sync_every", 1) for run in runs["skip_sync"])
    return Points([point(run, STEP, f"{run.get('link.bandwidth_gbps'):g} Gbit/s",
                         run.get("ddp.sync_every", 1), median(in_cycles(run.step_ms(), longest)))
                   for run in runs["skip_sync"]])


def judge_skip_sync(points):
    claims, saved = [], []
    for series in sorted(points.series_of(STEP), key=lambda text: float(text.split()[0])):
        curve = points.curve(STEP, series)
        share = share_saved(curve[0][1], curve[-1][1])
        saved.append(share)
        claims.append(Claim(falls(curve), f"at {series} a reduction every {curve[-1][0]:g} steps "
                                          f"takes {percent(share)} off the average step"))
    claims.append(Claim(saved[-1].below(saved[0]), "more on the slower link"
                        if saved[-1].below(saved[0]) else "not clearly more on the slower link"))
    return Verdict(claims)


def take_round_robin(runs):
    return Points([point(run, STEP, run.link(), run.get("processes.round_robin", 1),
                         median(run.step_ms())) for run in runs["round_robin"]])


def judge_round_robin(points):
    gains = {series: share_saved(points.at(STEP, series, 1), points.at(STEP, series, 3))
             for series in points.series_of(STEP)}
    best = max(gains, key=lambda series: gains[series].value)
    claims = [Claim(gains[best].low > 0.03, f"{best}: three groups take {percent(gains[best])} "
                                           "off the step of one")]
    claims += [Claim(abs(gain.value) < 0.05, f"{series}: {percent(gain)}")
               for series, gain in gains.items() if series != best]
    return Verdict(claims)


SPEED = "allreduce, GB/s"
SMALL, LARGE = 4.0, 4096.0  # KiB


def take_message_size(runs):
    taken = []
    for run in runs["message_size"]:
        speeds = {}
        for size, milliseconds in run.allreduces():
            speeds.setdefault(size / 1024, []).append(size / 1e6 / milliseconds)
        series = f"{run.get('processes.backend')}, {run.ranks} ranks"
        taken += [point(run, SPEED, series, size, median(found)) for size, found in speeds.items()]
    return Points(taken)


def judge_message_size(points):
    claims = []
    for series in (series for series in points.series_of(SPEED) if series.startswith("gloo")):
        shared = series.replace("gloo", "shared_memory")
        per_byte = ratio(points.at(SPEED, series, LARGE), points.at(SPEED, series, SMALL))
        claims.append(Claim(per_byte.low > 5, f"{series}: a byte costs {plain(per_byte, digits=0)} "
                                              "times as much at 4 KiB as at 4 MiB"))
        faster = ratio(points.at(SPEED, shared, LARGE), points.at(SPEED, series, LARGE))
        claims.append(Claim(faster.low > 1.5, f"shared memory is {plain(faster)} times as fast at "
                                              "4 MiB", core=False))
    return Verdict(claims)


FIGURES = [
    Figure("overlap", f"{PAPER}, fig. 6",
           "communication under the backward takes 38.0 and 35.2 % off the iteration with NCCL, "
           "26.8 and 21.5 % with Gloo, on 32 GPUs (as quoted of the paper)",
           ("overlap",), (Panel(STEP, LINK, UNSHAPED), Panel(SAVED, LINK, UNSHAPED)),
           take_overlap, judge_overlap),
    Figure("bucket_size", f"{PAPER}, fig. 7",
           "neither the smallest nor the largest bucket is the fastest, and the best is larger "
           "where a collective costs more",
           ("bucket_size",), (Panel(STEP, "bucket cap, MiB", {ALL: "all"}),),
           take_bucket_size, judge_bucket_size),
    Figure("message_size", f"{PAPER}, fig. 2",
           "an allreduce of small tensors costs many times more a byte than one of large tensors",
           ("message_size",), (Panel(SPEED, "tensor, KiB", scale="log"),),
           take_message_size, judge_message_size),
    Figure("skip_sync", f"{PAPER}, fig. 10",
           "the average iteration gets shorter the fewer reductions there are, most where "
           "communication is slow",
           ("skip_sync",), (Panel(STEP, "steps a reduction"),), take_skip_sync, judge_skip_sync),
    Figure("round_robin", f"{PAPER}, fig. 12",
           "several groups in turns are faster where one does not fill the link, and make no "
           "difference elsewhere",
           ("round_robin",), (Panel(STEP, "groups"),), take_round_robin, judge_round_robin),
]
