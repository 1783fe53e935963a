#!/usr/bin/env python3
"""Times tlc's attention against PyTorch's FA2 and cuDNN backends and, if given, FlashAttention-3 and a hand-written kernel, checked against float64;
the other kernels that are timed from Python are in torch_gemm.py, torch_memory.py and torch_decode.py. Prints one JSON object a row and peer.

    torch_bench.py [seconds=S] [rounds=N] [lengths=L,L] [extras=compile,triton] [hand=LIBRARY] [fa3=LIBRARY] [flash_mla=LIBRARY] lib=NAME=PATH=SYMBOL ...

NAME is attention:DIM:MASK:CONFIG with MASK causal or full, or what those files say; see bench.py."""
import ctypes
import math
import sys
import time

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

import torch_decode
import torch_gemm
import torch_memory
import triton_peers
from harness import Timer, distance, entry, fastest, row

HALF = torch.float16


class HandAttention(ctypes.Structure):
    """Arguments of `attention_forward`, the hand-written kernel."""

    _fields_ = [(n, ctypes.c_void_p) for n in ("q", "k", "v", "o", "lse", "next_tile")] + [("strides", ctypes.c_int64 * 12)] + [
        (n, ctypes.c_int) for n in ("batch", "heads", "length", "dim", "bf16", "causal")] + [
        ("scale", ctypes.c_float), ("stream", ctypes.c_void_p)]


def hand_attention(path):
    function, counter = ctypes.CDLL(path).attention_forward, torch.zeros(1, dtype=torch.int32, device="cuda")

    def call(q, k, v, out, causal):
        q, k, v, out = (x.transpose(1, 2) for x in (q, k, v, out))
        a = HandAttention(q.data_ptr(), k.data_ptr(), v.data_ptr(), out.data_ptr(), None, counter.data_ptr())
        a.strides[:] = [x.stride(i) for x in (q, k, v, out) for i in range(3)]
        a.batch, a.heads, a.length, a.dim = q.shape
        a.bf16, a.causal, a.scale = 0, causal, 1 / math.sqrt(q.shape[-1])
        a.stream = torch.cuda.current_stream().cuda_stream
        if error := function(ctypes.byref(a)):
            raise RuntimeError(f"the hand-written attention failed to start: {error}")

    return call


def sampled_error(out, q, k, v, causal, rows=48):
    """Relative distance from float64 in some query rows of each head, the first and the last among them. Tensors are
    [batch, length, heads, dim]."""
    length = q.shape[1]
    picked = torch.cat([torch.tensor([0, length - 1]), torch.randint(length, (rows,))]).unique().cuda()
    worst = 0.0
    for head in range(q.shape[2]):
        qd, kd, vd = q[:, picked, head].double(), k[:, :, head].double(), v[:, :, head].double()
        scores = qd @ kd.transpose(-1, -2) / math.sqrt(q.shape[-1])
        if causal:
            scores = scores.masked_fill(torch.arange(length, device="cuda")[None, :] > picked[:, None], -math.inf)
        error = distance(out[:, picked, head], scores.softmax(-1) @ vd)
        worst = error if not error <= worst else worst
    return worst


def small_check(call, name, heads, dim, causal):
    worst = 0.0
    for batch, length in ((1, 1), (2, 100), (1, 193), (1, 1024)):
        q, k, v = (torch.randn((batch, length, heads, dim), device="cuda", dtype=HALF) for _ in range(3))
        out = torch.full_like(q, math.nan)
        call(q, k, v, out, batch, length)
        torch.cuda.synchronize()
        error = sampled_error(out, q, k, v, causal)
        worst = error if not error <= worst else worst
    row(kernel=name, check="float64, ragged lengths", worst=worst, right=worst < 2e-3)
    return worst < 2e-3


def flash_attention3(path):
    function = entry(path, "flash_attention3")

    def call(q, k, v, out, causal):
        batch, length, heads, dim = q.shape
        lse, counter = torch.empty((batch, heads, length), device="cuda"), torch.empty(1, dtype=torch.int32, device="cuda")

        def launch():
            function(q, k, v, out, lse, counter, batch, length, heads, dim, int(causal))
            return out

        return launch

    return call


