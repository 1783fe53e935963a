"""Kernels of any size, for tools/bench/compile_time.py: each family grows in one way, and none of it can be folded away."""

HEAD = "import tilelang.language as T\nn = T.dynamic('n')\n"
VECTORS = "A: T.Tensor((n,), T.float32), B: T.Tensor((n,), T.float32)"
MATRICES = "A: T.Tensor((n, n), T.float16), B: T.Tensor((n, 64), T.float16), C: T.Tensor((n, 64), T.float32)"
TILES = """        As = T.alloc_shared((64, 32), T.float16)
        Bs = T.alloc_shared((32, 64), T.float16)
        Cl = T.alloc_fragment((64, 64), T.float32)
        T.clear(Cl)
"""


def kernel(body, arguments=VECTORS, grid="T.ceildiv(n, 256)", name="kernel"):
    return f"""
@T.prim_func
def {name}({arguments}):
    with T.Kernel({grid}, threads=128) as bx:
{body}
"""


def joined(count, line):
    return "\n".join(line(i) for i in range(count))


def kernels(count):
    """Kernels in one file, none equal to another."""
    return HEAD + joined(count, lambda i: kernel(
        f"        for i in T.Parallel({256 + 4 * i}):\n"
        f"            B[bx * {256 + 4 * i} + i] = A[bx * {256 + 4 * i} + i] * {i}.5 + {i}", name=f"kernel_{i}"))


def statements(count):
    """Statements in one parallel loop."""
    return HEAD + kernel("        for i in T.Parallel(256):\n" + joined(
        count, lambda i: f"            B[bx * 256 + i] = B[bx * 256 + i] * {i % 7}.5 + A[bx * 256 + i]"))


def maps(count):
    """Parallel loops in a row."""
    return HEAD + kernel(joined(
        count, lambda i: f"        for i in T.Parallel(256):\n            B[bx * 256 + i] = A[bx * 256 + i] * {i}.5"))


def branches(count):
    """Conditions in one parallel loop."""
    return HEAD + kernel("        for i in T.Parallel(256):\n" + joined(
        count, lambda i: f"            if A[bx * 256 + i] > {i}.5:\n                B[bx * 256 + i] = {i}.25"))


def chain(count):
    """Values each made of the one before."""
    return HEAD + kernel("        for i in T.Parallel(256):\n            x0 = A[bx * 256 + i]\n" + joined(
        count, lambda i: f"            x{i + 1} = x{i} * 2.0 + {i}.5") + f"\n            B[bx * 256 + i] = x{count}")


def indices(count):
    """Indices each made of the one before."""
    return HEAD + kernel("        tx = T.get_thread_binding()\n        y0 = bx * 128 + tx\n" + joined(
        count, lambda i: f"        y{i + 1} = y{i} + T.min(y{i}, {i}) % 7") +
        f"\n        if y{count} < n and y{count} >= 0:\n            B[y{count}] = A[y{count}]")


def copies(count):
    """Copies into one shared tile and out of it."""
    return HEAD + kernel("        s = T.alloc_shared((256,), T.float32)\n" + joined(
        count, lambda i: f"        T.copy(A[bx * 256 + {256 * i}], s)\n        T.copy(s, B[bx * 256 + {256 * i}])"))


def buffers(count):
    """Shared tiles and fragments, each used once."""
    return HEAD + kernel(joined(count, lambda i: f"""        s{i} = T.alloc_shared((64,), T.float32)
        f{i} = T.alloc_fragment((64,), T.float32)
        T.copy(A[bx * 64 + {64 * i}], s{i})
        T.copy(s{i}, f{i})
        T.copy(f{i}, B[bx * 64 + {64 * i}])"""))


def live_buffers(count):
    """Fragments that are all alive at once."""
    return HEAD + kernel(joined(count, lambda i: f"        f{i} = T.alloc_fragment((128,), T.float32)\n"
                                f"        T.copy(A[bx * 128 + {128 * i}], f{i})") + "\n" +
                         joined(count, lambda i: f"        for i in T.Parallel(128):\n            f0[i] = f0[i] + f{i}[i]") +
                         "\n        T.copy(f0, B[bx * 128])")


def unrolled(count):
    """Rounds of an unrolled loop."""
    return HEAD + kernel(f"""        s = T.alloc_shared((128,), T.float32)
        f = T.alloc_fragment((128,), T.float32)
        T.clear(f)
        for k in T.unroll({count}, explicit=True):
            T.copy(A[bx * 128 + k * 128], s)
            for i in T.Parallel(128):
                f[i] = f[i] + s[i]
        T.copy(f, B[bx * 128])""")


def threads(count):
    """Exchanges between threads."""
    return HEAD + kernel("        tx = T.get_thread_binding()\n        s = T.alloc_shared((128,), T.float32)\n" + joined(
        count, lambda i: f"        s[tx] = A[bx * 128 + tx]\n        B[bx * 128 + tx] = s[(tx + {i + 1}) % 128]"))


def loops(count):
    """Loops in a row."""
    return HEAD + kernel("        s = T.alloc_shared((128,), T.float32)\n" + joined(
        count, lambda i: f"        for k{i} in T.serial(n):\n            T.copy(A[k{i} * 128], s)\n"
                         f"            T.copy(s, B[k{i} * 128])"))


def nested(count):
    """Loops in each other, with shared memory used in each of them."""
    lines = []
    for i in range(count):
        inner = "        " + "    " * i
        lines += [f"{inner}for k{i} in T.serial(n):", f"{inner}    T.copy(A[(bx + k{i}) * 128], s{i})",
                  f"{inner}    for j{i} in T.Parallel(128):",
                  f"{inner}        B[(bx + k{i}) * 128 + j{i}] = s{i}[127 - j{i}]"]
    shared = joined(count, lambda i: f"        s{i} = T.alloc_shared((128,), T.float32)")
    return HEAD + kernel(shared + "\n" + "\n".join(lines))


def gemms(count):
    """Matrix products in a row."""
    return HEAD + kernel(TILES + joined(count, lambda i: f"        T.copy(A[bx * 64, {32 * i}], As)\n"
                                        f"        T.copy(B[{32 * i}, 0], Bs)\n        T.gemm(As, Bs, Cl)") +
                         "\n        T.copy(Cl, C[bx * 64, 0])", MATRICES, "T.ceildiv(n, 64)")


def pipelines(count):
    """Pipelined loops in a row."""
    return HEAD + kernel(TILES + joined(count, lambda i: f"        for k{i} in T.Pipelined(n // 32, num_stages=3):\n"
                                        f"            T.copy(A[bx * 64, k{i} * 32], As)\n"
                                        f"            T.copy(B[k{i} * 32, 0], Bs)\n            T.gemm(As, Bs, Cl)") +
                         "\n        T.copy(Cl, C[bx * 64, 0])", MATRICES, "T.ceildiv(n, 64)")


#: Family and the smallest of its three sizes; the next are 2 and 4 times as large.
FAMILIES = [(kernels, 25), (statements, 50), (maps, 20), (branches, 20), (chain, 50), (indices, 20), (copies, 20), (buffers, 10),
            (live_buffers, 20), (unrolled, 20), (threads, 20), (loops, 10), (nested, 3), (gemms, 10), (pipelines, 4)]
