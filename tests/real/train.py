# SPDX-License-Identifier: Apache-2.0
"""Trains a small transformer for a few steps with Adam and a DataLoader whose workers are forked.

usage: train.py [--steps N] [--compile] [--distributed]

--compile runs the model through torch.compile, with Triton's kernels. --distributed is for torchrun: the gradients of
its processes are averaged with gloo.
"""

import argparse
import json

import torch
from torch import nn


class Tokens(torch.utils.data.Dataset):
    def __len__(self):
        return 256

    def __getitem__(self, i):
        generator = torch.Generator().manual_seed(i)
        return torch.randint(0, 512, (65,), generator=generator)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(512, 128)
        layer = nn.TransformerEncoderLayer(128, 4, 256, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(128, 512)

    def forward(self, tokens):
        return self.head(self.layers(self.embedding(tokens)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--steps', type=int, default=8)
    parser.add_argument('--compile', action='store_true')
    parser.add_argument('--distributed', action='store_true')
    options = parser.parse_args()
    torch.manual_seed(1)
    model = Model().cuda()
    rank = 0
    if options.distributed:
        torch.distributed.init_process_group('gloo')
        rank = torch.distributed.get_rank()
    step_model = torch.compile(model) if options.compile else model
    optimizer = torch.optim.Adam(model.parameters())
    loader = torch.utils.data.DataLoader(Tokens(), batch_size=8, num_workers=2, pin_memory=True,
                                         multiprocessing_context='fork')
    losses = 0
    for step, batch in enumerate(loader):
        if step == options.steps:
            break
        tokens = batch.cuda(non_blocking=True)
        logits = step_model(tokens[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        if options.distributed:
            for parameter in model.parameters():
                gradient = parameter.grad.cpu()
                torch.distributed.all_reduce(gradient)
                parameter.grad.copy_(gradient)
        optimizer.step()
        losses += loss.item()
    print(json.dumps({'rank': rank, 'steps': options.steps, 'loss': losses}))
    if options.distributed:
        torch.distributed.destroy_process_group()


if __name__ == '__main__':
    main()
