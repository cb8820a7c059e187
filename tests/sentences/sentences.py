#!/usr/bin/env python3
"""Every sentence that the product says about a run has a test that makes it say so.

Usage: sentences.py SOURCE_FOLDER            compares sources, the list and the tests
       sentences.py SOURCE_FOLDER --update   writes the list anew, and prints what has no test

Sentences are literals (adjacent ones joined, places for values kept) of the sources in SPEAKERS:
what a run did, how it ended, what was wrong with it, what another one would have done. A literal
is a sentence when it has three words or places for values, and two of them are words. The half
sentences that a whole one is put together from are sentences, too.

Outside are, since they are not about a run: errors about files, options and experiments
(tests/mistakes and the tests of each reader have those), help texts, names of controls, titles of
columns and what a pointer over them explains, and checks of our own code (LOCKSTEP_CHECK). Of the
backends, mpi and nccl are outside: which of their tests run depends on the machine.

`sentences.txt` says for each sentence which test makes the product say it. That test must exist,
and hold a part of the sentence by which it is recognised: four of its words in a row, three of them
in no other sentence, or all words between two places for values, or the sentence with its values. It
is a GoogleTest case, or a Python script of runs over several hosts, which counts as a whole. The
command line's sentences are shown by tests of the command line, the studio's by tests of the studio.
"""

import argparse
import glob
import os
import re
import sys

import cpp_text

SPEAKERS = """
engine/analysis/*.cpp
engine/capture/*.cpp
engine/cost/*.cpp
engine/diagnosis/*.cpp
engine/diagnosis/rules/*.cpp
engine/simulate/*.cpp
engine/report/*.cpp
engine/report/html/Shown*.cpp
engine/report/html/Verdict.cpp
engine/import/FlightFindings.cpp
engine/import/JobClock.cpp
engine/import/RankTimeline.cpp
engine/import/TraceBuckets.cpp
engine/import/WriteJob.cpp
engine/launch/Obituary.cpp
engine/launch/OutputText.cpp
engine/launch/Verdict.cpp
engine/launch/detail/JobRelay.cpp
engine/launch/detail/Observation*.cpp
engine/launch/detail/RelayPeers.cpp
engine/launch/detail/RemoteRanks.cpp
engine/launch/detail/Supervision*.cpp
engine/launch/detail/TraceRequest.cpp
engine/trace/DivergenceWatch.cpp
engine/trace/RankAgreement.cpp
engine/trace/ReplicaWatch.cpp
engine/train/Farewell.cpp
engine/train/faults/FaultInjector.cpp
engine/ddp/Handshake.cpp
engine/ddp/Join.cpp
engine/ddp/PlanAgreement.cpp
engine/ddp/Reducer.cpp
engine/ddp/reducer/*.cpp
engine/ddp/UnusedSearch.cpp
engine/process_group/Blame.cpp
engine/process_group/Mismatch.cpp
engine/process_group/WorkState.cpp
engine/process_group/operation/*.cpp
engine/process_group/shared_memory/Agreement.cpp
engine/process_group/shared_memory/Watch.cpp
engine/hooks/plugin/PluginHook.cpp
engine/hooks/plugin/detail/PluginSession*.cpp
app/cli/Compare.cpp
app/cli/Record.cpp
app/cli/HostTable.cpp
app/cli/RunReportText.cpp
app/cli/Simulate.cpp
app/cli/Tune.cpp
app/cli/TuneRuns.cpp
app/cli/TuneText.cpp
app/cli/WhatIf.cpp
ui/model/SpanFacts.cpp
ui/panels/findings/FindingWords.cpp
ui/shell/JobEnding.cpp
ui/shell/RunEnding.cpp
ui/views/buckets/BucketFacts.cpp
ui/views/buckets/BucketStory.cpp
ui/views/buckets/BucketTexts.cpp
ui/views/compare/CompareResult.cpp
ui/views/compare/CompareScene.cpp
ui/views/divergence/ParameterWords.cpp
ui/views/divergence/SequenceWords.cpp
ui/views/live/LiveContent.cpp
ui/views/overlap/OverlapSide.cpp
ui/views/overlap/OverlapWords.cpp
ui/views/whatif/ForecastHistory.cpp
ui/views/whatif/HistoryWords.cpp
ui/views/whatif/ScalingCurve.cpp
ui/views/whatif/WhatIf.cpp
ui/views/whatif/WhatIfRun.cpp
""".split()

# Sources of SPEAKERS that say nothing about a run.
SILENT = {
    "engine/analysis/CompareMetrics.cpp",  # titles of figures and what they are
    "engine/diagnosis/Rules.cpp",          # what rules are, of no run
}

# Code before a literal that makes it something else than a sentence about a run.
NO_SENTENCE = re.compile(
    r"LOCKSTEP_CHECK|add_option|add_flag|addChecked|addCommand|footer\(|setToolTip|setAccessibleName"
    r"|setPlaceholderText|setWhatsThis|addAction")

# Tests that show what a room says; others may use the same words of something else.
SHOWN_BY = {"app": "tests/app/", "ui": "tests/ui/", "engine": "tests/"}

