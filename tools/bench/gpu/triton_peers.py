"""GEMM and attention in Triton as its users write them for Hopper, timed as peers: tensor descriptors, a GEMM of persistent blocks.
The fastest of some configurations is chosen before the timing, as with our own tiles.

    triton_peers.py          compiles every configuration for compute capability 9.0; needs no GPU
"""
import math

import triton
import triton.language as tl

LOG2E = 1.4426950408889634
# (BLOCK_M, BLOCK_N, BLOCK_K, stages, warps)
MATMUL_TILES = [(128, 256, 64, 3, 8), (128, 256, 64, 4, 8), (256, 128, 64, 3, 8), (128, 128, 64, 4, 4), (128, 128, 64, 5, 8)]
# dim: (BLOCK_M, BLOCK_N, stages, warps)
ATTENTION_TILES = {
    64: [(128, 128, 3, 8), (128, 64, 4, 4), (64, 128, 3, 4)],
    128: [(128, 128, 2, 8), (128, 64, 3, 8), (64, 128, 2, 4)],
    256: [(128, 64, 2, 8), (64, 64, 2, 4)],
}


@triton.jit
def matmul_kernel(a, b, c, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SMS: tl.constexpr,
                  GROUP: tl.constexpr):
    """c[M, N] = a[M, K] b[N, K]^T; each block walks over tiles, GROUP rows of tiles at a time."""
    rows, columns, rounds = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), tl.cdiv(K, BLOCK_K)
    for tile in tl.range(tl.program_id(0), rows * columns, SMS, flatten=True):
        group = tile // (GROUP * columns)
        height = min(rows - group * GROUP, GROUP)
        m = (group * GROUP + tile % (GROUP * columns) % height) * BLOCK_M
        n = (tile % (GROUP * columns) // height) * BLOCK_N
        sums = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for k in range(rounds):
            sums = tl.dot(a.load([m, k * BLOCK_K]), b.load([n, k * BLOCK_K]).T, sums)
        c.store([m, n], sums.to(c.dtype))


@triton.jit
def attend(q, k, v, sums, total, most, row, first, last, column, m, scale, MASKED: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    for n in range(first, last, BLOCK_N):
        scores = tl.dot(q, k.load([row + n, column]).T)
        if MASKED:
            allowed = (m + tl.arange(0, BLOCK_M))[:, None] >= (n + tl.arange(0, BLOCK_N))[None, :]
            scores = tl.where(allowed, scores, -1e30)
        now = tl.maximum(most, tl.max(scores, 1) * scale)
        weights = tl.exp2(scores * scale - now[:, None])
        change = tl.exp2(most - now)
        total = total * change + tl.sum(weights, 1)
        sums = tl.dot(weights.to(v.dtype), v.load([row + n, column]), sums * change[:, None])
        most = now
    return sums, total, most


@triton.jit
def attention_kernel(q, k, v, out, length, heads, scale, DIM: tl.constexpr, CAUSAL: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """Tensors are [batch * length, heads * DIM]; `length` is a multiple of both blocks."""
    m = (tl.num_programs(0) - 1 - tl.program_id(0)) * BLOCK_M
    row, column = tl.program_id(1) // heads * length, tl.program_id(1) % heads * DIM
    queries = q.load([row + m, column])
    sums = tl.zeros((BLOCK_M, DIM), dtype=tl.float32)
    total = tl.zeros((BLOCK_M,), dtype=tl.float32)
    most = tl.full((BLOCK_M,), -1e30, dtype=tl.float32)
    whole = m // BLOCK_N * BLOCK_N if CAUSAL else length
    sums, total, most = attend(queries, k, v, sums, total, most, row, 0, whole, column, m, scale, False, BLOCK_M, BLOCK_N)
    if CAUSAL:
        sums, total, most = attend(queries, k, v, sums, total, most, row, whole, m + BLOCK_M, column, m, scale, True, BLOCK_M, BLOCK_N)
    out.store([row + m, column], (sums / total[:, None]).to(out.dtype))


def descriptor(tensor, block):
    from triton.tools.tensor_descriptor import TensorDescriptor # needs PyTorch
    return TensorDescriptor.from_tensor(tensor, list(block))


def launch(out, kernel, *arguments, **options):
    def call():
        kernel(*arguments, **options)
        return out

    return call


def matmuls(a, b, out):
    """{configuration: call} for out[M, N] = a[M, K] b[N, K]^T; a call returns `out`."""
    import torch
    (m, k), n = a.shape, b.shape[0]
    multiprocessors = torch.cuda.get_device_properties(0).multi_processor_count
    calls = {}
    for tile in MATMUL_TILES:
        block_m, block_n, block_k, stages, warps = tile
        operands = descriptor(a, (block_m, block_k)), descriptor(b, (block_n, block_k)), descriptor(out, (block_m, block_n))
        grid = (min(multiprocessors, triton.cdiv(m, block_m) * triton.cdiv(n, block_n)),)
        calls[tile] = launch(out, matmul_kernel[grid], *operands, m, n, k, *tile[:3], multiprocessors, 8, num_stages=stages, num_warps=warps)
    return calls


def attentions(q, k, v, out, causal):
    """{configuration: call}; tensors are [batch, length, heads, dim] without gaps, lengths multiples of 128. A call returns `out`."""
    batch, length, heads, dim = q.shape
    flat = [x.view(batch * length, heads * dim) for x in (q, k, v, out)]
    calls = {}
    for tile in ATTENTION_TILES[dim]:
        block_m, block_n, stages, warps = tile
        operands = [descriptor(x, (rows, dim)) for x, rows in zip(flat, (block_m, block_n, block_n, block_m))]
        grid = (length // block_m, batch * heads)
        calls[tile] = launch(out, attention_kernel[grid], *operands, length, heads, LOG2E / math.sqrt(dim), dim, causal, *tile[:2],
                             num_stages=stages, num_warps=warps)
    return calls


def compile_all():
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    def build(kernel, blocks, sizes, constants, tile):
        names = kernel.arg_names
        types = {name: f"tensordesc<fp16{list(block)}>" for name, block in blocks.items()}
        signature = {n: types.get(n) or sizes.get(n) or "constexpr" for n in names}
        source = ASTSource(kernel, signature, constexprs={(names.index(n),): value for n, value in constants.items()})
        made = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_stages": tile[-2], "num_warps": tile[-1]})
        print(kernel.fn.__name__, tile, constants.get("CAUSAL", ""), f"{made.metadata.shared} bytes of shared memory")

    for tile in MATMUL_TILES:
        m, n, k = tile[:3]
        build(matmul_kernel, {"a": (m, k), "b": (n, k), "c": (m, n)}, dict.fromkeys("MNK", "i32"),
              dict(BLOCK_M=m, BLOCK_N=n, BLOCK_K=k, SMS=132, GROUP=8), tile)
    for dim, tiles in ATTENTION_TILES.items():
        for tile in tiles:
            m, n = tile[:2]
            for causal in (False, True):
                build(attention_kernel, {"q": (m, dim), "k": (n, dim), "v": (n, dim), "out": (m, dim)},
                      {"length": "i32", "heads": "i32", "scale": "fp32"}, dict(DIM=dim, CAUSAL=causal, BLOCK_M=m, BLOCK_N=n), tile)


if __name__ == "__main__":
    compile_all()
