#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small convolutional network on random images: forward, backward and optimizer kernels, and
with torchrun the all-reduces of data-parallel training. It requires only PyTorch and no data set.

    stemtap run -- python3 train.py --steps 200
    stemtap run --exclude nccl -- torchrun --nproc-per-node 2 train.py --steps 200

The loss printed at the end depends on every step. Kernels that add in a different order in each run
change its last digits.
"""

import argparse
import os
import time

import torch
from torch import nn
from torch.nn import functional

WARM_UP_STEPS = 5


def new_model(tiny):
    width = 8 if tiny else 64
    layers = [nn.Conv2d(3, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()]
    for _ in range(1 if tiny else 4):
        layers += [nn.Conv2d(width, 2 * width, 3, stride=2, padding=1), nn.BatchNorm2d(2 * width), nn.ReLU()]
        width *= 2
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10))


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(description="Train a small network on random images.")
    parser.add_argument("--steps", type=int, default=200, help="steps to train (default: 200)")
    parser.add_argument("--batch", type=int, default=64, help="images per step and process (default: 64)")
    parser.add_argument("--compile", action="store_true", help="compile the model with torch.compile")
    parser.add_argument("--seed", type=int, default=1, help="of weights and images (default: 1)")
    parser.add_argument("--device", default="cuda", help="cuda or cpu (default: cuda)")
    parser.add_argument("--tiny", action="store_true", help="a model for smoke tests")
    options = parser.parse_args(arguments)
    if options.steps < 1:
        parser.error("--steps: expected at least 1")
    if options.device != "cpu" and not torch.cuda.is_available():
        parser.error("PyTorch sees no GPU; try --device cpu --tiny")
    return options


def main(arguments=None):
    options = parse_arguments(arguments)
    ranks = int(os.environ.get("WORLD_SIZE", "1"))  # set by torchrun
    rank = int(os.environ.get("RANK", "0"))
    device = options.device
    if device != "cpu":
        device = f"cuda:{os.environ.get('LOCAL_RANK', '0')}"
        torch.cuda.set_device(device)
    if ranks > 1:
        torch.distributed.init_process_group("gloo" if device == "cpu" else "nccl")

    torch.manual_seed(options.seed)
    model = new_model(options.tiny).to(device)
    if ranks > 1:
        model = nn.parallel.DistributedDataParallel(model)
    step_model = torch.compile(model) if options.compile else model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    generator = torch.Generator().manual_seed(options.seed + rank)
    side = 8 if options.tiny else 64
    images = torch.randn(options.batch, 3, side, side, generator=generator).to(device)
    labels = torch.randint(10, (options.batch,), generator=generator).to(device)

    begin = None
    for step in range(WARM_UP_STEPS + options.steps):
        if step == WARM_UP_STEPS:
            if device != "cpu":
                torch.cuda.synchronize()
            begin = time.perf_counter()
        loss = functional.cross_entropy(step_model(images), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    last = loss.item()  # waits for the device
    elapsed = time.perf_counter() - begin
    if rank == 0:
        print(f"{options.steps / elapsed:.1f} steps per second, loss {last:.4f}")
    if ranks > 1:
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