def attention(kernels, hand, fa3, timer, dim, causal, lengths, extras, deadline):
    """`kernels`: {config: call}. 16k tokens and 2048 columns over all heads in every row."""
    name, heads = f"attention d{dim} {'causal' if causal else 'full'}", 2048 // dim
    kernels = {config: call for config, call in kernels.items() if small_check(call, f"{name} {config}", heads, dim, causal)}
    for length in lengths:
        batch = max(1, 16384 // length)
        shape = f"b{batch} s{length} h{heads}"
        if time.monotonic() > deadline:
            row(kernel=name, shape=shape, skipped="no time left")
            continue
        q, k, v = (torch.randn((batch, length, heads, dim), device="cuda", dtype=HALF) for _ in range(3))
        out = torch.full_like(q, math.nan)
        qt, kt, vt = (x.transpose(1, 2) for x in (q, k, v))

        def peer(backend):
            with sdpa_kernel(backend):
                return scaled_dot_product_attention(qt, kt, vt, is_causal=causal).transpose(1, 2)

        peers = {"cuDNN": lambda: peer(SDPBackend.CUDNN_ATTENTION), "FA2": lambda: peer(SDPBackend.FLASH_ATTENTION)}
        if "triton" in extras:
            peers["Triton"] = triton_peers.attentions(q, k, v, torch.full_like(q, math.nan), causal)
        if fa3:
            peers["FA3"] = fa3(q, k, v, torch.full_like(q, math.nan), causal)
        functions = {}
        for label, call in peers.items():
            try:
                call = fastest(call, timer)
                error = sampled_error(call(), q, k, v, causal)
            except RuntimeError as refused:
                row(kernel=name, shape=shape, skipped=f"{label}: {str(refused).splitlines()[0]}")
                continue
            functions[label] = call
            if not error < 2e-3:
                row(kernel=name, shape=shape, check=f"{label} itself", worst=error)
        if hand and dim in (64, 128):
            functions["hand-written"] = lambda: hand(q, k, v, out, causal)
        right = {}
        for config, call in kernels.items():
            out.fill_(math.nan)
            call(q, k, v, out, batch, length)
            error = sampled_error(out, q, k, v, causal)
            if error < 2e-3:
                right[config] = lambda call=call: call(q, k, v, out, batch, length)
            else:
                row(kernel=name, shape=shape, config=config, check="float64", worst=error, right=False)
        quick = timer.quick(right)
        best = min(quick, key=quick.get, default=None)
        if best:
            functions = {"ours": right[best], **functions}
        times = dict(zip(functions, timer(*functions.values())))
        clocks = timer.clocks.take()
        flops = 4e-9 * batch * heads * length * length * dim * (0.5 if causal else 1)
        ours = times.pop("ours", None)
        for label, milliseconds in times.items():
            mine = dict(config=best, ms=ours, tflops=round(flops / ours, 1), ratio=round(milliseconds / ours, 4), tried=quick) if ours else {}
            row(kernel=name, shape=shape, **mine, peer=label, peer_ms=milliseconds, peer_tflops=round(flops / milliseconds, 1), **clocks)


def main(arguments):
    options = dict(a.split("=", 1) for a in arguments if not a.startswith("lib="))
    libraries = {n: (path, symbol) for n, path, symbol in (a[4:].split("=") for a in arguments if a.startswith("lib="))}
    deadline = time.monotonic() + float(options.get("seconds", 1e9))
    torch.manual_seed(torch.seed() % (1 << 31))
    timer = Timer(int(options.get("rounds", 15)))

    def of(families):
        return {name: where for name, where in libraries.items() if name.split(":")[0] in families}

    def out_of_time():
        return time.monotonic() > deadline

    extras = frozenset(options.get("extras", "").split(","))
    torch_memory.run(of(torch_memory.FAMILIES), timer, out_of_time)
    torch_gemm.run(of(torch_gemm.FAMILIES), timer, out_of_time, extras)
    torch_decode.run(of(("mla",)), timer, out_of_time, options.get("flash_mla"))
    lengths = [int(x) for x in options.get("lengths", "1024,2048,4096,8192,16384").split(",")]
    hand = hand_attention(options["hand"]) if "hand" in options else None
    fa3 = flash_attention3(options["fa3"]) if "fa3" in options else None
    groups = {}
    for name, where in of(("attention",)).items():
        _, dim, mask, config = name.split(":", 3)
        groups.setdefault((int(dim), mask == "causal"), {})[config] = entry(*where)
    for (dim, causal), kernels in groups.items():
        attention(kernels, hand, fa3, timer, dim, causal, lengths, extras, deadline)


if __name__ == "__main__":
    main(sys.argv[1:])
