"""Kernels that are bound by memory, against a device copy that moves as many bytes, and eager PyTorch."""
import math

import torch
from torch.nn import functional

from harness import distance, entry, row

HALF = torch.float16


def poisoned(shape, dtype):
    return torch.full(shape, math.nan, device="cuda").to(dtype)


class Case:
    """`bytes_moved` to and from memory by `ours`; `errors`: name -> (distance, limit); `peer`: what eager PyTorch does for it."""

    def __init__(self, shape, bytes_moved, ours, errors, peer=None):
        self.shape, self.bytes_moved, self.ours, self.errors, self.peer = shape, bytes_moved, ours, errors, peer


def vector_add(call):
    n = (1 << 27) + 3
    a, b, c = torch.randn(n, device="cuda"), torch.randn(n, device="cuda"), poisoned((n,), torch.float32)
    return Case(str(n), 12 * n, lambda: call(a, b, c, n), lambda: {"exact": (float(not torch.equal(c, a + b)), 0.5)},
                lambda: torch.add(a, b, out=c))


def rmsnorm(call, width):
    m, eps = (1 << 27) // width, 1e-5
    x, w = torch.randn(m, width, device="cuda", dtype=HALF), torch.randn(width, device="cuda", dtype=HALF)
    y = poisoned(x.shape, HALF)

    def errors():
        xd = x[:4096].double()
        return {"float64": (distance(y[:4096], xd / (xd.square().mean(-1, keepdim=True) + eps).sqrt() * w.double()), 1e-3)}

    return Case(f"{m}x{width}", 4 * m * width, lambda: call(x, w, y, m, eps), errors, lambda: functional.rms_norm(x, (width,), w, eps))


def layernorm(call, width):
    m, eps = (1 << 27) // width, 1e-5
    x = torch.randn(m, width, device="cuda", dtype=HALF) + 3
    w, b = (torch.randn(width, device="cuda", dtype=HALF) for _ in range(2))
    y = poisoned(x.shape, HALF)

    def errors():
        return {"float64": (distance(y[:4096], functional.layer_norm(x[:4096].double(), (width,), w.double(), b.double(), eps)), 2e-3)}

    return Case(f"{m}x{width}", 4 * m * width, lambda: call(x, w, b, y, m, eps), errors,
                lambda: functional.layer_norm(x, (width,), w, b, eps))


def softmax(call, width, run_time):
    """`run_time`: the kernel learns the width when it is called."""
    m = min(32768, (1 << 28) // width)
    x = torch.randn(m, width, device="cuda", dtype=HALF)
    y = poisoned(x.shape, HALF)
    sizes = (m, width) if run_time else (m,)
    return Case(f"{m}x{width}", 4 * m * width, lambda: call(x, y, *sizes),
                lambda: {"float64": (distance(y[-512:], x[-512:].double().softmax(-1)), 2e-3)}, lambda: torch.softmax(x, -1))


def gemv(call):
    n, k = 57344, 7168
    a, x = torch.randn(n, k, device="cuda", dtype=HALF), torch.randn(k, device="cuda", dtype=HALF) / math.sqrt(k)
    y = poisoned((n,), HALF)
    return Case(f"{n}x{k}", 2 * n * k, lambda: call(a, x, y, n, k), lambda: {"float32": (distance(y, a.float() @ x.float()), 1e-3)},
                lambda: torch.mv(a, x))


def transpose(call):
    m, n = 8192, 8192
    x = torch.randn(m, n, device="cuda", dtype=HALF)
    y = poisoned((n, m), HALF)
    return Case(f"{m}x{n}", 4 * m * n, lambda: call(x, y, m, n), lambda: {"exact": (float(not torch.equal(y, x.t())), 0.5)},
                lambda: x.t().contiguous())


def quantize(call, width, group):
    m = (1 << 26) // width
    x = torch.randn(m, width, device="cuda", dtype=torch.bfloat16)
    q = poisoned(x.shape, torch.float8_e4m3fn)
    scale = poisoned((m, width // group), torch.float32)

    def quotients():
        parts = x.float().view(m, -1, group)
        largest = parts.abs().amax(-1, keepdim=True).clamp_min(1e-12) / 448
        return parts / largest, largest

    def errors():
        parts, largest = quotients()
        # Rounding to three bits: at most 1/16 of a number, on average near 1/40.
        return {"scales": (distance(scale, largest.squeeze(-1)), 1e-5), "float32": (distance(q.float(), parts.view(m, width)), 0.04)}

    return Case(f"{m}x{width} by {group}", 3 * m * width + 4 * scale.numel(), lambda: call(x, q, scale, m), errors,
                lambda: quotients()[0].to(torch.float8_e4m3fn))


FAMILIES = {"vector_add": vector_add, "rmsnorm": rmsnorm, "layernorm": layernorm, "softmax": softmax, "gemv": gemv,
            "transpose": transpose, "quantize": quantize}


def run(libraries, timer, out_of_time):
    """`libraries`: FAMILY[:NUMBER...] -> where; numbers are the family's arguments."""
    for name, where in libraries.items():
        family, *numbers = name.split(":")
        if out_of_time():
            row(kernel=name, skipped="no time left")
            continue
        case = FAMILIES[family](entry(*where), *map(int, numbers))
        case.ours()
        for check, (error, limit) in case.errors().items():
            row(kernel=family, shape=case.shape, check=check, worst=error, right=error < limit)
        source = torch.empty(case.bytes_moved // 2, dtype=torch.uint8, device="cuda").fill_(1)
        target = torch.empty_like(source)
        peers = {"device copy of as many bytes": lambda: target.copy_(source)}
        if case.peer:
            peers["eager PyTorch"] = case.peer
        milliseconds, *theirs = timer(case.ours, *peers.values())
        clocks = timer.clocks.take()
        for label, peer_ms in zip(peers, theirs):
            row(kernel=family, shape=case.shape, config=":".join(numbers), ms=milliseconds,
                gbs=round(case.bytes_moved / milliseconds * 1e-6, 1), peer=label, peer_ms=peer_ms, ratio=round(peer_ms / milliseconds, 3),
                **clocks)
        del case, peers, source, target
        torch.cuda.empty_cache()
