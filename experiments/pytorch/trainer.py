"""Hugging Face's Trainer, which makes the DistributedDataParallel itself.

    lockstep record -- torchrun --nproc-per-node 2 trainer.py                           # by callback
    lockstep record --attach auto -- torchrun --nproc-per-node 2 trainer.py --no-callback

The model is a transformer of 20,000 parameters with random weights: nothing is downloaded.
"""

import argparse
import tempfile

import torch
import transformers

import lockstep  # 1
from digits import digits


class Watch(transformers.TrainerCallback):
    """The Trainer wraps the model as the training begins, and hands its callbacks the bare one."""

    trainer = None

    def on_train_begin(self, args, state, control, **kwargs):
        lockstep.watch(self.trainer.model_wrapped, self.trainer.optimizer)  # 2


class Rows(torch.utils.data.Dataset):
    """Each digit as a text: a token for each of the 28 pixels of its middle row."""

    def __init__(self, count):
        images, labels = digits()[:count]
        self.tokens = (images.view(-1, 28, 28)[:, 14] * 15).long()
        self.labels = labels

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return {"input_ids": self.tokens[index], "labels": self.labels[index]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--no-callback", action="store_true", help="for lockstep record --attach auto")
    options = parser.parse_args()
    model = transformers.BertForSequenceClassification(transformers.BertConfig(
        vocab_size=16, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=64, max_position_embeddings=28, num_labels=10))
    with tempfile.TemporaryDirectory() as folder:
        trainer = transformers.Trainer(
            model=model, train_dataset=Rows(2048),
            args=transformers.TrainingArguments(
                output_dir=folder, use_cpu=True, ddp_backend="gloo", max_steps=options.steps,
                per_device_train_batch_size=16, learning_rate=1e-3, logging_steps=20,
                save_strategy="no", report_to="none", disable_tqdm=True))
        if not options.no_callback:
            watch = Watch()
            watch.trainer = trainer
            trainer.add_callback(watch)
        trainer.train()


if __name__ == "__main__":
    main()
