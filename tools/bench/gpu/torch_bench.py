#!/usr/bin/env python3
"""Times tlc's attention against PyTorch's FA2 and cuDNN backends, and its memory-bound kernels against a device copy; checks
each against float64. Prints one JSON object a row. `lib=NAME=PATH=SYMBOL` says where a compiled kernel is; see bench.py."""
import ctypes
import json
import math
import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

HALF = torch.float16


def entry(path, name):
    library = ctypes.CDLL(path)
    function, message = getattr(library, name), getattr(library, name + "_last_error")
    function.restype, message.restype = ctypes.c_int32, ctypes.c_char_p

    def call(*arguments):
        converted = []
        for a in arguments:
            if isinstance(a, torch.Tensor):
                converted.append(ctypes.c_void_p(a.data_ptr()))
            else:
                converted.append(ctypes.c_float(a) if isinstance(a, float) else ctypes.c_int64(a))
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        status = function(*converted, None, ctypes.c_size_t(0), stream)
        if status:
            raise RuntimeError(f"{name}: status {status}: {message().decode()}")

    return call


class Timer:
    """Median milliseconds; functions take turns, each with a cold L2, so that heat and clock hit all alike."""

    def __init__(self):
        self.flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")

    def once(self, function):
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        self.flush.zero_()
        start.record()
        function()
        stop.record()
        stop.synchronize()
        return start.elapsed_time(stop)

    def __call__(self, *functions, rounds=25, warm=5):
        times = [[] for _ in functions]
        for i in range(rounds):
            for kept, function in zip(times, functions):
                milliseconds = self.once(function)
                if i >= warm:
                    kept.append(milliseconds)
        return [sorted(t)[len(t) // 2] for t in times]


def distance(out, reference):
    out, reference = out.double(), reference.double()
    return ((out - reference).norm() / reference.norm()).item()


def row(**fields):
    print(json.dumps(fields), flush=True)


def attention_reference(q, k, v, causal):
    q, k, v = (x.double().transpose(1, 2) for x in (q, k, v))
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], dim=1) for x in (k, v))
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if causal:
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device="cuda").triu(1)
        scores = scores.masked_fill(mask, -math.inf)
    return (scores.softmax(-1) @ v).transpose(1, 2)


def attention(call, timer, name, heads, kv_heads, dim, causal, lengths):
    def inputs(batch, length):
        shape = lambda h: (batch, length, h, dim)
        return [torch.randn(shape(h), device="cuda", dtype=HALF) for h in (heads, kv_heads, kv_heads)]

    worst = 0.0
    for batch, length in ((1, 1), (2, 100), (1, 193), (1, 1024)):
        q, k, v = inputs(batch, length)
        out = torch.full_like(q, math.nan)
        call(q, k, v, out, batch, length)
        torch.cuda.synchronize()
        error = distance(out, attention_reference(q, k, v, causal))
        worst = error if not error <= worst else worst
    row(kernel=name, check="float64", worst=worst, right=worst < 2e-3)

    for length in lengths:
        batch = max(1, 16384 // length)
        q, k, v = inputs(batch, length)
        out = torch.empty_like(q)
        qt, kt, vt = (x.transpose(1, 2) for x in (q, k, v))

        def peer(backend):
            with sdpa_kernel(backend):
                scaled_dot_product_attention(qt, kt, vt, is_causal=causal, enable_gqa=heads != kv_heads)

        functions, names = [lambda: call(q, k, v, out, batch, length)], ["ours"]
        for label, backend in (("FA2", SDPBackend.FLASH_ATTENTION), ("cuDNN", SDPBackend.CUDNN_ATTENTION)):
            try:
                peer(backend)
            except RuntimeError:
                continue
            functions.append(lambda backend=backend: peer(backend))
            names.append(label)
        times = timer(*functions)
        flops = 4e-9 * batch * heads * length * length * dim * (0.5 if causal else 1)
        for label, milliseconds in zip(names[1:], times[1:]):
            row(kernel=name, shape=f"b{batch} s{length} h{heads}/{kv_heads} d{dim}", ms=times[0], tflops=round(flops / times[0], 1),
                peer=label, peer_ms=milliseconds, peer_tflops=round(flops / milliseconds, 1), ratio=round(milliseconds / times[0], 3))


def memory_row(timer, name, shape, bytes_moved, ours, copy_ms_per_byte):
    milliseconds, = timer(ours)
    ideal = copy_ms_per_byte * bytes_moved
    row(kernel=name, shape=shape, ms=milliseconds, gbs=round(bytes_moved / milliseconds * 1e-6, 1), peer="device copy",
        peer_ms=ideal, ratio=round(ideal / milliseconds, 3))


def memory_bound(libraries, timer):
    source = torch.randn(1 << 28, device="cuda")
    target = torch.empty_like(source)
    copy_ms, = timer(lambda: target.copy_(source))
    moved = 2 * source.numel() * 4
    row(kernel="copy", shape="1 GiB", ms=copy_ms, gbs=round(moved / copy_ms * 1e-6, 1))
    per_byte = copy_ms / moved

    if "vector_add" in libraries:
        call = entry(*libraries["vector_add"])
        n = (1 << 27) + 3
        a, b, c = torch.randn(n, device="cuda"), torch.randn(n, device="cuda"), torch.full((n,), math.nan, device="cuda")
        call(a, b, c, n)
        row(kernel="vector_add", check="exact", right=bool(torch.equal(c, a + b)))
        memory_row(timer, "vector_add", str(n), 12 * n, lambda: call(a, b, c, n), per_byte)
    if "rmsnorm" in libraries:
        call = entry(*libraries["rmsnorm"])
        m, hidden, eps = 32768, 4096, 1e-5
        x, w = torch.randn(m, hidden, device="cuda", dtype=HALF), torch.randn(hidden, device="cuda", dtype=HALF)
        y = torch.full_like(x, math.nan)
        call(x, w, y, m, eps)
        xd = x.double()
        error = distance(y, xd / (xd.square().mean(-1, keepdim=True) + eps).sqrt() * w.double())
        row(kernel="rmsnorm", check="float64", worst=error, right=error < 1e-3)
        memory_row(timer, "rmsnorm", f"{m}x{hidden}", 4 * m * hidden, lambda: call(x, w, y, m, eps), per_byte)
    if "softmax" in libraries:
        call = entry(*libraries["softmax"])
        m, n = 16384, 8192
        x = torch.randn(m, n, device="cuda", dtype=HALF)
        y = torch.full_like(x, math.nan)
        call(x, y, m, n)
        error = distance(y, x.double().softmax(-1))
        row(kernel="softmax", check="float64", worst=error, right=error < 2e-3)
        # Read twice: a row does not fit into registers when its length is only known at run time.
        memory_row(timer, "softmax", f"{m}x{n}", 6 * m * n, lambda: call(x, y, m, n), per_byte)


def main(arguments):
    # lib=NAME=PATH=SYMBOL
    libraries = {n: (path, symbol) for n, path, symbol in (a[4:].split("=") for a in arguments if a.startswith("lib="))}
    torch.manual_seed(torch.seed() % (1 << 31))
    timer = Timer()
    if any(k in libraries for k in ("vector_add", "rmsnorm", "softmax")):
        memory_bound(libraries, timer)
    for name, causal in (("attention_causal", True), ("attention_full", False)):
        if name in libraries:
            attention(entry(*libraries[name]), timer, name, 16, 4, 128, causal, (1024, 4096, 16384))


if __name__ == "__main__":
    main(sys.argv[1:])
