"""Writes torchscript_model.pt, the example of a user's own model: 28 x 28 digits in, 10 scores out.

Call: python3 make_torchscript_model.py [FILE]
"""
import pathlib
import sys

import torch


class Digits(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.features = torch.nn.Sequential(
            torch.nn.Conv2d(1, 16, 5, stride=2, padding=2),
            torch.nn.BatchNorm2d(16),
            torch.nn.ReLU(),
            torch.nn.Conv2d(16, 32, 5, stride=2, padding=2),
            torch.nn.ReLU(),
        )
        self.head = torch.nn.Sequential(
            torch.nn.Linear(32 * 7 * 7, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)
        )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.head(self.features(images.view(-1, 1, 28, 28)).flatten(1))


if __name__ == "__main__":
    target = pathlib.Path(__file__).with_name("torchscript_model.pt")
    torch.manual_seed(1)
    torch.jit.script(Digits()).save(sys.argv[1] if len(sys.argv) > 1 else str(target))
