"""GEMMs beyond plain float16: other dtypes, scales, epilogues and batches, against what PyTorch has for each. B is [N, K]."""
import math

import torch
from torch.nn import functional

import triton_peers
from harness import distance, entry, fastest, row

FP8, BF16, HALF = torch.float8_e4m3fn, torch.bfloat16, torch.float16


class Case:
    """Arguments before the sizes, the last of them the result; `peers`: label -> call that returns the result, or several of them to
    choose from; `reference` in float32 or better; how far apart they may be; what has to be done `before` each launch."""

    def __init__(self, arguments, peers, reference, limit, flops, before=lambda case: None):
        self.arguments, self.peers, self.reference, self.limit, self.flops = arguments, peers, reference, limit, flops
        self.before = before


def normal(*shape, dtype):
    return torch.randn(shape, device="cuda").to(dtype)


def poisoned(*shape, dtype):
    return torch.full(shape, math.nan, device="cuda").to(dtype)


def fp8(m, n, k, row_wise):
    a, b = normal(m, k, dtype=FP8), normal(n, k, dtype=FP8)
    sa, sb = ((torch.rand(x, device="cuda") + 0.5) for x in ((m, n) if row_wise else (1, 1)))
    scales = (sa[:, None], sb[None, :])

    def peer(fast):
        return lambda: torch._scaled_mm(a, b.t(), *(scales if row_wise else (sa, sb)), out_dtype=BF16, use_fast_accum=fast)

    return Case([a, b, sa, sb, poisoned(m, n, dtype=BF16)], {"_scaled_mm, fast accumulation": peer(True), "_scaled_mm": peer(False)},
                lambda: a.float() @ b.float().t() * scales[0] * scales[1], 6e-3, 2 * m * n * k)


def matmul(m, n, k, dtype, out_dtype, limit, peers):
    """`peers`: from A and B to what PyTorch calls."""
    whole = dtype == torch.int8
    a, b = (torch.randint(-127, 128, (rows, k), device="cuda", dtype=dtype) if whole else normal(rows, k, dtype=dtype) for rows in (m, n))
    out = torch.full((m, n), -1, device="cuda", dtype=out_dtype) if whole else poisoned(m, n, dtype=out_dtype)
    return Case([a, b, out], peers(a, b), lambda: a.double() @ b.double().t() if whole else a.float() @ b.float().t(), limit, 2 * m * n * k)


def tf32(m, n, k):
    def with_tf32(a, b):
        def call():
            torch.backends.cuda.matmul.allow_tf32 = True
            out = torch.mm(a, b.t())
            torch.backends.cuda.matmul.allow_tf32 = False
            return out

        return {"torch.mm, allow_tf32": call}

    return matmul(m, n, k, torch.float32, torch.float32, 2e-3, with_tf32)


def int8(m, n, k):
    return matmul(m, n, k, torch.int8, torch.int32, 1e-12, lambda a, b: {"torch._int_mm": lambda: torch._int_mm(a, b.t())})


def plain(m, n, k):
    """Rows that gemm_bench.cu times against cuBLAS and cuBLASLt, for peers that have to be called from Python."""
    def peers(a, b):
        theirs = {"torch.mm": lambda: torch.mm(a, b.t())}
        if "triton" in EXTRAS:
            theirs["Triton"] = triton_peers.matmuls(a, b, poisoned(m, n, dtype=HALF))
        return theirs

    return matmul(m, n, k, HALF, HALF, 1e-3, peers)


def skinny(m, n, k):
    return matmul(m, n, k, BF16, BF16, 4e-3, lambda a, b: {"torch.mm": lambda: torch.mm(a, b.t())})


def compiled(function):
    return {"torch.compile": torch.compile(function)} if "compile" in EXTRAS else {}


def bias_gelu(m, n, k):
    a, b, bias = normal(m, k, dtype=BF16), normal(n, k, dtype=BF16) / math.sqrt(k), normal(n, dtype=BF16)

    def eager(a, b, bias):
        return functional.gelu(functional.linear(a, b, bias), approximate="tanh")

    peers = {"eager PyTorch": eager, **compiled(eager)}
    return Case([a, b, bias, poisoned(m, n, dtype=BF16)], {label: lambda f=f: f(a, b, bias) for label, f in peers.items()},
                lambda: eager(a.float(), b.float(), bias.float()), 6e-3, 2 * m * n * k)


def swiglu(m, n, k):
    a, gate, up = normal(m, k, dtype=BF16), *(normal(n, k, dtype=BF16) / math.sqrt(k) for _ in range(2))

    def eager(a, gate, up):
        return functional.silu(a @ gate.t()) * (a @ up.t())

    peers = {"eager PyTorch": eager, **compiled(eager)}
    return Case([a, gate, up, poisoned(m, n, dtype=BF16)], {label: lambda f=f: f(a, gate, up) for label, f in peers.items()},
                lambda: eager(a.float(), gate.float(), up.float()), 8e-3, 4 * m * n * k)


def batched(batch, m, n, k):
    a, b = normal(batch, m, k, dtype=HALF), normal(batch, n, k, dtype=HALF)
    return Case([a, b, poisoned(batch, m, n, dtype=HALF)], {"torch.bmm": lambda: torch.bmm(a, b.transpose(1, 2))},
                lambda: torch.bmm(a.float(), b.float().transpose(1, 2)), 1e-3, 2 * batch * m * n * k)


