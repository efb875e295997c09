#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Serves requests with a small GPT-2, with random weights and a KV cache, and marks prefill and decode as NVTX ranges.

    stemtap run --level gate --ranges --bound range -- python3 serve.py --requests 200

Prompts and answers have random lengths. The number of launches does not depend on results, so the program also runs on
stemtap's simulated GPU, which computes none.
"""

import argparse
import json
import random
import time

import torch
import transformers
from torch.cuda import nvtx

from generate import new_model


def answer(model, prompt, tokens):
    """Answers one request. Returns the number of forward passes."""
    cache = transformers.DynamicCache()
    with nvtx.range("prefill"):
        token = model(prompt, cache, use_cache=True).logits[:, -1].argmax(-1, keepdim=True)
    with nvtx.range("decode"):
        for _ in range(tokens):
            token = model(token, cache, use_cache=True).logits[:, -1].argmax(-1, keepdim=True)
    return 1 + tokens


def main():
    parser = argparse.ArgumentParser(description="Serve requests with a small GPT-2.")
    parser.add_argument("--requests", type=int, default=100, help="requests to answer (default: 100)")
    parser.add_argument("--seconds", type=float, help="answer requests for this time instead")
    options = parser.parse_args()
    lengths = random.Random(1)
    passes = requests = 0
    with torch.no_grad():
        model = new_model()
        end = time.monotonic() + (options.seconds or 0)
        while time.monotonic() < end if options.seconds else requests < options.requests:
            prompt = torch.arange(lengths.randrange(8, 256)).unsqueeze(0).cuda()
            with nvtx.range("request"):
                passes += answer(model, prompt, lengths.randrange(4, 32))
            torch.cuda.synchronize()
            requests += 1
    print(json.dumps({"requests": requests, "passes": passes}))


if __name__ == "__main__":
    main()