# Literals of the speakers that are no sentences about a run.
EXCLUDED = {
    # titles of rows and columns
    "steps per second", "bytes a step", "wire bytes a step", "exposed on rank {} [ms]",
    "Exposed, rank %1", "Iteration, rank %1", "Measured, cap %1", "Forecast, cap %1",
    "Why it ends", "Keys that differ", "Over the cap", "a step, mean", "ddp.bucket_cap_mb_list: one",
    # what errors of PyTorch are recognised by
    "Connection closed by peer", "Connection reset by peer", "Timed out waiting",
    # where a process crashed: verifyHook() makes a sentence of it, which VerifyHookTest has
    "in hook '{}', rank {}: {}",
    # what the clipboard gets, for an experiment file
    "[capture]\\nfingerprint_every = 10\\ngradient_check_every = 10\\n",
}

PLACE = re.compile(r"\{[^{}]*\}|%\d|%n")
MARKUP = re.compile(r"<[^<>]*>")
WORD = re.compile(r"[^\W\d_][\w'’-]*")
LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sentences.txt")
HEAD = """# Sentences about a run, each with the test that makes the product say it: see sentences.py.
# After a change: tests/sentences/sentences.py . --update
"""
UNPROVOKED = "# not provoked yet: "


def is_sentence(literal):
    if NO_SENTENCE.search(literal.before) or literal.text in EXCLUDED:
        return False
    text = MARKUP.sub(" ", literal.text)
    words = len([word for word in words_of(PLACE.sub(" ", text)) if len(word) > 1 or word in "aA"])
    return " " in text.strip() and words >= 2 and words + len(PLACE.findall(text)) >= 3


def words_of(text):
    return [word.lower() for word in WORD.findall(re.sub(r"\\[nrt]|\\033\[\w", " ", text))]


def sentences(root):
    """Text of each sentence, and where it is said first."""
    said = {}
    for pattern in SPEAKERS:
        files = sorted(glob.glob(os.path.join(root, pattern)))
        if not files:
            sys.exit(f"sentences.py: there is no {pattern}: take it out of SPEAKERS")
        for file in files:
            if os.path.relpath(file, root) in SILENT:
                continue
            with open(file, encoding="utf-8") as source:
                for literal in cpp_text.literals(source.read()):
                    if is_sentence(literal):
                        said.setdefault(literal.text, f"{os.path.relpath(file, root)}:{literal.line}")
    return said


def runs_of(words, length):
    return {tuple(words[i:i + length]) for i in range(len(words) - length + 1)}


def stretches(text):
    """The words between the places for values."""
    return [words for words in map(words_of, PLACE.split(MARKUP.sub(" ", text))) if words]


class Recogniser:
    """Tells a sentence by words in a row: those that it shares with no other, or a whole stretch."""

    def __init__(self, said):
        self.said = said
        self.common = {}
        for text in said:
            for run in set().union(*(runs_of(words, 3) for words in stretches(text)), set()):
                self.common[run] = self.common.get(run, 0) + 1

    def strength(self, text, test):
        """0 where the test does not show the sentence, else how many of its words it shows."""
        room = self.said[text].split("/")[0]
        if not test.name.startswith(SHOWN_BY[room]):
            return 0
        best = 0
        for words in stretches(text):
            for length in range(len(words), 0, -1):
                shown = [run for run in runs_of(words, length)
                         if run in test.runs(length) and self._tells(run, words)]
                if shown:
                    best = max(best, length)
                    break
        if best == 0 and test.shows_whole(text):
            best = 1
        return best

    def _tells(self, run, stretch):
        if len(run) < 3:
            return False
        return len(run) == len(stretch) or len(run) > 3 and any(
            self.common[run[i:i + 3]] == 1 for i in range(len(run) - 2))


class Test:
    """One test: its name in the list, and what stands in quotes in it."""

    def __init__(self, name, texts):
        self.name = name
        self.texts = [text.replace("\\\"", "\"") for text in texts]
        self._runs = {}

    def runs(self, length):
        if length not in self._runs:
            self._runs[length] = set().union(
                *(runs_of(words_of(MARKUP.sub(" ", text)), length) for text in self.texts), set())
        return self._runs[length]

    def shows_whole(self, text):
        """Whether a text of it is the sentence, with values in its places."""
        parts = [re.escape(part) for part in PLACE.split(text.replace("\\\"", "\"").strip())]
        pattern = re.compile(".{1,40}?".join(parts), re.S)
        return any(pattern.search(test) for test in self.texts)


def tests(root):
    """All tests, by their name in the list."""
    found = {}
    for folder, _, files in sorted(os.walk(os.path.join(root, "tests"))):
        for file in sorted(files):
            path = os.path.join(folder, file)
            name = os.path.relpath(path, root)
            if file.endswith("Test.cpp"):
                with open(path, encoding="utf-8") as source:
                    for test, body in cpp_text.tests(source.read()).items():
                        texts = [literal.text for literal in cpp_text.literals(body)]
                        found[f"{name} {test}"] = Test(f"{name} {test}", texts)
            elif file.endswith(".py") and name.startswith("tests/app/cluster/"):
                with open(path, encoding="utf-8") as source:
                    found[name] = Test(name, re.findall(r'"((?:[^"\\\n]|\\.)*)"', source.read()))
    return found


