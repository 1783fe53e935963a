"""Random kernels as libraries write them: products over grids of two and three dimensions whose blocks share operands, of all types and
orders; a narrow product whose result a wide one takes; tensors of three dimensions converted and reduced. What only such kernels can be
asked to do (sharing loads between neighbours, walks by length, split warpgroups, layouts by name) is tried here."""
import random


def header(sizes, parameters):
    names = ", ".join(sizes)
    return [f"# sizes: {' '.join(f'{k}={v}' for k, v in sizes.items())}", "import tilelang", "import tilelang.language as T", "",
            f'{names}{"," if len(sizes) == 1 else ""} = T.dynamic("{names}"){"," if len(sizes) == 1 else ""}', "", "", "@T.prim_func", f"def fuzz({parameters}):"]


FLOATS = ["float32", "float16", "bfloat16"]


def kinds(draw):
    """Types of the operands, of their sums and of what is stored."""
    dtype = draw.choice(["float16", "float16", "bfloat16", "float32", "float8_e4m3fn", "float8_e5m2", "int8", "uint8"])
    if "int" in dtype:
        return dtype, "int32", draw.choice(["int32", "int32", "float32"])
    return dtype, "float32", draw.choice(FLOATS)


def layouts(draw, tiles):
    """Layouts by name instead of those that would be chosen."""
    if draw.random() < 0.75:
        return []
    return [f"        T.annotate_layout({{{', '.join(f'{t}: tilelang.layout.make_swizzled_layout({t})' for t in tiles)}}})"]


def configs(draw):
    """Optional parts of the pipeline, switched off by the kernel itself."""
    off = [c for c in ("tl.disable_tma_lower", "tl.disable_warp_specialized") if draw.random() < 0.12]
    return [f"        T.annotate_pass_configs({{{', '.join(f'{chr(34)}{c}{chr(34)}: True' for c in off)}}})"] if off else []


def grid(draw):
    """C = A B over a grid, of several matrices at times; each tile may sum over a part of K that grows along the rows."""
    rows, columns, depth = draw.choice([32, 64, 128, 128]), draw.choice([32, 64, 64, 128]), draw.choice([32, 64, 128])
    dtype, accumulated, out = kinds(draw)
    depth = min(depth, 32) if dtype == "float32" else depth
    threads = draw.choice([64, 128, 128, 192, 256, 256, 384, 512])
    trans_a, trans_b, batch = draw.random() < 0.2, draw.random() < 0.6, draw.random() < 0.25
    sizes = {"n": draw.choice([rows, rows + 8, 2 * rows + 40, 3 * rows]), "l": draw.choice([columns, columns + 24, 3 * columns]),
             "m": depth * draw.choice([0, 1, 2, 3, 5]) + draw.choice([0, 0, 8, 16])}
    sizes["m"] = max(sizes["m"], 1)
    grows = draw.random() < 0.3
    steps = f"T.min(T.ceildiv(m, {depth}), by + 1)" if grows else f"T.ceildiv(m, {depth})"
    scale = draw.choice([None, "0.5", "V[bx * {columns} + j]"]) if accumulated == "float32" else None
    many, at = ("2, ", "bz, ") if batch else ("", "")

    def matrix(swapped, x, y):
        return f"({many}{y}, {x})" if swapped else f"({many}{x}, {y})"

    def tile(swapped, x, y):
        return f"({y}, {x})" if swapped else f"({x}, {y})"

    def place(swapped, x, y):
        return f"[{at}{y}, {x}]" if swapped else f"[{at}{x}, {y}]"

    text = header(sizes, f"A: T.Tensor({matrix(trans_a, 'n', 'm')}, T.{dtype}), B: T.Tensor({matrix(trans_b, 'm', 'l')}, T.{dtype}), "
                         f"V: T.Tensor((l,), T.float32), C: T.Tensor(({many}n, l), T.{out})")
    loop = f"T.Pipelined({steps}, num_stages={draw.choice([0, 1, 2, 2, 3, 3, 4])})" if draw.random() < 0.9 else f"T.serial({steps})"
    text += [f"    with T.Kernel(T.ceildiv(l, {columns}), T.ceildiv(n, {rows}){', 2' if batch else ''}, threads={threads}) as (bx, by{', bz' if batch else ''}):",
             *configs(draw),
             f"        a = T.alloc_shared({tile(trans_a, rows, depth)}, T.{dtype})", f"        b = T.alloc_shared({tile(trans_b, depth, columns)}, T.{dtype})",
             f"        c = T.alloc_fragment(({rows}, {columns}), T.{accumulated})", *layouts(draw, ["a", "b"])]
    if draw.random() < 0.2:
        text.append(f"        T.use_swizzle(panel_size={draw.choice([2, 3, 10])}{draw.choice(['', ', order=' + chr(34) + 'column' + chr(34)])})")
    policy = draw.choice(["", "", ", policy=T.GemmWarpPolicy.FullRow", ", policy=T.GemmWarpPolicy.FullCol"])
    flags = (", transpose_A=True" if trans_a else "") + (", transpose_B=True" if trans_b else "") + policy
    text += ["        T.clear(c)", f"        for k in {loop}:",
             f"            T.copy(A{place(trans_a, f'by * {rows}', f'k * {depth}')}, a)",
             f"            T.copy(B{place(trans_b, f'k * {depth}', f'bx * {columns}')}, b)",
             f"            T.gemm(a, b, c{flags})"]
    if scale:
        factor = scale.format(columns=columns)
        guard = f"T.if_then_else(bx * {columns} + j < l, {factor}, 0.0)" if "V" in factor else factor
        text += [f"        for i, j in T.Parallel({rows}, {columns}):", f"            c[i, j] *= {guard}"]
    if draw.random() < 0.25: # by way of a tile that the kernel names itself
        text += [f"        d = T.alloc_shared(({rows}, {columns}), T.{out})", *layouts(draw, ["d"]), "        T.copy(c, d)",
                 f"        T.copy(d, C[{at}by * {rows}, bx * {columns}])"]
    else:
        text.append(f"        T.copy(c, C[{at}by * {rows}, bx * {columns}])")
    return "\n".join(text) + "\n"


