"""Random products as libraries write them: grids of two dimensions whose blocks share operands, and a narrow product whose result a wide
one takes. What only such kernels can be asked to do (sharing loads between neighbours, walks by length, split warpgroups) is tried here."""
import random


def header(sizes, parameters):
    names = ", ".join(sizes)
    return [f"# sizes: {' '.join(f'{k}={v}' for k, v in sizes.items())}", "import tilelang", "import tilelang.language as T", "",
            f'{names}{"," if len(sizes) == 1 else ""} = T.dynamic("{names}"){"," if len(sizes) == 1 else ""}', "", "", "@T.prim_func", f"def fuzz({parameters}):"]


def grid(draw):
    """C = A B^T over a grid; each tile may sum over a part of K that grows along the rows."""
    rows, columns, depth = draw.choice([64, 128, 128]), draw.choice([64, 64, 128]), draw.choice([32, 64])
    threads = draw.choice([128, 256]) if rows == 128 else 128
    dtype, out = draw.choice(["float16", "bfloat16"]), draw.choice(["float32", "float16", "bfloat16"])
    sizes = {"n": draw.choice([rows, rows + 8, 2 * rows + 40, 3 * rows]), "l": draw.choice([columns, columns + 24, 3 * columns]),
             "m": depth * draw.choice([1, 2, 3, 5]) + draw.choice([0, 8, 16])}
    grows = draw.random() < 0.4
    steps = f"T.min(T.ceildiv(m, {depth}), by + 1)" if grows else f"T.ceildiv(m, {depth})"
    scale = draw.choice([None, "0.5", "V[bx * {columns} + j]"])
    text = header(sizes, f"A: T.Tensor((n, m), T.{dtype}), B: T.Tensor((l, m), T.{dtype}), V: T.Tensor((l,), T.float32), "
                         f"C: T.Tensor((n, l), T.{out})")
    text += [f"    with T.Kernel(T.ceildiv(l, {columns}), T.ceildiv(n, {rows}), threads={threads}) as (bx, by):",
             f"        a = T.alloc_shared(({rows}, {depth}), T.{dtype})", f"        b = T.alloc_shared(({columns}, {depth}), T.{dtype})",
             f"        c = T.alloc_fragment(({rows}, {columns}), T.float32)", "        T.clear(c)",
             f"        for k in T.Pipelined({steps}, num_stages={draw.choice([2, 3, 4])}):",
             f"            T.copy(A[by * {rows}, k * {depth}], a)", f"            T.copy(B[bx * {columns}, k * {depth}], b)",
             "            T.gemm(a, b, c, transpose_B=True)"]
    if scale:
        factor = scale.format(columns=columns)
        guard = f"T.if_then_else(bx * {columns} + j < l, {factor}, 0.0)" if "V" in factor else factor
        text += [f"        for i, j in T.Parallel({rows}, {columns}):", f"            c[i, j] *= {guard}"]
    return "\n".join(text + [f"        T.copy(c, C[by * {rows}, bx * {columns}])"]) + "\n"


def chain(draw):
    """C = softmax-like weights of Q K^T, times K: the sums are rescaled in each round."""
    dtype, depth, wide = draw.choice(["float16", "bfloat16"]), draw.choice([64, 128, 192]), draw.choice([128, 256])
    wide, n = min(wide, depth // 64 * 64 if depth < 256 else wide), draw.choice([1, 64, 100, 128, 200])
    sizes = {"n": draw.choice([64, 100, 128]), "m": n}
    text = header(sizes, f"Q: T.Tensor((n, {depth}), T.{dtype}), K: T.Tensor((m, {depth}), T.{dtype}), C: T.Tensor((n, {wide}), T.float32)")
    factor = draw.choice(["0.5", "T.exp2(-largest[i] * 0.0625)"])
    text += ["    with T.Kernel(T.ceildiv(n, 64), threads=256) as bx:",
             f"        q = T.alloc_shared((64, {depth}), T.{dtype})", f"        keys = T.alloc_shared((64, {depth}), T.{dtype})",
             f"        weights = T.alloc_shared((64, 64), T.{dtype})", "        scores = T.alloc_fragment((64, 64), T.float32)",
             f"        acc = T.alloc_fragment((64, {wide}), T.float32)", "        largest = T.alloc_fragment((64,), T.float32)",
             "        rescale = T.alloc_fragment((64,), T.float32)",
             "        T.copy(Q[bx * 64, 0], q)", "        T.clear(acc)",
             "        for k in T.Pipelined(T.ceildiv(m, 64), num_stages=2):", "            T.copy(K[k * 64, 0], keys)",
             "            T.gemm(q, keys, scores, transpose_B=True, clear_accum=True, policy=T.GemmWarpPolicy.FullCol)",
             "            T.reduce_max(scores, largest, dim=1)", "            for i in T.Parallel(64):",
             f"                rescale[i] = {factor}", "            for i, j in T.Parallel(64, 64):",
             "                scores[i, j] = scores[i, j] * 0.125", "            T.copy(scores, weights)",
             f"            for i, j in T.Parallel(64, {wide}):", "                acc[i, j] *= rescale[i]",
             f"            T.gemm(weights, keys[:, :{wide}], acc, policy=T.GemmWarpPolicy.FullCol)",
             "        T.copy(acc, C[bx * 64, 0])"]
    return "\n".join(text) + "\n"


def generate(seed):
    """The text of a kernel `fuzz`; its sizes stand in the first line."""
    draw = random.Random(seed)
    return draw.choice([grid, grid, chain])(draw)


if __name__ == "__main__":
    import sys
    print(generate(int(sys.argv[1])), end="")
