#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generates tokens with a small GPT-2 of transformers, with random weights and a KV cache. It downloads nothing.

    stemtap run -- python3 generate.py --tokens 256
    stemtap run --level graph -- python3 generate.py --tokens 256 --graph

The number of launches does not depend on results, so the program also runs on stemtap's simulated GPU, which computes
none.
"""

import argparse
import contextlib
import json

import torch
import transformers


class Limit(transformers.generation.streamers.BaseStreamer):
    """Limit ends generate() after a number of tokens."""

    def __init__(self, tokens):
        self.left = tokens + 1  # the first call passes the prompt

    def put(self, value):
        self.left -= 1
        if self.left == 0:
            raise StopIteration

    def end(self):
        pass


def decode(model, prompt, options, step):
    cache, tokens = transformers.DynamicCache(), prompt
    for _ in range(options.tokens):
        step()
        tokens = model(tokens, cache, use_cache=True).logits[:, -1].argmax(-1, keepdim=True)
    return tokens


def replay(model, prompt, options, step):
    model(prompt, use_cache=False)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        tokens = model(prompt, use_cache=False).logits[:, -1].argmax(-1)
    for _ in range(options.tokens):
        step()
        graph.replay()
    return tokens


def generate(model, prompt, options, step):
    step()
    with contextlib.suppress(StopIteration):
        model.generate(prompt, max_new_tokens=options.tokens, do_sample=False, pad_token_id=0,
                       streamer=Limit(options.tokens))
    return prompt


def no_step():
    pass


def profiler(file):
    kinds = torch.profiler.ProfilerActivity
    return torch.profiler.profile(activities=[kinds.CPU, kinds.CUDA],
                                  on_trace_ready=lambda profile: profile.export_chrome_trace(file))


def new_model():
    torch.manual_seed(1)
    config = transformers.GPT2Config(n_layer=4, n_head=4, n_embd=256, vocab_size=1024, n_positions=512,
                                     bos_token_id=0, eos_token_id=0)
    return transformers.GPT2LMHeadModel(config).to("cuda", torch.bfloat16).eval()


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(description="Generate tokens with a small GPT-2.")
    parser.add_argument("--tokens", type=int, default=32, help="tokens to generate (default: 32)")
    parser.add_argument("--graph", action="store_true", help="replay a CUDA graph of one forward pass for each token")
    parser.add_argument("--generate", action="store_true", help="call generate() instead of the model")
    parser.add_argument("--steps", action="store_true", help="mark each token as a step of stemtap")
    parser.add_argument("--profile", metavar="FILE", help="run torch.profiler and write its trace")
    parser.add_argument("--when", choices=("all", "middle", "twice"), default="all",
                        help="profile from before the first call of CUDA, in the middle, or twice (default: all)")
    return parser.parse_args(arguments)


def main(arguments=None):
    options = parse_arguments(arguments)
    step = no_step
    if options.steps:
        import stemtap
        step = stemtap.step
    work = replay if options.graph else generate if options.generate else decode
    # Whether torch.profiler runs in each part of the program.
    parts = {"all": (True,), "middle": (False, True, False), "twice": (False, True, False, True)}[options.when]
    model = None
    with torch.no_grad():
        for profiles in parts if options.profile else (False,):
            with profiler(options.profile) if profiles else contextlib.nullcontext():
                model = model or new_model()
                prompt = torch.arange(16).unsqueeze(0).cuda()
                total = int(work(model, prompt, options, step).sum())
                torch.cuda.synchronize()
    print(json.dumps({"tokens": options.tokens, "sum": total}))


if __name__ == "__main__":
    main()
