# SPDX-License-Identifier: Apache-2.0
"""Generates tokens with a small GPT-2 of random weights and a KV cache.

usage: gpt_decode.py [--tokens N] [--graph | --generate] [--steps] [--profile FILE --when all|middle|twice]

--graph records one forward pass in a CUDA graph and replays it for each token. --generate calls generate() of
transformers. --steps marks each token as a step of stemtap. --profile runs torch.profiler and writes its trace: from
before the first call of CUDA (all), in the middle of the run, or twice.

The number of tokens never depends on results: the simulated GPU computes none.
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
    cache, tokens = None, prompt
    for _ in range(options.tokens):
        with step():
            output = model(tokens, past_key_values=cache, use_cache=True)
            cache, tokens = output.past_key_values, output.logits[:, -1].argmax(-1, keepdim=True)
    return tokens


def replay(model, prompt, options, step):
    model(prompt, use_cache=False)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        tokens = model(prompt, use_cache=False).logits[:, -1].argmax(-1)
    for _ in range(options.tokens):
        with step():
            graph.replay()
    return tokens


def generate(model, prompt, options, step):
    with step(), contextlib.suppress(StopIteration):
        model.generate(prompt, max_new_tokens=options.tokens, do_sample=False, pad_token_id=0,
                       streamer=Limit(options.tokens))
    return prompt


def profile(file):
    kinds = torch.profiler.ProfilerActivity
    return torch.profiler.profile(activities=[kinds.CPU, kinds.CUDA],
                                  on_trace_ready=lambda profiler: profiler.export_chrome_trace(file))


def make_model():
    torch.manual_seed(1)
    config = transformers.GPT2Config(n_layer=4, n_head=4, n_embd=256, vocab_size=1024, n_positions=512,
                                     bos_token_id=0, eos_token_id=0)
    return transformers.GPT2LMHeadModel(config).to('cuda', torch.bfloat16).eval()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--tokens', type=int, default=32)
    parser.add_argument('--graph', action='store_true')
    parser.add_argument('--generate', action='store_true')
    parser.add_argument('--steps', action='store_true')
    parser.add_argument('--profile')
    parser.add_argument('--when', choices=('all', 'middle', 'twice'), default='all')
    options = parser.parse_args()
    step = contextlib.nullcontext
    if options.steps:
        import stemtap
        step = stemtap.step
    work = replay if options.graph else generate if options.generate else decode
    # Whether torch.profiler runs in each part of the program.
    profiled = {'all': (True,), 'middle': (False, True, False), 'twice': (False, True, False, True)}[options.when]
    model = None
    with torch.no_grad():
        for is_profiled in profiled if options.profile else (False,):
            with profile(options.profile) if is_profiled else contextlib.nullcontext():
                model = model or make_model()
                prompt = torch.arange(16).unsqueeze(0).cuda()
                total = int(work(model, prompt, options, step).sum())
                torch.cuda.synchronize()
    print(json.dumps({'tokens': options.tokens, 'sum': total}))


if __name__ == '__main__':
    main()