def elements(draw):
    """B[n, p, l] and row results of A[p, n, l]: types of all widths, three dimensions, layouts and orders of loops."""
    rows, width = draw.choice([1, 4, 16, 32]), draw.choice([32, 64, 128, 96])
    from_type = draw.choice(["float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "int8", "uint8", "int16", "int32", "float64"])
    to_type = draw.choice(FLOATS + ["float8_e4m3fn", "float8_e5m2"]) if "float" in from_type else draw.choice(["int32", "int16", "float32", from_type])
    threads, p = draw.choice([32, 64, 96, 128, 160, 256, 512]), draw.choice([1, 2, 3])
    sizes = {"n": draw.choice([rows, 2 * rows, 2 * rows + 1, 37]), "l": draw.choice([width, width - 8, width - 3, 1])}
    text = header(sizes, f"A: T.Tensor(({p}, n, l), T.{from_type}), B: T.Tensor((n, {p}, l), T.{to_type}), R: T.Tensor(({p}, n), T.float32)")
    text += [f"    with T.Kernel(T.ceildiv(n, {rows}), {p}, threads={threads}) as (bx, by):",
             f"        a = T.alloc_{draw.choice(['shared', 'fragment'])}(({rows}, {width}), T.{from_type})",
             f"        f = T.alloc_{draw.choice(['shared', 'fragment', 'fragment'])}(({rows}, {width}), T.float32)",
             f"        r = T.alloc_fragment(({rows},), T.float32)", f"        T.copy(A[by, bx * {rows}, 0], a)",
             f"        for i, j in T.Parallel({rows}, {width}):",
             f"            f[i, j] = T.cast(a[i, j], T.float32) * {'0.0078125' if 'int' in from_type else '0.5'}"]
    if draw.random() < 0.5:
        op = draw.choice(["max", "min", "sum", "absmax", "abssum"])
        text += ["        g = T.alloc_fragment(f.shape, T.float32)", "        T.copy(f, g)", f"        T.reduce_{op}(g, r, dim=1)"]
    else:
        text += [f"        for i in T.Parallel({rows}):", "            r[i] = f[i, 0] * 2.0"]
    how = draw.choice(["parallel", "copy", "steps"]) if "float" in to_type else "parallel"
    value = "f[i, j]" if "float" in to_type else "f[i, j] * 100.0"
    guard = f"            if bx * {rows} + i < n and j < l:"
    if how == "parallel":
        text += [f"        for i, j in T.Parallel({rows}, {width}):", guard, f"                B[bx * {rows} + i, by, j] = T.cast({value}, T.{to_type})"]
    elif how == "copy":
        text += [f"        b = T.alloc_{draw.choice(['shared', 'fragment'])}(({rows}, {width}), T.{to_type})", "        T.copy(f, b)",
                 f"        for i, j in T.Parallel({rows}, {width}):", guard, f"                B[bx * {rows} + i, by, j] = b[i, j]"]
    else:
        text += [f"        for i in T.{draw.choice(['serial', 'unroll'])}({rows}):", f"            for j in T.Parallel({width}):",
                 f"                if bx * {rows} + i < n and j < l:", f"                    B[bx * {rows} + i, by, j] = T.cast({value}, T.{to_type})"]
    return "\n".join(text + [f"        T.copy(r, R[by, bx * {rows}])"]) + "\n"


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
    return draw.choice([grid, grid, grid, chain, elements])(draw)


if __name__ == "__main__":
    import sys
    print(generate(int(sys.argv[1])), end="")
