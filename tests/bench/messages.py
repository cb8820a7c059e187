"""Single calls over Gloo: ours against PyTorch's, or against ours of other words."""

import contextlib
import pathlib

from contestants import Contestant, alternate
from figures import compared, mean_call, median_step

PEER = ["/usr/bin/python3", pathlib.Path(__file__).resolve().parent / "messages_peer.py"]
GLOO = "PyTorch Gloo"


def time_of(answers):
    return mean_call(answers) if "total_ms" in answers[0] else median_step(answers)


def messages(name, title, calls, ours_words, peer_words=None, peer_name=GLOO):
    """`calls` a turn of the words of BenchMessages.cpp, between two ranks."""
    def measure(options):
        with contextlib.ExitStack() as stack:
            ours = stack.enter_context(
                Contestant("lockstep", [options.bin / "bench_messages", "gloo"]))
            peer = (stack.enter_context(Contestant(GLOO, PEER)) if peer_name == GLOO else ours)
            sides = {"Lockstep": (ours, ours_words), peer_name: (peer, peer_words or ours_words)}
            for contestant, words in sides.values():
                contestant.turn(max(calls // 3, 3), *words)
            times = alternate(sides, options.rounds or 30, lambda side: time_of(
                sides[side][0].turn(calls, *sides[side][1])))
        return compared(name, title, times, "Lockstep", peer_name)
    measure.__doc__ = title[0].upper() + title[1:] + "."
    return name, measure


BENCHMARKS = dict([
    messages("message_8b", "send to recv of 8 bytes, 2 ranks over Gloo", 300, ("message", "8")),
    messages("message_64kb", "send to recv of 64 KB, 2 ranks over Gloo", 300,
             ("message", "65536")),
    messages("checked_4kb", "allreduce of 4 KB over Gloo with every call checked, against without",
             300, ("checked", "4096"), ("allreduce", "4096"), "unchecked"),
    messages("sum_fp16", "allreduce of 25 MB of gradients as fp16, 2 ranks over Gloo", 10,
             ("sum", "fp16")),
    messages("sum_fp16_fp32", "allreduce of 25 MB of gradients as fp16, against as fp32", 10,
             ("sum", "fp16"), ("sum", "fp32"), "as fp32"),
    messages("sum_bf16_fp32", "allreduce of 25 MB of gradients as bf16, which PyTorch's Gloo has "
             "not, against as fp32", 10, ("sum", "bf16"), ("sum", "fp32"), "as fp32"),
])
