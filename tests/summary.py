"""What a call of tests/run came to, in three lines: what ran, what was skipped, what is not built.

  summary.py --results JUNIT --suites FOLDER --left-out FILE --seconds N [--asked ARGUMENTS]

JUNIT is what ctest wrote with --output-junit; FOLDER has what GoogleTest wrote of each suite that
ctest ran as one test, PROGRAM/SUITE.xml; FILE is what CMake says of the parts that are left out.
Reasons are those that the tests give themselves.
"""

import argparse
import pathlib
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter

LONGEST_REASON = 100


def duration(seconds):
    return f"{seconds // 60} min {seconds % 60} s" if seconds >= 60 else f"{seconds} s"


def counted(number, noun):
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def reason_of(output):
    """Why a test was skipped: what follows GoogleTest's "Skipped", or "skipped: " of a script."""
    lines = [line.strip() for line in output.splitlines()]
    for at, line in enumerate(lines):
        if line.endswith(": Skipped") and at + 1 < len(lines) and lines[at + 1]:
            return lines[at + 1]
        if line.startswith("skipped: "):
            return line[len("skipped: "):]
    return "no reason given"


def shortened(reason):
    return reason[:LONGEST_REASON] + ("…" if len(reason) > LONGEST_REASON else "")


def read_suites(folder):
    """The test cases of each suite: {suite: [(case, "passed", "failed" or why it was skipped)]}."""
    suites = {}
    for path in sorted(pathlib.Path(folder).glob("*/*.xml")):
        cases = suites.setdefault(path.stem.replace(".", "/"), [])
        for case in ElementTree.parse(path).getroot().iter("testcase"):
            skip, state = case.find("skipped"), "passed"
            if case.find("failure") is not None:
                state = "failed"
            elif skip is not None:  # "FILE:LINE\nwhy"
                state = skip.get("message", "").partition("\n")[2].strip() or "no reason given"
            elif case.get("status") == "notrun":
                state = "disabled"
            cases.append((case.get("name"), state))
    return suites


def read_results(path, suites):
    """How many passed, the names of those that failed, and how often each reason to skip came."""
    passed, failed, skipped = 0, [], Counter()
    for suite, cases in suites.items():
        for case, state in cases:
            if state == "passed":
                passed += 1
            elif state == "failed":
                failed.append(f"{suite}.{case}")
            else:
                skipped[shortened(state)] += 1
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        state, skip = case.get("status"), case.find("skipped")
        why = "" if skip is None else skip.get("message", "")
        of_suite = suites.get(case.get("name"))
        if of_suite is not None:
            # What fails after its last test, as a leak does, fails the program alone.
            if state == "fail" and all(outcome != "failed" for _, outcome in of_suite):
                failed.append(case.get("name"))
        elif state == "run":
            passed += 1
        elif state == "disabled":
            skipped["disabled"] += 1
        elif state == "notrun" and why.startswith("SKIP_"):
            skipped[shortened(reason_of(case.findtext("system-out", "")))] += 1
        else:  # it failed, or there was nothing to start
            failed.append(case.get("name"))
    return passed, failed, skipped


def read_left_out(path):
    """The parts that CMake names in its list of disabled features, as "name: why"."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except FileNotFoundError:
        return []
    return [f"{name}: {why}" for name, why in re.findall(r"(?m)^ \* ([^,\n]+), (.+)$", text)]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--results", required=True)
    parser.add_argument("--suites", required=True)
    parser.add_argument("--left-out", required=True)
    parser.add_argument("--seconds", type=int, required=True)
    parser.add_argument("--asked", default="")
    arguments = parser.parse_args()

    passed, failed, skipped = read_results(arguments.results, read_suites(arguments.suites))
    total = passed + len(failed)
    if total == 0 and not skipped:
        return  # a mere list of tests
    line = f"Ran {counted(total, 'test')} in {duration(arguments.seconds)}: "
    if failed:
        names = ", ".join(failed[:3]) + (", …" if len(failed) > 3 else "")
        line += f"{passed:,} passed, {len(failed):,} failed ({names})"
    else:
        line += "all passed" if total else "all were skipped"
    print("\n" + line)

    reasons = "; ".join(f"{number:,} × {reason}" for reason, number in skipped.most_common())
    print(f"Skipped {skipped.total():,}: {reasons}" if skipped else "Skipped none")

    left_out = read_left_out(arguments.left_out)
    line = "Not built: " + ("; ".join(left_out) if left_out else "nothing, every part is in")
    if arguments.asked:
        line += f". Not asked for: what {arguments.asked} leaves out"
    print(line)


if __name__ == "__main__":
    main()
