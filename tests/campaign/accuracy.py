"""Trains a small network on MNIST with hooks that compress, and compares the test accuracy with
that of allreduce: error feedback is to keep it, and leaving that out is to cost something."""

import dataclasses
import json
import os
import statistics
import tempfile

from campaign import Campaign, Failure, Wrong, expect

SEEDS = (1, 2, 3)
NEAR = 1.0  # points of accuracy
LOWER = 2.0


@dataclasses.dataclass
class Trained:
    name: str
    sets: tuple
    near: bool = False   # is to come within NEAR of allreduce
    lower: bool = False  # is to stay LOWER behind it


# Learning rates are those of the hooks' READMEs.
TRAINED = (
    Trained("allreduce", ("hook.name=allreduce",)),
    Trained("powersgd, rank 1", ("hook.name=powersgd", "hook.rank=1"), near=True),
    Trained("powersgd, rank 4", ("hook.name=powersgd", "hook.rank=4"), near=True),
    Trained("topk, 1 %", ("hook.name=topk", "hook.density=0.01"), near=True),
    Trained("int8", ("hook.name=int8",), near=True),
    Trained("ef_sign", ("hook.name=ef_sign", "optimizer.momentum=0.0",
                        "optimizer.learning_rate=0.05"), near=True),
    Trained("powersgd, rank 1, no feedback",
            ("hook.name=powersgd", "hook.rank=1", "hook.error_feedback=false"), lower=True),
    Trained("topk, 1 %, no feedback",
            ("hook.name=topk", "hook.density=0.01", "hook.error_feedback=false"), lower=True),
)


class Accuracy(Campaign):
    name = "accuracy"
    shows = "hooks that compress reach allreduce's accuracy on MNIST with error feedback alone"
    cases = len(TRAINED) * len(SEEDS)
    by_name_only = True  # takes long, and no case is random

    def run(self, chosen, keep):
        accuracies = {}
        for case in chosen:
            trained, seed = TRAINED[case // len(SEEDS)], SEEDS[case % len(SEEDS)]
            try:
                accuracy = self.train(trained, seed)
            except Wrong as wrong:
                yield Failure(case, str(wrong))
                continue
            print(f"  {trained.name:32} seed {seed}: {accuracy:.2f} %", flush=True)
            accuracies.setdefault(trained.name, []).append(accuracy)
        means = {name: statistics.mean(list_) for name, list_ in accuracies.items()
                 if len(list_) == len(SEEDS)}
        if TRAINED[0].name in means:
            yield from self.judge(means)

    def train(self, trained, seed):
        with tempfile.TemporaryDirectory(prefix=f"lockstep-{self.name}-") as folder:
            file = os.path.join(self.root, "tests/campaign/accuracy.toml")
            options = [option for value in (*trained.sets, f"train.seed={seed}")
                       for option in ("--set", value)]
            ended = self.lockstep("run", file, "--json", "--out", "x.lockstep", *options,
                                  folder=folder, limit=1800)
            expect(ended.code == 0, f"{trained.name}: {ended}")
            return 100 * json.loads(ended.out)["test_accuracy"]

    @staticmethod
    def judge(means):
        """Prints the table; yields what is not as it should be."""
        base = means[TRAINED[0].name]
        print("  mean of three seeds              accuracy   against allreduce")
        for number, trained in enumerate(TRAINED):
            if trained.name not in means:
                continue
            gap = means[trained.name] - base
            print(f"  {trained.name:32} {means[trained.name]:6.2f} %   {gap:+.2f}", flush=True)
            if trained.near and abs(gap) > NEAR:
                yield Failure(number * len(SEEDS), f"{trained.name}: {gap:+.2f} points against "
                                                   f"allreduce, more than {NEAR} off")
            if trained.lower and gap > -LOWER:
                yield Failure(number * len(SEEDS), f"{trained.name}: {gap:+.2f} points against "
                                                   f"allreduce, not {LOWER} lower")
