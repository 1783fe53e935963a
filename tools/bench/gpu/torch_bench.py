#!/usr/bin/env python3
"""Times tlc's attention against PyTorch's FA2 and cuDNN backends and, if given, a hand-written kernel, and its memory-bound
kernels against a device copy; checks each against float64. Prints one JSON object a row and peer.

    torch_bench.py [seconds=S] [rounds=N] [lengths=L,L] [hand=LIBRARY] lib=NAME=PATH=SYMBOL ...

NAME is vector_add, rmsnorm, softmax, or attention:DIM:MASK:CONFIG with MASK causal or full; see bench.py."""
import ctypes
import json
import math
import random
import sys
import time

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


class Clocks:
    """The multiprocessors' clock in MHz, where the driver's library is there."""

    def __init__(self):
        self.handle, self.seen = None, []
        try:
            self.library = ctypes.CDLL("libnvidia-ml.so.1")
            bus = torch.cuda.get_device_properties(0)
            name = f"{bus.pci_domain_id:08x}:{bus.pci_bus_id:02x}:{bus.pci_device_id:02x}.0".encode()
        except (OSError, AttributeError):
            return
        handle = ctypes.c_void_p()
        if not self.library.nvmlInit_v2() and not self.library.nvmlDeviceGetHandleByPciBusId_v2(name, ctypes.byref(handle)):
            self.handle = handle

    def sample(self):
        megahertz = ctypes.c_uint()
        if self.handle and not self.library.nvmlDeviceGetClockInfo(self.handle, 1, ctypes.byref(megahertz)):
            self.seen.append(megahertz.value)

    def take(self):
        seen, self.seen = sorted(self.seen), []
        return {"sm_mhz": seen[len(seen) // 2]} if seen else {}


class Timer:
    """Median milliseconds; functions run in an order drawn anew in each round, each with a cold L2, so that heat and clock hit
    all alike."""

    def __init__(self, rounds):
        self.rounds = rounds
        self.flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
        self.clocks = Clocks()

    def once(self, function):
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        self.flush.zero_()
        start.record()
        function()
        stop.record()
        stop.synchronize()
        return start.elapsed_time(stop)

    def __call__(self, *functions, rounds=None, warm=3):
        rounds = rounds or self.rounds
        times = [[] for _ in functions]
        order = list(range(len(functions)))
        self.clocks.take()
        for i in range(rounds + warm):
            random.shuffle(order)
            for j in order:
                milliseconds = self.once(functions[j])
                self.clocks.sample()
                if i >= warm:
                    times[j].append(milliseconds)
        return [sorted(t)[len(t) // 2] for t in times]


def distance(out, reference):
    out, reference = out.double(), reference.double()
    return ((out - reference).norm() / reference.norm()).item()


def row(**fields):
    print(json.dumps(fields), flush=True)


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


def attention(kernels, hand, timer, dim, causal, lengths, deadline):
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
                return scaled_dot_product_attention(qt, kt, vt, is_causal=causal)

        functions = {}
        for label, backend in (("cuDNN", SDPBackend.CUDNN_ATTENTION), ("FA2", SDPBackend.FLASH_ATTENTION)):
            try:
                result = peer(backend)
            except RuntimeError:
                continue
            functions[label] = lambda backend=backend: peer(backend)
            error = sampled_error(result.transpose(1, 2), q, k, v, causal)
            if not error < 2e-3:
                row(kernel=name, shape=shape, check=f"{label} itself", worst=error)
        if hand:
            functions["hand-written"] = lambda: hand(q, k, v, out, causal)
        quick = {}
        for config, call in kernels.items():
            out.fill_(math.nan)
            call(q, k, v, out, batch, length)
            error = sampled_error(out, q, k, v, causal)
            if error < 2e-3:
                quick[config] = timer(lambda: call(q, k, v, out, batch, length), rounds=3, warm=1)[0]
            else:
                row(kernel=name, shape=shape, config=config, check="float64", worst=error, right=False)
        best = min(quick, key=quick.get, default=None)
        if best:
            functions = {"ours": lambda: kernels[best](q, k, v, out, batch, length), **functions}
        times = dict(zip(functions, timer(*functions.values())))
        clocks = timer.clocks.take()
        flops = 4e-9 * batch * heads * length * length * dim * (0.5 if causal else 1)
        ours = times.pop("ours", None)
        for label, milliseconds in times.items():
            mine = dict(config=best, ms=ours, tflops=round(flops / ours, 1), ratio=round(milliseconds / ours, 4), tried=quick) if ours else {}
            row(kernel=name, shape=shape, **mine, peer=label, peer_ms=milliseconds, peer_tflops=round(flops / milliseconds, 1), **clocks)


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
    options = dict(a.split("=", 1) for a in arguments if not a.startswith("lib="))
    libraries = {n: (path, symbol) for n, path, symbol in (a[4:].split("=") for a in arguments if a.startswith("lib="))}
    deadline = time.monotonic() + float(options.get("seconds", 1e9))
    torch.manual_seed(torch.seed() % (1 << 31))
    timer = Timer(int(options.get("rounds", 15)))
    if any(k in libraries for k in ("vector_add", "rmsnorm", "softmax")):
        memory_bound(libraries, timer)
    lengths = [int(x) for x in options.get("lengths", "1024,2048,4096,8192,16384").split(",")]
    hand = hand_attention(options["hand"]) if "hand" in options else None
    groups = {}
    for name, where in libraries.items():
        if name.startswith("attention:"):
            _, dim, mask, config = name.split(":", 3)
            groups.setdefault((int(dim), mask == "causal"), {})[config] = entry(*where)
    for (dim, causal), kernels in groups.items():
        attention(kernels, hand, timer, dim, causal, lengths, deadline)


if __name__ == "__main__":
    main(sys.argv[1:])
