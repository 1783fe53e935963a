"""Random kernels as users write them: what the generators of tiles (Generate*.cpp) do not reach, because it begins in the language.

Threads spoken of by name, loops with `while` and `break`, scalars that are carried along, views, accumulators in parts, atomics, several
products in a loop, operands that are made of others. Everything is defined and free of races, values stay small.
"""
import random

FLOATS = ["float32", "float16", "bfloat16"]
LIMIT = 3 # of nested blocks


class Tile:
    def __init__(self, name, shape, dtype, is_shared):
        self.name, self.shape, self.dtype, self.is_shared = name, shape, dtype, is_shared


class Program:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines, self.depth, self.count, self.tiles = [], 0, 0, []
        self.scalars = []  # float32, the same in every thread

    # ---- text

    def pick(self, *choices):
        return self.random.choice(choices)

    def chance(self, percent):
        return self.random.randrange(100) < percent

    def line(self, text):
        self.lines.append("    " * self.depth + text)

    def name(self, hint):
        self.count += 1
        return f"{hint}{self.count}"

    def block(self, head, *bodies):
        """Statements inside; what they make is not known behind."""
        self.line(head)
        self.depth += 1
        known, scalars = list(self.tiles), list(self.scalars)
        for body in bodies:
            body()
        self.tiles, self.scalars = known, scalars
        self.depth -= 1

    def alloc(self, hint, shape, dtype, is_shared):
        tile = Tile(self.name(hint), shape, dtype, is_shared)
        self.line(f"{tile.name} = T.alloc_{'shared' if is_shared else 'fragment'}({tuple(shape)}, T.{dtype})")
        return tile

    def keep(self, tile):
        self.tiles.append(tile)

    def any(self, rank=2, shared=None):
        fit = [t for t in self.tiles if len(t.shape) == rank and shared in (None, t.is_shared)]
        return self.random.choice(fit) if fit else None

    def wide(self, text, dtype):
        return text if dtype == "float32" else f"T.cast({text}, T.float32)"

    def narrow(self, text, dtype):
        return text if dtype == "float32" else f"T.cast({text}, T.{dtype})"

    # ---- the whole

    def run(self):
        self.threads = self.pick(32, 64, 96, 128, 128, 128, 160, 192, 256, 256, 512)
        self.rows, self.columns, self.depth_k = self.pick(16, 32, 64, 64), self.pick(16, 32, 64, 64, 40), self.pick(16, 32, 64)
        self.dtype = self.pick("float16", "float16", "bfloat16", "float32")
        self.weights = self.pick("float16", "int8", "int8", self.dtype)
        n = self.pick(self.rows, 2 * self.rows, self.rows + 1, self.rows + 7, self.random.randrange(1, 2 * self.rows), 3)
        m = self.pick(0, 1, 2, 3, 4) * self.depth_k + self.pick(0, 0, 8, self.random.randrange(1, self.depth_k))
        m = max(m, 1)
        is_one = self.chance(25) # block that takes all tiles
        grid = self.pick(1, 2) if is_one else f"T.ceildiv(n, {self.rows})"
        head = [f"# sizes: n={n} m={m}", "import tilelang", "import tilelang.language as T", "", 'n, m = T.dynamic("n, m")', "", "",
                "@T.prim_func",
                f"def fuzz(A: T.Tensor((n, m), T.{self.dtype}), B: T.Tensor((m, {self.columns}), T.{self.weights}),",
                f"         V: T.Tensor((m,), T.float32), I: T.Tensor((n,), T.int32), C: T.Tensor((n, {self.columns}), T.float32),",
                "         D: T.Tensor((n,), T.float32), H: T.Tensor((64,), T.int32), P: T.Tensor((64,), T.int32), Q: T.Tensor((64,), T.int32)):"]
        self.depth = 1
        self.line(f"with T.Kernel({grid}, threads={self.threads}) as bx:")
        self.depth = 2
        off = [c for c in ("tl.disable_tma_lower", "tl.disable_warp_specialized") if self.chance(8)]
        if off: # optional parts of the pipeline
            self.line("T.annotate_pass_configs({" + ", ".join(f'"{c}": True' for c in off) + "})")
        if self.chance(60):
            self.line("tx = T.get_thread_binding(0)")
            self.has_threads = True
        else:
            self.has_threads = False
        if is_one:
            self.line(f"for tile in T.serial(T.ceildiv(n, {self.rows * grid})):")
            self.depth += 1
            self.line(f"row = (tile * {grid} + bx) * {self.rows}")
        else:
            self.line(f"row = bx * {self.rows}")
        self.products()
        for _ in range(self.random.randrange(1, 5)):
            self.statement(0)
        self.last()
        return "\n".join(head + self.lines) + "\n"

    # ---- loops of products

    def operand(self, dtype_source, source, at):
        """A tile of B, from int8 or as it is."""
        raw = self.alloc("b", (self.depth_k, self.columns), dtype_source, True)
        self.line(f"T.copy({source}[{at}, 0], {raw.name})")
        if dtype_source == self.dtype:
            return raw
        made = self.alloc("w", raw.shape, self.dtype, self.chance(60))
        i, j = self.name("i"), self.name("j")
        factor = "0.0078125" if dtype_source == "int8" else "0.5"
        self.line(f"for {i}, {j} in T.Parallel({self.depth_k}, {self.columns}):")
        self.line(f"    {made.name}[{i}, {j}] = " + self.narrow(f"T.cast({raw.name}[{i}, {j}], T.float32) * {factor}", self.dtype))
        if made.is_shared:
            return made
        shared = self.alloc("w", raw.shape, self.dtype, True)
        self.line(f"T.copy({made.name}, {shared.name})")
        return shared

    def products(self):
        acc = self.alloc("acc", (self.rows, self.columns), "float32", False)
        self.line(f"T.clear({acc.name})")
        carried = None
        if self.chance(40):
            carried = self.name("s")
            self.line(f"{carried} = T.alloc_var(T.float32, init=1.0)")
        side = None
        if self.chance(30):
            side = self.alloc("side", (self.columns,), "float32", self.chance(50))
            self.line(f"T.clear({side.name})")
        k = self.name("k")
        kind = self.pick("T.Pipelined", "T.Pipelined", "T.Pipelined", "T.serial")
        stages = f", num_stages={self.pick(0, 1, 2, 2, 3, 4)}" if kind == "T.Pipelined" else ""
        self.block(f"for {k} in {kind}(T.ceildiv(m, {self.depth_k}){stages}):", lambda: self.round(k, acc, carried, side))
        if carried:
            self.scalars.append(carried)
        result = self.alloc("x", acc.shape, "float32", False)
        i, j = self.name("i"), self.name("j")
        self.line(f"for {i}, {j} in T.Parallel({self.rows}, {self.columns}):")
        extra = f" + {side.name}[{j}] * 0.01" if side else ""
        self.line(f"    {result.name}[{i}, {j}] = {acc.name}[{i}, {j}] * 0.05{extra}")
        self.keep(result)

    def round(self, k, acc, carried, side):
        guarded = self.chance(15) and not carried
        if guarded:
            self.line(f"if ({k} + bx) % 2 == 0:" if self.chance(50) else f"if {k} != 1:")
            self.depth += 1
        a = self.alloc("a", (self.rows, self.depth_k), self.dtype, True)
        self.line(f"T.copy(A[row, {k} * {self.depth_k}], {a.name})")
        b = self.operand(self.weights, "B", f"{k} * {self.depth_k}")
        left = a
        if self.chance(20): # the operand is made of another one
            left = self.alloc("a", a.shape, self.dtype, self.chance(60))
            i, j = self.name("i"), self.name("j")
            self.line(f"for {i}, {j} in T.Parallel({self.rows}, {self.depth_k}):")
            other = f"{a.name}[{i}, {self.depth_k - 1} - {j}]" if self.chance(50) else f"{a.name}[{i}, {j}]"
            by = f" * {self.narrow(carried, self.dtype)}" if carried and self.chance(40) else ""
            self.line(f"    {left.name}[{i}, {j}] = {other}{by}")
        self.line(f"T.gemm({left.name}, {b.name}, {acc.name}" + (f", clear_accum={k} == 0" if self.chance(10) and not guarded else "") +
                  (", policy=T.GemmWarpPolicy.FullRow" if self.chance(15) else "") + ")")
        if self.chance(20): # a second product of what the first gives
            part = self.alloc("p", (self.rows, self.columns), "float32", False)
            self.line(f"T.gemm({a.name}, {b.name}, {part.name}, clear_accum=True)")
            if self.chance(50):
                half = self.alloc("h", part.shape, self.dtype, self.chance(50))
                square = self.alloc("q", (self.columns, self.columns), self.dtype, True)
                self.line(f"T.copy({part.name}, {half.name})")
                self.line(f"T.fill({square.name}, 0.0625)")
                self.line(f"T.gemm({half.name}, {square.name}, {acc.name})")
            else:
                i, j = self.name("i"), self.name("j")
                self.line(f"for {i}, {j} in T.Parallel({self.rows}, {self.columns}):")
                self.line(f"    {acc.name}[{i}, {j}] = {acc.name}[{i}, {j}] * 0.75 + {part.name}[{i}, {j}] * 0.25")
        if side:
            j, kk = self.name("j"), self.name("e")
            self.line(f"for {j} in T.Parallel({self.columns}):")
            self.line(f"    for {kk} in T.{self.pick('serial', 'unroll')}({min(self.depth_k, 8)}):")
            self.line(f"        {side.name}[{j}] += " + self.wide(f"{b.name}[{kk}, {j}]", self.dtype))
        if guarded:
            self.depth -= 1
        if carried:
            self.line(f"{carried} = {carried} * 0.5 + {self.pick('0.25', f'T.cast({k}, T.float32) * 0.125', '0.5')}")

    # ---- statements

    def statement(self, depth):
        choices = [self.elementwise, self.elementwise, self.reduce, self.reducer, self.view, self.histogram, self.scan, self.convert, self.gather]
        if self.has_threads:
            choices += [self.by_threads, self.by_threads, self.warps, self.each_thread, self.local]
        if depth < LIMIT:
            choices += [lambda: self.loop(depth), lambda: self.branch(depth)]
        self.random.choice(choices)()

    def elementwise(self):
        to = self.any(2)
        i, j = self.name("i"), self.name("j")
        terms = []
        for _ in range(self.random.randrange(1, 3)):
            t = self.any(self.pick(1, 2, 2)) or to
            if t.shape == to.shape:
                terms.append(self.wide(f"{t.name}[{i}, {j}]", t.dtype))
            elif len(t.shape) == 1 and t.shape[0] == to.shape[0]:
                terms.append(self.wide(f"{t.name}[{i}]", t.dtype))
            elif len(t.shape) == 1 and t.shape[0] == to.shape[1]:
                terms.append(self.wide(f"{t.name}[{j}]", t.dtype))
        terms = terms or [f"T.cast({i} - {j}, T.float32) * 0.01"]
        if self.scalars and self.chance(50):
            terms.append(self.random.choice(self.scalars))
        value = terms[0]
        for t in terms[1:]:
            value = self.pick(f"({value}) * 0.5 + {t}", f"T.max({value}, {t})", f"T.min({value}, {t})")
        value = self.pick(value, f"T.if_then_else(({i} + {j}) % 3 == 0, {value}, 0.25)", f"T.tanh({value})", f"T.abs({value})", f"({value}) * 0.5")
        self.line(f"for {i}, {j} in T.Parallel({to.shape[0]}, {to.shape[1]}):")
        if self.chance(25):
            self.line(f"    if {i} {self.pick('<', '>=')} {self.random.randrange(1, to.shape[0])} and row + {i} < n:")
            self.line(f"        {to.name}[{i}, {j}] = " + self.narrow(value, to.dtype))
        else:
            self.line(f"    {to.name}[{i}, {j}] = " + self.narrow(value, to.dtype))

    def convert(self):
        t = self.any(self.pick(1, 2)) or self.any(2)
        to = self.alloc("t", t.shape, self.pick(*FLOATS), self.chance(60))
        self.line(f"T.copy({t.name}, {to.name})")
        self.keep(to)

    def reduce(self):
        t = self.any(2)
        source = t
        if t.dtype != "float32":
            source = self.alloc("f", t.shape, "float32", False)
            self.line(f"T.copy({t.name}, {source.name})")
        axis = self.random.randrange(2)
        to = self.alloc("r", (t.shape[1 - axis],), "float32", False)
        op = self.pick("max", "min", "sum", "absmax")
        if self.chance(30):
            self.line(f"T.fill({to.name}, 0.5)")
            self.line(f"T.reduce_{op}({source.name}, {to.name}, dim={axis}, clear=False)")
        else:
            self.line(f"T.reduce_{op}({source.name}, {to.name}, dim={axis})")
        i = self.name("i")
        self.line(f"for {i} in T.Parallel({to.shape[0]}):")
        self.line(f"    {to.name}[{i}] = {to.name}[{i}] * {'0.02' if op == 'sum' else '0.5'}")
        self.keep(to)

    def reducer(self):
        t = self.any(2)
        axis = self.random.randrange(2)
        op = self.pick("sum", "max", "min")
        r = self.name("d")
        extent = t.shape[axis]
        self.line(f'{r} = T.alloc_reducer(({extent},), T.float32, op="{op}")')
        self.line(f"T.reducer_init({r})")
        i, j = self.name("i"), self.name("j")
        at, value = (i, j)[axis], self.wide(f"{t.name}[{i}, {j}]", t.dtype)
        self.line(f"for {i}, {j} in T.Parallel({t.shape[0]}, {t.shape[1]}):")
        self.line(f"    {r}[{at}] += {value} * 0.02" if op == "sum" else f"    {r}[{at}] = T.{op}({r}[{at}], {value})")
        self.line(f"T.finalize_reducer({r})")
        to = self.alloc("r", (extent,), "float32", self.chance(50))
        self.line(f"T.copy({r}, {to.name})")
        self.keep(to)

    def view(self):
        t = self.any(2, shared=True)
        if not t:
            return self.convert()
        size = t.shape[0] * t.shape[1]
        v = self.name("v")
        width = self.pick(*(w for w in (8, 16, 32, 64, t.shape[1] * 2) if size % w == 0))
        view = Tile(v, (size // width, width), t.dtype, True)
        self.line(f"{v} = T.{self.pick('view', 'reshape')}({t.name}, shape=({size // width}, {width}))" if self.chance(50) else
                  f"{v} = T.reshape({t.name}, ({size // width}, {width}))")
        f = self.alloc("f", view.shape, t.dtype, False)
        self.line(f"T.copy({v}, {f.name})")
        i, j = self.name("i"), self.name("j")
        self.line(f"for {i}, {j} in T.Parallel({view.shape[0]}, {view.shape[1]}):")
        self.line(f"    {v}[{i}, {j}] = {f.name}[{i}, {view.shape[1] - 1} - {j}]")

    def histogram(self):
        i = self.name("i")
        if self.chance(50):
            self.line(f"for {i} in T.Parallel({self.rows}):")
            self.line(f"    if row + {i} < n:")
            op, to = self.pick(("add", "H"), ("add", "H"), ("max", "P"), ("min", "Q")) # which come in any order
            self.line(f"        T.atomic_{op}({to}[I[row + {i}] & 63], {self.pick('1', i, f'{i} // 2')})")
            return
        counts = self.alloc("c", (64,), "int32", True)
        self.line(f"T.clear({counts.name})")
        self.line(f"for {i} in T.Parallel({self.rows}):")
        self.line(f"    if row + {i} < n:")
        self.line(f"        T.atomic_add({counts.name}[I[row + {i}] & 63], 1)")
        self.line(f"for {i} in T.Parallel(64):")
        self.line(f"    T.atomic_add(H[{i}], {counts.name}[{i}])")

    def scan(self):
        t = self.any(2)
        to = self.alloc("u", t.shape, "float32", True)
        self.line(f"T.copy({t.name}, {to.name})")
        self.line(f"T.cumsum({to.name}, dim={self.random.randrange(2)}" + (", reverse=True" if self.chance(30) else "") + ")")
        i, j = self.name("i"), self.name("j")
        self.line(f"for {i}, {j} in T.Parallel({t.shape[0]}, {t.shape[1]}):")
        self.line(f"    {to.name}[{i}, {j}] = {to.name}[{i}, {j}] * 0.02")
        self.keep(to)

    def gather(self):
        """Elements of tensors at places that are read from another one."""
        to = self.alloc("g", (self.rows, 16), "float32", self.chance(50))
        i, j = self.name("i"), self.name("j")
        self.line(f"for {i}, {j} in T.Parallel({self.rows}, 16):")
        self.line(f"    if row + {i} < n:")
        self.line(f"        {to.name}[{i}, {j}] = V[(I[row + {i}] & 1023) % m] + T.cast({j}, T.float32) * 0.0625")
        self.line("    else:")
        self.line(f"        {to.name}[{i}, {j}] = 0.5")
        self.keep(to)

    # ---- threads by name

    def by_threads(self):
        """Shared memory that other threads read than wrote it, several times over."""
        s = self.alloc("s", (self.threads,), "float32", True)
        value = self.pick("T.cast(tx, T.float32) * 0.01", "V[tx % m]")
        self.line(f"{s.name}[tx] = {value}")
        step = self.name("step")
        def body():
            x = self.name("y")
            self.line(f"{x} = T.alloc_var(T.float32)")
            self.line(f"{x} = {s.name}[(tx + {step} + 1) % {self.threads}]")
            self.line("T.sync_threads()") if self.chance(50) else None
            self.line(f"{s.name}[tx] = {x} * 0.5 + 0.25")
        self.block(f"for {step} in T.{self.pick('serial', 'serial', 'unroll')}({self.random.randrange(1, 4)}):", body)
        if self.threads in (self.rows, self.columns):
            self.keep(s)
        t = self.any(2, shared=True)
        if t and t.dtype == "float32" and self.chance(60):
            i = self.name("i")
            self.block(f"for {i} in T.serial({self.random.randrange(1, 4)}):",
                       lambda: self.line(f"{t.name}[({i} * {self.threads} + tx) // {t.shape[1]} % {t.shape[0]}, tx % {t.shape[1]}] = {s.name}[tx]")
                       if self.threads <= t.shape[0] * t.shape[1] and self.threads % t.shape[1] == 0 else
                       self.line(f"if tx < {min(t.shape[1], self.threads)}: {t.name}[{i}, tx] = {s.name}[tx]".replace(": ", ":\n" + "    " * (self.depth + 1), 1)))

    def warps(self):
        x = self.name("z")
        self.line(f"{x} = T.alloc_var(T.float32)")
        self.line(f"{x} = V[tx % m]")
        for _ in range(self.random.randrange(1, 3)):
            self.line(f"{x} = {x} + T.shfl_{self.pick('xor', 'down', 'up')}({x}, {self.pick(1, 2, 4, 16)}) * 0.5")
        if self.chance(40):
            self.line(f"{x} = T.warp_reduce_{self.pick('sum', 'max')}({x}) * 0.03")
        s = self.alloc("s", (self.threads,), "float32", True)
        self.line(f"{s.name}[tx] = {x}")
        if self.threads in (self.rows, self.columns):
            self.keep(s)

    def local(self):
        """Arrays of one thread, filled several elements at once."""
        b, e, width = self.name("own"), self.name("e"), self.pick(2, 4, 8)
        self.line(f"{b} = T.alloc_local(({width},), T.float32)")
        self.line(f"for {e} in T.{self.pick('vectorized', 'unroll', 'serial')}({width}):")
        self.line(f"    {b}[{e}] = {self.pick('T.cast(tx, T.float32)', f'V[(tx * {width} + {e}) % m]')} * 0.125 + T.cast({e}, T.float32)")
        s = self.alloc("s", (self.threads,), "float32", True)
        self.line(f"{s.name}[tx] = {b}[0] * 0.5 - {b}[tx % {width}] * 0.25")
        if self.threads in (self.rows, self.columns):
            self.keep(s)

    def each_thread(self):
        """A thread's own loop, which ends when it likes."""
        at, total = self.name("at"), self.name("total")
        self.line(f"{at} = T.alloc_var(T.int32, init=tx)")
        self.line(f"{total} = T.alloc_var(T.int32, init=0)")
        if self.chance(50):
            self.line(f"while {at} < {self.random.randrange(1, 4 * self.threads)}:")
            self.line(f"    {total} = {total} + ({at} & 7)")
            self.line(f"    {at} = {at} + {self.pick(self.threads, self.threads // 2 + 1, 17)}")
        else:
            k = self.name("k")
            self.line(f"for {k} in T.serial({self.random.randrange(2, 9)}):")
            self.line(f"    if {k} > tx % {self.random.randrange(2, 6)}:")
            self.line("        break")
            self.line(f"    {total} = {total} + {k} * 3 + {at} % 2")
        self.line(f"T.atomic_add(H[tx % {self.pick(1, 8, 64)}], {total})")

    # ---- nests

    def body(self, depth):
        for _ in range(self.random.randrange(1, 3)):
            self.statement(depth + 1)

    def loop(self, depth):
        k = self.name("l")
        head = self.pick(f"for {k} in T.serial({self.random.randrange(1, 4)}):", f"for {k} in T.unroll({self.random.randrange(1, 3)}):",
                         f"for {k} in T.serial(bx % 3):", f"for {k} in range(2):")
        def inner():
            if "serial" in head and self.chance(25):
                self.line(f"if {k} > {self.pick('bx % 2', '1')}:")
                self.line("    break")
            self.body(depth)
        self.block(head, inner)

    def branch(self, depth):
        self.block(self.pick("if bx % 2 == 0:", "if row + 5 < n:", "if m > 20:"), lambda: self.body(depth))
        if self.chance(40):
            self.block("else:", lambda: self.body(depth))

    def last(self):
        total = self.alloc("out", (self.rows, self.columns), "float32", self.chance(40))
        i, j = self.name("i"), self.name("j")
        terms = []
        for t in self.tiles:
            if t.shape == (self.rows, self.columns):
                terms.append(self.wide(f"{t.name}[{i}, {j}]", t.dtype))
            elif len(t.shape) == 1 and t.shape[0] == self.rows:
                terms.append(self.wide(f"{t.name}[{i}]", t.dtype))
            elif len(t.shape) == 1 and t.shape[0] == self.columns:
                terms.append(self.wide(f"{t.name}[{j}]", t.dtype))
        self.line(f"for {i}, {j} in T.Parallel({self.rows}, {self.columns}):")
        self.line(f"    {total.name}[{i}, {j}] = " + " + ".join(terms + self.scalars))
        self.line(f"T.copy({total.name}, C[row, 0])")
        source = total
        if total.is_shared:
            source = self.alloc("f", total.shape, "float32", False)
            self.line(f"T.copy({total.name}, {source.name})")
        d = self.alloc("m", (self.rows,), "float32", False)
        self.line(f"T.reduce_max({source.name}, {d.name}, dim=1)")
        self.line(f"T.copy({d.name}, D[row])")


def generate(seed):
    """The text of a kernel `fuzz`; its sizes stand in the first line."""
    return Program(seed).run()


if __name__ == "__main__":
    import sys
    print(generate(int(sys.argv[1])), end="")
