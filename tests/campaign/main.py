"""Command line of the campaigns; see tests/campaign/run."""

import argparse
import os
import random
import sys
import time

from accuracy import Accuracy
from collectives import Collectives
from experiment_files import ExperimentFiles
from faults import Faults
from phase_faults import PhaseFaults
from run_files import RunFiles

CAMPAIGNS = (ExperimentFiles, RunFiles, Collectives, Faults, PhaseFaults, Accuracy)


def main():
    parser = argparse.ArgumentParser(prog="tests/campaign/run")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--bin", required=True, help="folder of the built programs")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--tenth", action="store_true")
    parser.add_argument("--case", type=int)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    known = {campaign.name: campaign for campaign in CAMPAIGNS}
    if options.list:
        for campaign in CAMPAIGNS:
            print(f"{campaign.name:18} {campaign.cases:5} cases  {campaign.shows}")
        return 0
    for name in options.names:
        if name not in known:
            parser.error(f"no campaign \"{name}\"; there are {', '.join(known)}")
    seed = random.SystemRandom().randrange(1_000_000) if options.seed is None else options.seed

    failures = 0
    usual = [campaign.name for campaign in CAMPAIGNS if not campaign.by_name_only]
    for name in options.names or usual:
        campaign = known[name](os.path.abspath(options.bin), seed)
        if options.case is not None:
            chosen = [options.case]
        elif options.tenth:
            chosen = range(seed % 10, campaign.cases, 10)
        else:
            chosen = range(campaign.cases)
        print(f"{name}: seed {seed}, {len(chosen)} cases", flush=True)
        began = time.monotonic()
        failed = 0
        for failure in campaign.run(chosen, keep=options.case is not None):
            failed += 1
            print(f"{name}: FAILED tests/campaign/run --seed {seed} --case {failure.case} {name}\n"
                  f"  {failure.text}", flush=True)
        print(f"{name}: {len(chosen) - failed} of {len(chosen)} passed in "
              f"{time.monotonic() - began:.0f} s", flush=True)
        failures += failed
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
