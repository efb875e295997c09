# SPDX-License-Identifier: Apache-2.0
"""Writes a small model for llama.cpp with random weights: usage: write_gguf.py FILE

Llama architecture, 4 layers, 256 wide, vocabulary of 512 tokens, weights in Q8_0 (5 MB). Format: GGUF version 3.
"""

import random
import struct
import sys

LAYERS, WIDTH, HEADS, KV_HEADS, FEED_FORWARD, TOKENS = 4, 256, 4, 2, 1024, 512
UINT32, INT32, FLOAT32, STRING, ARRAY = 4, 5, 6, 8, 9
F32, Q8_0 = 0, 8
ALIGNMENT = 32


def text(value):
    raw = value.encode()
    return struct.pack('<Q', len(raw)) + raw


def packed(kind, value):
    if kind == STRING:
        return text(value)
    return struct.pack({UINT32: '<I', INT32: '<i', FLOAT32: '<f'}[kind], value)


def entry(key, kind, value):
    return text(key) + struct.pack('<I', kind) + packed(kind, value)


def array_entry(key, kind, values):
    return text(key) + struct.pack('<IIQ', ARRAY, kind, len(values)) + b''.join(packed(kind, one) for one in values)


def tokens():
    """Returns (text, score, type) of each token: three special ones, all bytes, and words."""
    yield from (('<unk>', 0.0, 2), ('<s>', 0.0, 3), ('</s>', 0.0, 3))
    for byte in range(256):
        yield f'<0x{byte:02X}>', 0.0, 6
    for i in range(TOKENS - 259):
        yield f'\u2581w{i}', -float(i), 1


def tensors():
    """Yields (name, dimensions) of each matrix and vector. The first dimension is contiguous."""
    kv = WIDTH // HEADS * KV_HEADS
    yield 'token_embd.weight', (WIDTH, TOKENS)
    for layer in range(LAYERS):
        for name, shape in (('attn_norm', (WIDTH,)), ('attn_q', (WIDTH, WIDTH)), ('attn_k', (WIDTH, kv)),
                            ('attn_v', (WIDTH, kv)), ('attn_output', (WIDTH, WIDTH)), ('ffn_norm', (WIDTH,)),
                            ('ffn_gate', (WIDTH, FEED_FORWARD)), ('ffn_up', (WIDTH, FEED_FORWARD)),
                            ('ffn_down', (FEED_FORWARD, WIDTH))):
            yield f'blk.{layer}.{name}.weight', shape
    yield 'output_norm.weight', (WIDTH,)
    yield 'output.weight', (WIDTH, TOKENS)


def data_of(shape, generator):
    if len(shape) == 1:
        return F32, struct.pack(f'<{shape[0]}f', *[1.0] * shape[0])
    # Q8_0: blocks of a scale in half precision and 32 signed bytes.
    scale = struct.pack('<e', 0.002)
    return Q8_0, b''.join(scale + generator.randbytes(32) for _ in range(shape[0] * shape[1] // 32))


def main(path):
    generator = random.Random(1)
    words = list(tokens())
    entries = [
        entry('general.architecture', STRING, 'llama'),
        entry('general.name', STRING, 'random weights'),
        entry('llama.context_length', UINT32, 2048),
        entry('llama.embedding_length', UINT32, WIDTH),
        entry('llama.block_count', UINT32, LAYERS),
        entry('llama.feed_forward_length', UINT32, FEED_FORWARD),
        entry('llama.attention.head_count', UINT32, HEADS),
        entry('llama.attention.head_count_kv', UINT32, KV_HEADS),
        entry('llama.attention.layer_norm_rms_epsilon', FLOAT32, 1e-5),
        entry('llama.rope.dimension_count', UINT32, WIDTH // HEADS),
        entry('llama.vocab_size', UINT32, TOKENS),
        entry('tokenizer.ggml.model', STRING, 'llama'),
        array_entry('tokenizer.ggml.tokens', STRING, [word for word, _, _ in words]),
        array_entry('tokenizer.ggml.scores', FLOAT32, [score for _, score, _ in words]),
        array_entry('tokenizer.ggml.token_type', INT32, [kind for _, _, kind in words]),
        entry('tokenizer.ggml.unknown_token_id', UINT32, 0),
        entry('tokenizer.ggml.bos_token_id', UINT32, 1),
        entry('tokenizer.ggml.eos_token_id', UINT32, 2),
    ]
    infos, data = [], bytearray()
    for name, shape in tensors():
        kind, raw = data_of(shape, generator)
        data += bytes(-len(data) % ALIGNMENT)
        infos.append(text(name) + struct.pack(f'<I{len(shape)}QIQ', len(shape), *shape, kind, len(data)))
        data += raw
    head = b'GGUF' + struct.pack('<IQQ', 3, len(infos), len(entries)) + b''.join(entries) + b''.join(infos)
    with open(path, 'wb') as file:
        file.write(head + bytes(-len(head) % ALIGNMENT) + data)


if __name__ == '__main__':
    main(*sys.argv[1:])
