#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small transformer on random tokens with Adam: forward, backward and optimizer kernels, a DataLoader with
worker processes, and with torchrun the all-reduces of data-parallel training. It requires only PyTorch and no data set.

    stemtap run -- python3 train.py --steps 200
    stemtap run --exclude nccl -- torchrun --nproc-per-node 2 train.py --steps 200

Prints the mean loss of all steps. Kernels that add in a different order in each run change its last digits.
"""

import argparse
import contextlib
import os
import sys
import time

import torch
from torch import nn
from torch.nn import functional

WARM_UP_STEPS = 5
TOKENS = 512


class RandomTokens(torch.utils.data.Dataset):
    def __init__(self, length, seed):
        self.length, self.seed = length, seed

    def __len__(self):
        return 1 << 20

    def __getitem__(self, i):
        return torch.randint(TOKENS, (self.length + 1,), generator=torch.Generator().manual_seed(self.seed + i))


class Model(nn.Module):
    def __init__(self, width, layers):
        super().__init__()
        self.embedding = nn.Embedding(TOKENS, width)
        layer = nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(width, TOKENS)

    def forward(self, tokens):
        return self.head(self.layers(self.embedding(tokens)))


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(description="Train a small transformer on random tokens.")
    parser.add_argument("--steps", type=int, default=200, help="steps to train (default: 200)")
    parser.add_argument("--batch", type=int, default=16, help="sequences per step and process (default: 16)")
    parser.add_argument("--workers", type=int, default=2, help="processes that load data (default: 2)")
    parser.add_argument("--compile", action="store_true", help="compile the model with torch.compile")
    parser.add_argument("--backend", help="of torchrun: nccl or gloo (default: nccl on GPUs)")
    parser.add_argument("--seed", type=int, default=1, help="of weights and tokens (default: 1)")
    parser.add_argument("--device", default="cuda", help="cuda or cpu (default: cuda)")
    parser.add_argument("--tiny", action="store_true", help="a model for smoke tests")
    options = parser.parse_args(arguments)
    if options.steps < 1:
        parser.error("--steps: expected at least 1")
    if options.device != "cpu" and not torch.cuda.is_available():
        parser.error("PyTorch sees no GPU; try --device cpu --tiny")
    return options


def join_ranks(options):
    """Returns the device, the rank, and a function that wraps the model for data-parallel training."""
    ranks = int(os.environ.get("WORLD_SIZE", "1"))  # set by torchrun
    device = options.device
    if device != "cpu":
        device = f"cuda:{int(os.environ.get('LOCAL_RANK', '0')) % torch.cuda.device_count()}"
        torch.cuda.set_device(device)
    if ranks == 1:
        return device, 0, lambda model: model
    torch.distributed.init_process_group(options.backend or ("gloo" if device == "cpu" else "nccl"))
    return device, torch.distributed.get_rank(), nn.parallel.DistributedDataParallel


def main(arguments=None):
    options = parse_arguments(arguments)
    device, rank, wrap = join_ranks(options)
    torch.manual_seed(options.seed)
    width, layers, length = (64, 2, 32) if options.tiny else (256, 4, 128)
    model = wrap(Model(width, layers).to(device))
    step_model = torch.compile(model) if options.compile else model
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    data = RandomTokens(length, options.seed + (rank << 20))
    batches = torch.utils.data.DataLoader(data, batch_size=options.batch, num_workers=options.workers,
                                          pin_memory=device != "cpu",
                                          multiprocessing_context="fork" if options.workers else None)
    steps = WARM_UP_STEPS + options.steps
    total, begin = torch.zeros((), device=device), None
    for step, batch in zip(range(steps), batches):
        if step == WARM_UP_STEPS:
            if device != "cpu":
                torch.cuda.synchronize()
            begin = time.perf_counter()
        tokens = batch.to(device, non_blocking=True)
        logits = step_model(tokens[:, :-1])
        loss = functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        total += loss.detach()
    mean = total.item() / steps  # waits for the device
    print(f"{options.steps / (time.perf_counter() - begin):.1f} steps per second", file=sys.stderr)
    if rank == 0:
        print(f"mean loss {mean:.4f}")
    if torch.distributed.is_initialized():
        with contextlib.suppress(RuntimeError):  # a peer that ended first
            torch.distributed.barrier()
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
