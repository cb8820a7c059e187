"""The models that Models.cpp builds in C++, and the bucket caps that cut them into several."""

from torch import nn

CAPS = {"mlp": (0.01, 0.02), "cnn": (0.002, 0.01)}  # first and other buckets, MiB
INPUTS = {"mlp": (64,), "cnn": (1, 14, 14)}
CLASSES = 10


def build(kind):
    if kind == "mlp":
        return nn.Sequential(
            nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 64), nn.ReLU(),
            nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, CLASSES))
    return nn.Sequential(
        nn.Conv2d(1, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, CLASSES))