def read_list(path):
    """Sentence to test, '' where none is known yet, and how many of these are allowed."""
    listed, allowed = {}, 0
    with open(path, encoding="utf-8") as file:
        for line in file.read().splitlines():
            if line.startswith(UNPROVOKED):
                allowed = int(line.removeprefix(UNPROVOKED))
            elif line and not line.startswith("#"):
                text, _, test = line.partition("  →  ")
                listed[text] = test
    return listed, allowed


def line_of(text, test):
    return f"{text}  →  {test}" if test else text


def mend(said, listed, known):
    """Keeps what the list has right, and looks for a test of everything else."""
    recogniser = Recogniser(said)
    mended = {}
    for text in said:
        test = known.get(listed.get(text, ""))
        if test is None or recogniser.strength(text, test) == 0:
            shown = [(recogniser.strength(text, test), near(said[text], name), name)
                     for name, test in known.items()]
            best = max(shown, key=lambda each: each[:2])
            test = known[best[2]] if best[0] > 0 else None
        mended[text] = test.name if test else ""
    return mended


def near(place, name):
    """How many folders the source and the test have in common: neighbours are preferred."""
    return len(os.path.commonprefix([place.split("/"), name.removeprefix("tests/").split("/")]))


def write_list(path, mended):
    # A sentence that opens with a blank continues another one: its blank is kept.
    provoked = sorted((text for text, test in mended.items() if test), key=str.strip)
    others = sorted((text for text, test in mended.items() if not test), key=str.strip)
    with open(path, "w", encoding="utf-8") as file:
        file.write(HEAD)
        file.writelines(line_of(text, mended[text]) + "\n" for text in provoked)
        if others:
            file.write(f"\n{UNPROVOKED}{len(others)}\n")
            file.writelines(text + "\n" for text in others)


def complaints(said, listed, allowed, known):
    recogniser = Recogniser(said)
    for text, place in said.items():
        if text not in listed:
            yield f"{place}: not in the list: {text!r}"
    for text, test in listed.items():
        if text not in said:
            yield f"sentences.txt: no source says this any more: {text!r}"
        elif test and test not in known:
            yield f"sentences.txt: there is no test {test!r} for {text!r}"
        elif test and recogniser.strength(text, known[test]) == 0:
            yield f"{said[text]}: {test} holds nothing of it that no other sentence has: {text!r}"
    without = sum(not test for test in listed.values())
    if without > allowed:
        yield f"sentences.txt: {without} sentences have no test, {allowed} had none before"


def self_test():
    """A small source and its tests: right as listed, and each thing that can be wrong of it."""
    said, no_tests = {"rank {} came {} ms late to bucket {}": "engine/analysis/Tail.cpp:1"}, {}
    sentence, test = next(iter(said)), "tests/TailTest.cpp Tail.NamesTheRank"
    known = {test: Test(test, ["came 3 ms late to bucket 1"])}
    blind = {test: Test(test, ["late", "rank 1"])}
    for name, listed, allowed, these, expected in (
            ("right", {sentence: test}, 0, known, 0),
            ("a new sentence", {}, 0, known, 1),
            ("a sentence that is gone", {sentence: test, "gone": test}, 0, known, 1),
            ("a test that is gone", {sentence: test}, 0, no_tests, 1),
            ("a test that shows something else", {sentence: test}, 0, blind, 1),
            ("one more without a test", {sentence: ""}, 0, known, 1),
            ("as many without a test as before", {sentence: ""}, 1, known, 0)):
        found = list(complaints(said, listed, allowed, these))
        if len(found) != expected:
            sys.exit(f"{name}: {expected} complaints expected, got {found}")
    literals = cpp_text.literals('f("a " /* "no" */\n  "b"); // "no"\nadd_flag("x", R"(y)");')
    if [(each.line, each.text, each.before) for each in literals] != [
            (1, "a b", "f("), (3, "x", "add_flag("), (3, "y", "add_flag(,")]:
        sys.exit(f"literals: got {literals}")
    return 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", nargs="?", default=".")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()
    said = sentences(arguments.root)
    known = tests(arguments.root)
    if arguments.update:
        listed = read_list(LIST)[0] if os.path.exists(LIST) else {}
        mended = mend(said, listed, known)
        write_list(LIST, mended)
        for text, test in mended.items():
            if not test:
                print(f"{said[text]}: no test makes the product say {text!r}")
        print(f"{len(said)} sentences, {sum(not test for test in mended.values())} without a test")
        return 0
    listed, allowed = read_list(LIST)
    found = list(complaints(said, listed, allowed, known))
    for complaint in found:
        print(complaint)
    if found:
        print("A new sentence gets a test that makes the product say it, then: "
              "tests/sentences/sentences.py . --update (CONTRIBUTING.md, Sentences)")
        return 1
    print(f"{len(said)} sentences, {len(said) - sum(not test for test in listed.values())} with "
          "the test that makes the product say them")
    return 0


if __name__ == "__main__":
    sys.exit(main())
