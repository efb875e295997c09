#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Greedy decoding with a GPT-2-sized transformer with random weights: a realistic stream of
kernels that requires only PyTorch and no model download.

    python3 examples/pytorch/decode.py --tokens 512
    stemtap run -- python3 examples/pytorch/decode.py --tokens 512 --cuda-graph

Eager decoding attends over all previous tokens, so the durations of its attention kernels grow with
the sequence. With --cuda-graph, each token is one graph replay that attends over the whole cache,
because shapes are fixed when the graph is captured.

The checksum depends on every token: two runs with the same options must print the same checksum.
"""

import argparse
import time

import torch
from torch import nn
from torch.nn import functional

WARM_UP_TOKENS = 8


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm_1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.project = nn.Linear(width, width)
        self.norm_2 = nn.LayerNorm(width)
        self.widen = nn.Linear(width, 4 * width)
        self.narrow = nn.Linear(4 * width, width)

    def forward(self, x, position, keys, values, visible, mask):
        """x: [batch, width]; keys, values: [batch, heads, context, head width], updated in place.
        Attends over the first `visible` entries, those that `mask` allows."""
        batch, width = x.shape
        q, k, v = self.qkv(self.norm_1(x)).view(batch, 3, self.heads, 1, -1).unbind(1)
        keys.index_copy_(2, position, k)
        values.index_copy_(2, position, v)
        attended = functional.scaled_dot_product_attention(
            q, keys[:, :, :visible], values[:, :, :visible], attn_mask=mask)
        x = x + self.project(attended.reshape(batch, width))
        return x + self.narrow(functional.gelu(self.widen(self.norm_2(x))))


class Decoder(nn.Module):
    def __init__(self, layers, heads, width, vocabulary, context):
        super().__init__()
        self.shape = (heads, context, width // heads)
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        # Not the embedding: with random weights, each token would be followed by itself.
        self.head = nn.Linear(width, vocabulary, bias=False)

    def new_cache(self, batch):
        weight = self.tokens.weight
        heads, context, head_width = self.shape
        return [tuple(torch.zeros(batch, heads, context, head_width, device=weight.device,
                                  dtype=weight.dtype) for _ in range(2)) for _ in self.blocks]

    def forward(self, token, position, cache, visible, mask):
        x = self.tokens(token) + self.positions(position)
        for block, (keys, values) in zip(self.blocks, cache):
            x = block(x, position, keys, values, visible, mask)
        return self.head(self.norm(x)).argmax(dim=-1)


class Eager:
    """One token at a time, the kernels launched one by one."""

    def __init__(self, model, batch):
        self.model = model
        self.cache = model.new_cache(batch)
        device = model.tokens.weight.device
        self.token = torch.zeros(batch, dtype=torch.long, device=device)
        self.position = torch.zeros(1, dtype=torch.long, device=device)
        self.checksum = torch.zeros((), dtype=torch.long, device=device)
        self.done = 0

    def step(self):
        self.done += 1
        self.advance(visible=self.done, mask=None)

    def advance(self, visible, mask):
        self.token.copy_(self.model(self.token, self.position, self.cache, visible, mask))
        self.position.add_(1)
        self.checksum.mul_(31).add_(self.token.sum()).remainder_(1_000_003)


class Graphed(Eager):
    """One token is one replay of a CUDA graph."""

    def __init__(self, model, batch):
        super().__init__(model, batch)
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):  # libraries set themselves up outside the capture
            for _ in range(3):
                self.whole_context()
        torch.cuda.current_stream().wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.whole_context()
        for tensor in (self.token, self.position, self.checksum):
            tensor.zero_()

    def whole_context(self):
        context = self.model.shape[1]
        seen = torch.arange(context, device=self.position.device) <= self.position
        self.advance(visible=context, mask=seen.view(1, 1, 1, context))

    def step(self):
        self.graph.replay()


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(description="Decode with a GPT-2-sized model of random weights.")
    parser.add_argument("--tokens", type=int, default=512, help="tokens to decode (default: 512)")
    parser.add_argument("--batch", type=int, default=1, help="sequences at once (default: 1)")
    parser.add_argument("--cuda-graph", action="store_true", help="replay a CUDA graph per token")
    parser.add_argument("--seed", type=int, default=1, help="of the weights (default: 1)")
    parser.add_argument("--device", default="cuda", help="cuda or cpu (default: cuda)")
    parser.add_argument("--tiny", action="store_true", help="a model for smoke tests")
    options = parser.parse_args(arguments)
    if options.tokens < 1:
        parser.error("--tokens: expected at least 1")
    if options.cuda_graph and options.device == "cpu":
        parser.error("--cuda-graph needs a GPU")
    if options.device != "cpu" and not torch.cuda.is_available():
        parser.error("PyTorch sees no GPU; try --device cpu --tiny")
    return options


def main(arguments=None):
    options = parse_arguments(arguments)
    context = options.tokens + WARM_UP_TOKENS
    on_gpu = options.device != "cpu"
    torch.manual_seed(options.seed)
    layers, heads, width, vocabulary = (2, 2, 64, 1000) if options.tiny else (12, 12, 768, 50257)
    with torch.device(options.device):
        model = Decoder(layers, heads, width, vocabulary, context)
    model = model.to(torch.bfloat16 if on_gpu else torch.float32).eval()
    if on_gpu:
        # cuDNN's attention prepares each sequence length separately, which takes 40 ms.
        torch.backends.cuda.enable_cudnn_sdp(False)
    wait = torch.cuda.synchronize if on_gpu else lambda: None

    with torch.inference_mode():
        decoding = (Graphed if options.cuda_graph else Eager)(model, options.batch)
        for _ in range(WARM_UP_TOKENS):
            decoding.step()
        wait()
        begin = time.perf_counter()
        for _ in range(options.tokens):
            decoding.step()
        wait()
        seconds = time.perf_counter() - begin

    print(f"mode: {'cuda-graph' if options.cuda_graph else 'eager'}")
    print(f"tokens: {options.tokens}")
    print(f"seconds: {seconds:.6f}")
    print(f"tokens/s: {options.tokens * options.batch / seconds:.2f}")
    print(f"checksum: {int(decoding.checksum)}")


if __name__ == "__main__":
    main()
