"""The models and data of BenchDdpStep.cpp in PyTorch: the same parameters, in the same order, from
the same seed, and the same operations."""

import math

import torch
from torch import nn
from torch.nn import functional

CLASSES = 10
VOCABULARY = 62
CONTEXT, EMBEDDING, HEADS, DEPTH = 64, 128, 4, 4


class Mlp(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(*pair) for pair in zip(sizes, sizes[1:]))

    def forward(self, x):
        for index, layer in enumerate(self.layers):
            x = layer(x)
            if index + 1 < len(self.layers):
                x = torch.relu(x)
        return x


def convolution(inputs, outputs, kernel, stride):
    return nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)


class BasicBlock(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = convolution(inputs, outputs, 3, stride)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = convolution(outputs, outputs, 3, 1)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(convolution(inputs, outputs, 1, stride),
                                            nn.BatchNorm2d(outputs))

    def forward(self, x):
        out = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(out + (x if self.downsample is None else self.downsample(x)))


class ResNet18(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = convolution(3, 64, 3, 1)
        self.bn1 = nn.BatchNorm2d(64)
        widths = (64, 64, 128, 256, 512)
        for number, (inputs, outputs) in enumerate(zip(widths, widths[1:]), 1):
            setattr(self, f"layer{number}", nn.Sequential(
                BasicBlock(inputs, outputs, 1 if number == 1 else 2),
                BasicBlock(outputs, outputs, 1)))
        self.fc = nn.Linear(512, CLASSES)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean((2, 3)))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(EMBEDDING)
        self.qkv = nn.Linear(EMBEDDING, 3 * EMBEDDING)
        self.projection = nn.Linear(EMBEDDING, EMBEDDING)
        self.norm2 = nn.LayerNorm(EMBEDDING)
        self.up = nn.Linear(EMBEDDING, 4 * EMBEDDING)
        self.down = nn.Linear(4 * EMBEDDING, EMBEDDING)
        self.mask = torch.full((CONTEXT, CONTEXT), -math.inf).triu(1)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))

    def attention(self, x):
        batch, time, width = x.shape
        parts = self.qkv(x).view(batch, time, 3, HEADS, width // HEADS).permute(2, 0, 3, 1, 4)
        scores = parts[0].matmul(parts[1].transpose(-2, -1)) / math.sqrt(width // HEADS)
        mixed = (scores + self.mask[:time, :time]).softmax(-1).matmul(parts[2])
        return self.projection(mixed.transpose(1, 2).reshape(batch, time, width))


class CharGpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, EMBEDDING)
        self.positions = nn.Embedding(CONTEXT, EMBEDDING)
        norm = nn.LayerNorm(EMBEDDING)
        head = nn.Linear(EMBEDDING, VOCABULARY, bias=False)  # drawn before the blocks
        self.blocks = nn.ModuleList(Block() for _ in range(DEPTH))
        self.norm = norm
        self.head = head

    def forward(self, x):
        x = self.tokens(x) + self.positions(torch.arange(x.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def make(kind, batch):
    """A model, inputs and targets."""
    torch.manual_seed(0)
    if kind == "char_gpt":
        return (CharGpt(), torch.randint(0, VOCABULARY, (batch, CONTEXT)),
                torch.randint(0, VOCABULARY, (batch, CONTEXT)))
    if kind == "resnet18":
        model, inputs = ResNet18(), torch.randn(batch, 3, 32, 32)
    else:
        model, inputs = Mlp((1024, 2048, 2048, 2048, CLASSES)), torch.randn(batch, 1024)
    return model, inputs, torch.randint(0, CLASSES, (batch,))


def loss_of(output, target):
    return functional.cross_entropy(output.flatten(0, -2), target.flatten())
