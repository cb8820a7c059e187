"""The 8,000 handwritten digits that Lockstep brings, for the scripts beside this one."""

import gzip
import pathlib

import torch


def digits():
    """Images of 784 numbers from 0 to 1, and the digit that each shows."""
    folder = _folder()
    images = _numbers(folder / "train-images-idx3-ubyte.gz", header=16).view(-1, 784)
    labels = _numbers(folder / "train-labels-idx1-ubyte.gz", header=8)
    return torch.utils.data.TensorDataset(images.float() / 255, labels.long())


def _folder():
    shared = pathlib.Path(__file__).resolve().parents[2]
    for folder in (shared / "resources/datasets/mnist10k", shared / "datasets/mnist10k"):
        if folder.is_dir():  # of the sources, of the package
            return folder
    raise SystemExit(f"no digits below {shared}: this script belongs into the tree of Lockstep")


def _numbers(file, header):
    with gzip.open(file) as opened:
        return torch.frombuffer(bytearray(opened.read()[header:]), dtype=torch.uint8)
