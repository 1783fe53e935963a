"""Decoding with latent attention against the same by batched products of PyTorch, FlashMLA if given, and against what the machine could
do at most."""
import math

import torch

from harness import distance, entry, row

DIM, ROPE = 512, 64
# An H200's figures on paper: dense bfloat16 products, memory.
PEAK_TFLOPS, PEAK_GBS = 989.0, 4800.0
# By the rows of the performance table: heads -> (id, batch, positions).
ROWS = {
    128: [("49-1k", 128, 1024), ("49-4k", 128, 4096), ("49-8k", 128, 8192), ("49-32k", 128, 32768)],
    16: [("50", 64, 8192)],
}


def reference(q, kv):
    """In float32, one batch entry after the other; the first 8 and the last."""
    out = {}
    for b in {*range(min(8, q.shape[0])), q.shape[0] - 1}:
        scores = q[b].float() @ kv[b].float().t() / math.sqrt(DIM + ROPE)
        out[b] = scores.softmax(-1) @ kv[b, :, :DIM].float()
    return out


def worst(out, expected):
    errors = [distance(out[b], e) for b, e in expected.items()]
    return max(errors, key=lambda e: math.inf if math.isnan(e) else e)


def flash_mla(call, q, kv, out):
    """FlashMLA on the same numbers, in pages of 64 positions; the work is divided beforehand, as it is meant to be."""
    batch, length = kv.shape[:2]
    pages, heads = length // 64, q.shape[1]

    def whole(*shape):
        return torch.zeros(*shape, dtype=torch.int32, device="cuda")

    table = torch.arange(batch * pages, dtype=torch.int32, device="cuda")
    lengths, schedule, splits = whole(batch) + length, whole(132, 8), whole(batch + 1)
    lse = torch.empty(batch, heads, device="cuda")
    partial, partial_lse = torch.empty(batch + 132, heads, DIM, device="cuda"), torch.empty(batch + 132, heads, device="cuda")
    arguments = (q, kv, out, lse, partial, partial_lse, table, lengths, schedule, splits, batch, pages, heads)
    call(*arguments, 1)
    return lambda: call(*arguments, 0)


def measure(identity, heads, batch, length, kernels, timer, flash=None):
    """`kernels`: (splits, config) -> call; `flash`: FlashMLA's entry."""
    q = torch.randn(batch, heads, DIM + ROPE, device="cuda").bfloat16()
    kv = torch.randn(batch, length, DIM + ROPE, device="cuda", dtype=torch.bfloat16)
    out = torch.empty(batch, heads, DIM, device="cuda", dtype=torch.bfloat16)
    expected, shape, ours = reference(q, kv), f"b{batch} s{length} h{heads}", {}
    for (splits, config), call in kernels.items():
        partial = torch.empty(splits, batch, heads, DIM, device="cuda")
        lse = torch.empty(splits, batch, heads, device="cuda")
        out.fill_(math.nan)
        launch = lambda call=call, partial=partial, lse=lse: call(q, kv, partial, lse, out, batch, length)
        launch()
        error = worst(out, expected)
        row(kernel="mla_decode", id=identity, shape=shape, config=config, check="float32", worst=error, right=error < 1e-2)
        if error < 1e-2:
            ours[config] = launch
    quick = timer.quick(ours)
    best = min(quick, key=quick.get, default=None)
    if not best:
        return

    def products():
        weights = torch.bmm(q, kv.transpose(1, 2)).mul_(1 / math.sqrt(DIM + ROPE)).softmax(-1)
        return torch.bmm(weights, kv[:, :, :DIM])

    peers = {"bmm, softmax, bmm": products}
    if flash and length % 64 == 0:
        out.fill_(math.nan)
        peers["FlashMLA"] = flash_mla(flash, q, kv, out)
        peers["FlashMLA"]()
        error = worst(out, expected)
        row(kernel="mla_decode", id=identity, shape=shape, config="FlashMLA", check="float32", worst=error, right=error < 1e-2)
    milliseconds, *theirs = timer(ours[best], *peers.values())
    flops = 2 * batch * heads * length * (2 * DIM + ROPE)
    moved = 2 * batch * (length * (DIM + ROPE) + heads * (2 * DIM + ROPE))
    bound = max(flops / PEAK_TFLOPS * 1e-9, moved / PEAK_GBS * 1e-6)
    common = dict(kernel="mla_decode", id=identity, shape=shape, config=best, ms=milliseconds, tflops=round(flops / milliseconds * 1e-9, 1),
                  gbs=round(moved / milliseconds * 1e-6, 1), **timer.clocks.take())
    for peer, their in zip(peers, theirs):
        row(**common, tried=quick, peer=peer, peer_ms=their, peer_tflops=round(flops / their * 1e-9, 1), ratio=round(their / milliseconds, 3))
    row(**common, peer="the machine on paper", peer_ms=bound, ratio=round(bound / milliseconds, 3))


def run(libraries, timer, out_of_time, flash=None):
    """`libraries`: mla:HEADS:SPLITS:CONFIG -> where; `flash`: FlashMLA's library."""
    groups, flash = {}, flash and entry(flash, "flash_mla")
    for name, where in libraries.items():
        _, heads, splits, config = name.split(":", 3)
        groups.setdefault(int(heads), {})[int(splits), f"{config}-splits{splits}"] = entry(*where)
    for heads, kernels in groups.items():
        for identity, batch, length in ROWS[heads]:
            if out_of_time():
                row(kernel="mla_decode", id=identity, skipped="no time left")
                continue
            measure(identity, heads, batch, length, kernels, timer, flash)
            torch.cuda.empty_cache()
