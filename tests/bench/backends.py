"""Which of our backends the benchmarks measure."""

import functools
import json
import subprocess
import sys

WANTED = ("gloo", "shared_memory")  # the last one that there is stands for Lockstep


@functools.lru_cache
def built(program):
    return json.loads(subprocess.run([program, "--backends"], check=True, capture_output=True,
                                     text=True).stdout)


def backends(options):
    """The backends to measure: those asked for, or those of WANTED that this build has."""
    there = built(options.bin / "bench_ddp_step")
    if not options.backends:
        return [name for name in WANTED if name in there]
    missing = [name for name in options.backends if name not in there]
    if missing:
        sys.exit(f"bench: this build has no backend {', '.join(missing)}; there are "
                 f"{', '.join(there)}")
    return options.backends