def splitk(m, n, k):
    """The sum is added to what is there, so clearing it is part of the work. B is [K, N] here."""
    a, b = normal(m, k, dtype=HALF), normal(k, n, dtype=HALF)
    return Case([a, b, poisoned(m, n, dtype=torch.float32)], {"torch.mm": lambda: torch.mm(a, b)},
                lambda: a.float() @ b.float(), 1e-3, 2 * m * n * k, before=lambda case: case.arguments[-1].zero_())


def conv2d(n, height, width):
    """3 x 3, 128 channels in and out; sizes are those of the image. Weights are [3 * 3 * channels, filters]."""
    channels = filters = 128
    x, weights = normal(n, height, width, channels, dtype=HALF), normal(9 * channels, filters, dtype=HALF) / math.sqrt(9 * channels)
    image = x.permute(0, 3, 1, 2)
    taps = weights.view(3, 3, channels, filters).permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)

    def rows(y):
        return y.permute(0, 2, 3, 1).reshape(-1, filters)

    def reference():
        torch.backends.cudnn.allow_tf32 = False
        return rows(functional.conv2d(image.float(), taps.float(), padding=1))

    torch.backends.cudnn.benchmark = True
    return Case([x, weights, poisoned(n * height * width, filters, dtype=HALF)],
                {"cuDNN": lambda: rows(functional.conv2d(image, taps, padding=1))}, reference, 1e-3,
                2 * n * height * width * 9 * channels * filters)


EXTRAS = frozenset() # of "compile", "triton": peers that cost seconds each
FAMILIES = {
    "plain": plain,
    "fp8": lambda m, n, k: fp8(m, n, k, False),
    "fp8_rowwise": lambda m, n, k: fp8(m, n, k, True),
    "tf32": tf32,
    "int8": int8,
    "bias_gelu": bias_gelu,
    "swiglu": swiglu,
    "batched": batched,
    "skinny": skinny,
    "splitk": splitk,
    "conv2d": conv2d,
}
# By the rows of the performance table.
ROWS = {
    "plain": [("1", 2048, 2048, 2048), ("2", 4096, 4096, 4096), ("3", 8192, 8192, 8192), ("5", 4096, 4096, 14336), ("7", 8192, 1024, 8192)],
    "fp8": [("25", 4096, 7168, 2048), ("24", 8192, 8192, 8192)],
    "fp8_rowwise": [("26", 4096, 4096, 7168)],
    "tf32": [("16", 4096, 4096, 4096)],
    "int8": [("17", 4096, 4096, 4096)],
    "bias_gelu": [("14", 4096, 16384, 4096)],
    "swiglu": [("15", 4096, 14336, 4096)],
    "batched": [("18", 8, 1024, 1024, 1024)],
    "splitk": [("19", 128, 2112, 7168)],
    "conv2d": [("conv-64", 128, 64, 64), ("conv-56", 32, 56, 56)],
    "skinny": [("21", 16, 8192, 8192), ("21-64", 64, 8192, 8192), ("20", 64, 7168, 16384)],
}


def measure(family, identity, sizes, kernels, timer):
    case, shape = FAMILIES[family](*sizes), "x".join(map(str, sizes))
    reference, out, right = case.reference(), case.arguments[-1], {}
    for config, call in kernels.items():
        out.copy_(poisoned(*out.shape, dtype=out.dtype) if out.is_floating_point() else torch.full_like(out, -1))
        def launch(call=call):
            case.before(case)
            call(*case.arguments, *sizes)

        launch()
        error = distance(out, reference)
        if error < case.limit:
            right[config] = launch
        else:
            row(kernel=family, id=identity, shape=shape, config=config, check="float32", worst=error, right=False)
    peers = {}
    for label, peer in case.peers.items():
        try:
            peer = fastest(peer, timer)
            error = distance(peer(), reference)
        except (RuntimeError, NotImplementedError) as refused:
            row(kernel=family, id=identity, shape=shape, skipped=f"{label}: {str(refused).splitlines()[0]}")
            continue
        peers[label] = peer
        if not error < case.limit:
            row(kernel=family, id=identity, shape=shape, check=f"{label} itself", worst=error)
    del reference
    quick = timer.quick(right)
    best = min(quick, key=quick.get, default=None)
    functions = {"ours": right[best], **peers} if best else peers
    times = dict(zip(functions, timer(*functions.values())))
    clocks, ours = timer.clocks.take(), times.pop("ours", None)
    for label, milliseconds in times.items():
        mine = {} if ours is None else dict(config=best, right=True, ms=ours, tflops=round(case.flops / ours * 1e-9, 1),
                                            ratio=round(milliseconds / ours, 4), tried=quick)
        row(kernel=family, id=identity, shape=shape, **mine, peer=label, peer_ms=milliseconds,
            peer_tflops=round(case.flops / milliseconds * 1e-9, 1), **clocks)


def run(libraries, timer, out_of_time, extras=frozenset()):
    """`libraries`: FAMILY:CONFIG -> where."""
    global EXTRAS
    EXTRAS = extras
    torch.backends.cuda.matmul.allow_tf32 = False  # references
    groups = {}
    for name, where in libraries.items():
        family, config = name.split(":", 1)
        groups.setdefault(family, {})[config] = entry(*where)
    for family, kernels in groups.items():
        for identity, *sizes in ROWS[family]:
            if out_of_time():
                row(kernel=family, id=identity, skipped="no time left")
                continue
            measure(family, identity, sizes, kernels, timer)
            torch.cuda.empty_cache()
