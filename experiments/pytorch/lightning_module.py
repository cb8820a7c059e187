"""Lightning, which makes the DistributedDataParallel and starts the ranks itself.

    lockstep record -- python3 lightning_module.py                               # by callback
    lockstep record --attach auto -- python3 lightning_module.py --no-callback
"""

import argparse

import lightning
import torch

import lockstep  # 1
from digits import digits


class Watch(lightning.Callback):
    def on_train_start(self, trainer, module):
        lockstep.watch(trainer.strategy.model, trainer.optimizers[0])  # 2


class Digits(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(784, 128), torch.nn.ReLU(),
                                       torch.nn.Linear(128, 10))

    def training_step(self, batch, index):
        images, labels = batch
        return torch.nn.functional.cross_entropy(self.net(images), labels)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05, momentum=0.9)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--no-callback", action="store_true", help="for lockstep record --attach auto")
    options = parser.parse_args()
    trainer = lightning.Trainer(
        accelerator="cpu", devices=2, strategy="ddp", max_steps=options.steps, logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
        callbacks=[] if options.no_callback else [Watch()])
    trainer.fit(Digits(), torch.utils.data.DataLoader(digits(), 64, shuffle=True))


if __name__ == "__main__":
    main()
