#!/usr/bin/env python3
"""Builds kernels for a GPU, checks them there and times them against cuBLAS, cuBLASLt, PyTorch's attention and a device copy; if asked
for, torch.compile and Triton; and, where their sources are at hand, hand-written kernels.

    tools/bench/gpu/bench.py build --work bench-out [--hand-gemm DIR] [--hand-attention FILE.cu] [--flash-attention DIR] [--flash-mla DIR]     needs nvcc, no GPU
    tools/bench/gpu/bench.py run   --work bench-out --json results.json --seconds 280               needs a GPU, no compiler
    tools/bench/gpu/bench.py       ...                                                              both

`build` keeps what has not changed. `--variant NAME 'KEY=VALUE' ...` builds each kernel once more with lines of its schedule changed
(`--variant direct store=direct`). Rows are those of LOG.md. Exit status 1 if something could not be built, refused to run or was
wrong."""
import argparse
import concurrent.futures
import datetime
import hashlib
import json
import math
import pathlib
import re
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
TOOLS = ("gemm_bench", "hand_gemm", "hand_attention", "flash_attention3", "flash_mla")
SAMPLES = HERE.parent.parent.parent / "samples"

# (threads, block_M, block_N, block_K, stages): the fastest of a row is what is reported, as with cuBLASLt's suggestions.
GEMM_TILES = {
    "sm80": [(128, 128, 128, 32, 4), (256, 256, 128, 32, 4), (256, 128, 256, 64, 3), (128, 64, 128, 32, 4)],
    "sm90": [(256, 128, 256, 64, 4), (256, 128, 224, 64, 4), (256, 128, 192, 64, 4), (256, 128, 176, 64, 4), (256, 128, 128, 64, 5), (128, 64, 128, 64, 4),
             (256, 256, 128, 64, 4), (128, 128, 128, 32, 4)],
}
# Other layouts than NT get these only.
GEMM_TILES_LAYOUTS = {"sm80": [(128, 128, 128, 32, 4), (256, 256, 128, 32, 4), (256, 128, 256, 64, 3)], "sm90": [(256, 128, 256, 64, 4), (256, 128, 128, 64, 5)]}
# Rows 1 to 13 of the performance table; NT where nothing is said.
GEMM_ROWS = [
    ("1", 2048, 2048, 2048), ("2", 4096, 4096, 4096), ("3", 8192, 8192, 8192), ("4", 16384, 16384, 16384), ("5", 4096, 4096, 14336),
    ("6", 4096, 8192, 28672), ("7", 8192, 1024, 8192), ("8", 8192, 28672, 8192), ("9", 4096, 2112, 7168), ("10", 4096, 7168, 2048),
    ("11", 8192, 8192, 512), ("12", 2048, 2048, 8192),
]
# Row 23: rows of A and B that start at multiples of 8 or only 2 bytes, or of C alone; and sizes that no tile divides. float16 only.
ODD_ROWS = [("23", 4095, 4097, 4100), ("23-5000", 5000, 5000, 5000), ("23-C", 4095, 4095, 4096), ("23-K", 4096, 4096, 4097), ("23-K2", 4096, 4096, 4098)]
ROW_13_LAYOUTS = ("NN", "TN", "TT")
# dim: (threads, block_M, block_N, stages)
ATTENTION_TILES = {
    "sm80": {64: [(128, 128, 64, 2)], 128: [(128, 128, 64, 2)]},
    "sm90": {64: [(384, 192, 128, 2), (512, 256, 64, 4), (256, 128, 128, 2)], 128: [(256, 128, 128, 2), (128, 128, 64, 2)],
             256: [(256, 128, 80, 2), (256, 128, 64, 2)]},
}
DTYPES = {"f16": "float16", "bf16": "bfloat16"}
# (name for torch_memory.py, sample, instantiation)
MEMORY_BOUND = [
    ("vector_add", "vector_add", "vector_add"),
    ("rmsnorm:4096", "rmsnorm", "rms_norm(M, 4096)"),
    ("rmsnorm:16384", "rmsnorm", "rms_norm(M, 16384, threads=512)"),
    ("layernorm:4096", "layernorm", "layer_norm(M, 4096)"),
    ("softmax:4096:0", "softmax", "register_softmax(M, 4096)"),
    ("softmax:8192:0", "softmax", "register_softmax(M, 8192, threads=256)"),
    ("softmax:8192:1", "softmax", "kept_softmax(M, N)"),
    ("softmax:65536:1", "softmax/long.tl", "long_softmax(M, N, kept=49152)"),
    ("softmax:131072:1", "softmax/long.tl", "long_softmax(M, N)"),
    ("gemv", "gemv", "matvec(N, K)"),
    ("transpose", "transpose", "transpose_tiles(M, N)"),
    ("quantize:4096:4096", "quantize", "quantize(M, 4096, group=4096)"),
    ("quantize:8192:128", "quantize", "quantize(M, 8192, group=128)"),
]
# Families of torch_gemm.py: sample, instantiation, the tiles to choose from.
FP8_TILES = [(256, 128, 256, 128, 4), (256, 128, 128, 128, 5), (256, 128, 192, 128, 4)]
SKINNY_TILES = [(128, 16, 64, 128, 8), (128, 16, 64, 256, 5), (128, 64, 64, 128, 6), (128, 32, 64, 128, 8)]
FAMILIES = {
    "plain": ("gemm_family/layouts.tl", "gemm(M, N, K, trans_B=True, {tile})", [(256, 128, 256, 64, 4), (256, 256, 128, 64, 4), (256, 128, 128, 64, 5)]),
    "fp8": ("fp8_gemm/kernel.tl", "matmul(M, N, K, {tile})", FP8_TILES),
    "fp8_rowwise": ("fp8_gemm/kernel.tl", "matmul(M, N, K, row_wise=True, {tile})", FP8_TILES),
    "tf32": ("gemm_family/layouts.tl", "gemm(M, N, K, dtype=T.tfloat32, out_dtype=T.float32, {tile})",
             [(256, 128, 256, 32, 4), (256, 128, 128, 32, 6)]),
    "int8": ("gemm_family/layouts.tl", "gemm(M, N, K, dtype=T.int8, out_dtype=T.int32, accum_dtype=T.int32, {tile})",
             [(256, 128, 256, 128, 4), (256, 128, 128, 128, 5)]),
    "bias_gelu": ("gemm_family/epilogues.tl", "bias_gelu(M, N, K, {tile})", [(256, 128, 256, 64, 4), (256, 128, 192, 64, 4)]),
    "swiglu": ("gemm_family/epilogues.tl", "swiglu(M, N, K, {tile})", [(256, 128, 128, 64, 4), (256, 128, 96, 64, 4)]),
    "batched": ("gemm_family/batched.tl", "batched(batch, M, N, K, {tile})", [(256, 128, 256, 64, 4), (256, 128, 128, 64, 5)]),
    "skinny": ("gemm_family/skinny.tl", "skinny(M, N, K, {tile})", SKINNY_TILES),
    "conv2d": ("conv2d/kernel.tl", "convolution(N, H, W, C=128, F=128, {tile})", [(256, 128, 128, 64, 4), (256, 256, 128, 64, 4)]),
    "splitk": ("splitk_gemm/kernel.tl", "matmul(M, N, K, splits=4, {tile})", [(256, 128, 64, 64, 6), (128, 64, 64, 64, 6)]),
}
# (heads, splits, block_N) of latent attention; see torch_decode.py.
MLA = [(128, 1, 64), (128, 2, 64), (16, 2, 64), (16, 4, 64)]


class Failed(Exception):
    pass


def selected(name, words):
    return not words or any(word in name for word in words)


def name_of(job):
    """What --only looks at."""
    if job["job"] != "torch":
        return {"hand_attention": "attention", "flash_attention3": "attention", "flash_mla": "mla"}.get(job["job"], "gemm")
    return ("memory " if job["name"] in (name for name, *_ in MEMORY_BOUND) else "") + job["name"]


def run(command):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise Failed(f"{' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


# ---- Building


def config_of(tile, variant):
    threads, *sizes, stages = tile
    return f"{'x'.join(map(str, sizes))}-s{stages}-t{threads}" + (f"-{variant}" if variant else "")


class Builder:
    def __init__(self, arguments):
        self.tlc, self.nvcc, self.work = arguments.tlc.resolve(), arguments.nvcc, arguments.work
        self.variants = {"": []} | {v[0]: [c.split("=", 1) for c in v[1:]] for v in arguments.variant}

    def schedule(self, command, folder, changes):
        """The planned schedule with its lines of some kinds ending in other words."""
        lines = run(["env", "NO_COLOR=1", self.tlc, "report", *command]).splitlines()
        for key, value in changes:
            lines = [re.sub(rf"^(\s*{key}(?: \S+)*?) \S+(?=\s*(//|$))", rf"\1 {value}", line) for line in lines]
        path = folder / "schedule"
        path.write_text("\n".join(lines) + "\n")
        return [f"--schedule={path}"]

    def library(self, folder, source, target, symbol, instantiation, changes=()):
        """A shared library with one kernel; nothing is done if the emitted text is what it was."""
        folder.mkdir(parents=True, exist_ok=True)
        emitted, library, stamp = folder / "kernel.cu", folder / "kernel.so", folder / "stamp"
        # An instantiation needs a name that the source itself does not have.
        command = [source, f"--target={target}", "--kernel", symbol] + (["--instantiate", instantiation] if instantiation else [])
        extra = self.schedule(command, folder, changes) if changes else []
        run([self.tlc, *command, *extra, "-o", emitted])
        flags = ["-std=c++17", "-O3", "-lineinfo", *run([self.tlc, "targets", target, "--flags"]).split(), "-shared", "-Xcompiler", "-fPIC"]
        if target == "sm80":  # also for the machine that the peers are timed on
            flags.append("-gencode=arch=compute_90,code=sm_90")
        now = hashlib.sha256((emitted.read_text() + " ".join(flags)).encode()).hexdigest()
        if not (library.exists() and stamp.exists() and stamp.read_text() == now):
            run([self.nvcc, *flags, emitted, "-o", library])
            stamp.write_text(now)
        return library.relative_to(self.work)

    def gemm(self, target, tile, layout, dtype, variant):
        threads, m, n, k, stages = tile
        config = config_of(tile, variant)
        options = (f"trans_A={layout[0] == 'T'}, trans_B={layout[1] == 'T'}, block_M={m}, block_N={n}, block_K={k}, "
                   f"num_stages={stages}, threads={threads}, dtype=T.{DTYPES[dtype]}, out_dtype=T.{DTYPES[dtype]}")
        library = self.library(self.work / target / f"gemm-{dtype}-{layout}-{config}", SAMPLES / "gemm_family/layouts.tl", target, "bench_gemm",
                               f"bench_gemm = gemm(M, N, K, {options})", self.variants[variant])
        return {"job": "gemm", "target": target, "config": config, "dtype": dtype, "layout": layout, "library": str(library),
                "symbol": "bench_gemm"}

    def attention(self, target, dim, mask, tile, variant):
        threads, m, n, stages = tile
        config = config_of(tile, variant)
        options = (f"heads={2048 // dim}, groups=1, dim={dim}, is_causal={mask == 'causal'}, block_M={m}, block_N={n}, "
                   f"num_stages={stages}, threads={threads}")
        library = self.library(self.work / target / f"attention-{dim}-{mask}-{config}", SAMPLES / "flash_attention/kernel.tl", target,
                               "bench_attention", f"bench_attention = attention(batch, seq_len, {options})", self.variants[variant])
        return {"job": "torch", "target": target, "name": f"attention:{dim}:{mask}:{config}", "library": str(library),
                "symbol": "bench_attention"}

    def memory_bound(self, target, name, sample, instantiation):
        symbol = "bench_" + name.replace(":", "_")
        source = SAMPLES / (sample if sample.endswith(".tl") else f"{sample}/kernel.tl")
        library = self.library(self.work / target / name.replace(":", "-"), source, target, *(
            (symbol, f"{symbol} = {instantiation}") if "(" in instantiation else (instantiation, None)))
        return {"job": "torch", "target": target, "name": name, "library": str(library),
                "symbol": symbol if "(" in instantiation else instantiation}

    def family(self, target, name, tile, variant):
        sample, instantiation, _ = FAMILIES[name]
        threads, m, n, k, stages = tile
        config = config_of(tile, variant)
        options = f"block_M={m}, block_N={n}, block_K={k}, num_stages={stages}, threads={threads}"
        library = self.library(self.work / target / f"{name}-{config}", SAMPLES / sample, target, "bench_" + name,
                               f"bench_{name} = {instantiation.format(tile=options)}", self.variants[variant])
        return {"job": "torch", "target": target, "name": f"{name}:{config}", "library": str(library), "symbol": "bench_" + name}

    def mla(self, target, heads, splits, block_N, variant):
        config = f"64x{block_N}" + (f"-{variant}" if variant else "")
        library = self.library(self.work / target / f"mla-{heads}-{splits}-{config}", SAMPLES / "mla_decode/kernel.tl", target, "bench_mla",
                               f"bench_mla = mla(batch, length, heads={heads}, splits={splits}, block_N={block_N})", self.variants[variant])
        return {"job": "torch", "target": target, "name": f"mla:{heads}:{splits}:{config}", "library": str(library), "symbol": "bench_mla"}

    def tool(self, job, output, *command):
        output.parent.mkdir(parents=True, exist_ok=True)
        sources = [pathlib.Path(c) for c in command if str(c).endswith(".cu")]
        if not output.exists() or any(s.stat().st_mtime > output.stat().st_mtime for s in sources):
            run([self.nvcc, "-O3", *command, "-o", output])
        return {"job": job, "library": str(output.relative_to(self.work))}

    def jobs(self, arguments):
        def wanted(name):
            return selected(name, arguments.only)

        def chosen(tiles, variant):
            return [tile for tile in tiles if selected(config_of(tile, variant), arguments.tiles)]

        for target in arguments.targets:
            for variant in self.variants:
                for dtype in ("f16", "bf16"):
                    for tile in chosen(GEMM_TILES[target], variant) if wanted("gemm") else ():
                        yield self.gemm, target, tile, "NT", dtype, variant
                for layout in ROW_13_LAYOUTS if wanted("gemm") and not variant else ():
                    for tile in chosen(GEMM_TILES_LAYOUTS[target], variant):
                        yield self.gemm, target, tile, layout, "f16", variant
                for dim, tiles in ATTENTION_TILES[target].items():
                    for mask in ("full", "causal"):
                        for tile in chosen(tiles, variant) if wanted(f"attention:{dim}:{mask}") else ():
                            yield self.attention, target, dim, mask, tile, variant
                for name, (_, _, tiles) in FAMILIES.items() if target == "sm90" else ():
                    if name == "plain" and "triton" not in arguments.extras:
                        continue # gemm_bench has these rows
                    for tile in chosen(tiles, variant) if wanted(name) else ():
                        yield self.family, target, name, tile, variant
                for kernel in MLA if target == "sm90" and wanted("mla") else ():
                    yield self.mla, target, *kernel, variant
            for kernel in MEMORY_BOUND:
                if wanted(f"memory {kernel[0]}"):
                    yield self.memory_bound, target, *kernel
        tools, hopper = self.work / "tools", "-gencode=arch=compute_90a,code=sm_90a"
        if wanted("gemm"):
            yield self.tool, "gemm_bench", tools / "gemm_bench", "-std=c++20", "-arch=sm_80", HERE / "gemm_bench.cu", "-lcublas", "-lcublasLt"
        shared = ("-std=c++17", hopper, "-shared", "-Xcompiler", "-fPIC")
        if arguments.hand_gemm and wanted("gemm"):
            folder = arguments.hand_gemm
            yield self.tool, "hand_gemm", tools / "hand_gemm.so", *shared, f"-I{folder}", folder / "gemm_sm90.cu", HERE / "hand_gemm.cu"
        if arguments.hand_attention and wanted("attention"):
            yield self.tool, "hand_attention", tools / "hand_attention.so", *shared, arguments.hand_attention
        if arguments.flash_attention and wanted("attention"):
            hopper_folder = arguments.flash_attention / "hopper"
            yield (self.tool, "flash_attention3", tools / "flash_attention3.so", *shared, "--expt-relaxed-constexpr", "--expt-extended-lambda",
                   "--use_fast_math", "-w", "-DNDEBUG", "-DCUTLASS_ENABLE_DIRECT_CUDA_DRIVER_CALL=1", f"-I{hopper_folder}",
                   f"-I{arguments.flash_attention / 'csrc/cutlass/include'}", HERE / "flash_attention3.cu", "-lcuda")
        if arguments.flash_mla and wanted("mla"):
            csrc = arguments.flash_mla / "csrc"
            folders = [csrc, csrc / "sm90", csrc / "kerutils/include", csrc / "cutlass/include"]
            parts = ["sm90/decode/dense/instantiations/bf16.cu", "smxx/decode/combine/combine.cu",
                     "smxx/decode/get_decoding_sched_meta/get_decoding_sched_meta.cu"]
            yield (self.tool, "flash_mla", tools / "flash_mla.so", "-std=c++20", *shared[1:], "--expt-relaxed-constexpr", "-w", "-DNDEBUG",
                   "-DFLASH_MLA_DISABLE_FP16", "-DCUTLASS_ENABLE_DIRECT_CUDA_DRIVER_CALL=1", *(f"-I{folder}" for folder in folders),
                   *(csrc / part for part in parts), HERE / "flash_mla.cu", "-lcuda")


def build(arguments):
    arguments.work.mkdir(parents=True, exist_ok=True)
    builder, built, bad = Builder(arguments), [], []
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        futures = {pool.submit(job[0], *job[1:]): job for job in builder.jobs(arguments)}
        for future in concurrent.futures.as_completed(futures):
            what = " ".join(str(x) for x in futures[future][1:])
            try:
                built.append(future.result())
                print("built", what, flush=True)
            except Failed as failure:
                bad.append({"target": "", "kernel": what, "error": str(failure)})
                print(f"FAILED {what}\n{failure}", file=sys.stderr, flush=True)
    built.sort(key=lambda job: json.dumps(job, sort_keys=True))
    version = run([arguments.tlc, "--version"]).splitlines()[0]
    (arguments.work / "jobs.json").write_text(json.dumps({"tlc": version, "jobs": built, "failed": bad}, indent=1) + "\n")
    return 1 if bad else 0


# ---- Running


def stream(command):
    """Lines of JSON as they come; the exit status as a row if it is not 0."""
    process = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for line in process.stdout:
        if line.startswith("{"):
            yield json.loads(line)
    errors = process.stderr.read()
    if process.wait():
        yield {"kernel": pathlib.Path(str(command[-1])).name, "error": f"status {process.returncode}: {errors.strip()[-1500:]}"}


def gemm_rows(arguments, jobs, tools, target, seconds):
    ours = [j for j in jobs if j["job"] == "gemm" and j["target"] == target]
    lines = [f"ours {j['config']} {j['dtype']} {j['layout']} {arguments.work / j['library']} {j['symbol']}" for j in ours]
    if "hand_gemm" in tools:
        lines.append(f"hand {tools['hand_gemm']}")
    rows = []
    for dtype in ("bf16", "f16"):
        rows += [(f"{i}-{dtype}", dtype, "NT", f"{m}x{n}x{k}") for i, m, n, k in GEMM_ROWS]
    rows += [(i, "f16", "NT", f"{m}x{n}x{k}") for i, m, n, k in ODD_ROWS]
    rows += [(f"13-{layout}", "f16", layout, "4096x4096x4096") for layout in ROW_13_LAYOUTS]
    if arguments.shapes:
        rows = [(shape, dtype, "NT", shape) for shape in arguments.shapes for dtype in ("bf16", "f16")]
    if arguments.rows:
        rows = [row for row in rows if row[0] in arguments.rows or row[0].split("-")[0] in arguments.rows]
    # Short ones first: after long products the card clocks lower for a while.
    rows.sort(key=lambda row: math.prod(int(x) for x in row[3].split("x")))
    have = {(j["dtype"], j["layout"]) for j in ours}
    lines += ["row " + " ".join(row) for row in rows if (row[1], row[2]) in have]
    lines += [f"rounds {arguments.rounds}", f"seconds {seconds}", "launches 20"]
    spec = pathlib.Path(arguments.scratch) / f"gemm-{target}.spec"
    spec.write_text("\n".join(lines) + "\n")
    yield from stream([tools["gemm_bench"], spec])


def torch_rows(arguments, jobs, tools, target, seconds):
    libraries = [f"lib={j['name']}={arguments.work / j['library']}={j['symbol']}" for j in jobs if j["job"] == "torch" and j["target"] == target]
    if not libraries:
        return
    options = [f"seconds={seconds}", f"rounds={arguments.rounds}"]
    if arguments.extras:
        options.append("extras=" + ",".join(arguments.extras))
    if "hand_attention" in tools:
        options.append(f"hand={tools['hand_attention']}")
    if "flash_attention3" in tools:
        options.append(f"fa3={tools['flash_attention3']}")
    if "flash_mla" in tools:
        options.append(f"flash_mla={tools['flash_mla']}")
    yield from stream([sys.executable, HERE / "torch_bench.py", *options, *libraries])


def show(row):
    name = f"{row.get('target', ''):5} {row['kernel']:22} {row.get('id', ''):8} {row.get('config', ''):22} {row.get('shape', ''):20} "
    if "error" in row:
        text = f"FAILED: {row['error'].strip().splitlines()[-1]}"
    elif "skipped" in row:
        text = f"left out: {row['skipped']}"
    elif "over_us" in row:
        text = f"{row['us']:9.2f} us, {row['over_us']:+.2f} us over {row['peer']} ({row['peer_us']:.2f} us)"
    elif "check" in row:
        verdict = {True: "right", False: "WRONG", None: "off by"}[row.get("right")]
        text = f"{verdict} against {row['check']}" + (f" ({row['worst']:.1e})" if "worst" in row else "")
    else:
        rate = (lambda x: f"{x:6.1f} TFLOP/s") if "peer_tflops" in row or "tflops" in row else (lambda x: f"{x:6.1f} GB/s")
        text = f"{row['ms']:9.4f} ms {rate(row.get('tflops', row.get('gbs', 0)))}" if "ms" in row else f"{'-':>9}"
        if "peer" in row:
            ratio = f"{row['ratio']:.3f} x " if "ratio" in row else ""
            text += f"   {ratio}{row['peer']} ({row['peer_ms']:.4f} ms"
            text += f", {row['peer_tflops']:.1f})" if "peer_tflops" in row else ")"
        text += f"  {row['sm_mhz']} MHz" if "sm_mhz" in row else ""
        text += "   WRONG" if row.get("right") is False else ""
    print(name + text, flush=True)


def means(rows):
    """Geometric means of the ratios by target, kernel and peer, and the worst of each."""
    groups = {}
    for row in rows:
        if "ratio" in row and "peer" in row:
            kernel = row["kernel"].split()[0] + (f" {row['dtype']}" if "dtype" in row else "")
            groups.setdefault((row["target"], kernel, row["peer"]), []).append(row["ratio"])
    return [{"target": t, "kernel": k, "peer": p, "rows": len(r), "mean": round(math.exp(sum(map(math.log, r)) / len(r)), 4),
             "worst": min(r), "best": max(r)} for (t, k, p), r in sorted(groups.items())]


def run_all(arguments):
    begin, plan = time.monotonic(), json.loads((arguments.work / "jobs.json").read_text())
    plan["jobs"] = [job for job in plan["jobs"] if selected(name_of(job), arguments.only)]
    tools = {j["job"]: arguments.work / j["library"] for j in plan["jobs"] if j["job"] in TOOLS}
    arguments.scratch.mkdir(parents=True, exist_ok=True)
    rows = list(plan["failed"])

    def write():
        device = ""
        if shutil.which("nvidia-smi"):
            device = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version,clocks.max.sm,power.limit", "--format=csv,noheader"],
                                    stdout=subprocess.PIPE, text=True).stdout.strip()
        if arguments.json:
            arguments.json.write_text(json.dumps({"date": datetime.date.today().isoformat(), "tlc": plan["tlc"], "device": device,
                                                  "rows": rows, "means": means(rows)}, indent=1) + "\n")

    parts = [(part, target) for target in arguments.targets for part in (gemm_rows, torch_rows)]
    for i, (part, target) in enumerate(parts):
        left = arguments.seconds - (time.monotonic() - begin)
        if part is gemm_rows and "gemm_bench" not in tools:
            continue
        for row in part(arguments, plan["jobs"], tools, target, max(5, left / (len(parts) - i))):
            rows.append({"target": target, **row})
            show(rows[-1])
        write() # a run that is stopped leaves what it has
    for mean in means(rows):
        print(f"{mean['target']:5} {mean['kernel']:18} against {mean['peer']:22} geometric mean {mean['mean']:.3f} of {mean['rows']:2} rows "
              f"({mean['worst']:.3f} to {mean['best']:.3f})")
    bad = [row for row in rows if "error" in row or row.get("right") is False]
    print(f"{len(rows)} rows, {len(bad)} bad, {time.monotonic() - begin:.0f} s")
    return 1 if bad or not rows else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=["build", "run", "both"], default="both")
    parser.add_argument("--tlc", type=pathlib.Path, default=HERE.parent.parent.parent / "build/bin/tlc")
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--targets", nargs="+", default=["sm90"], choices=sorted(GEMM_TILES))
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("gpu-bench"), help="libraries and jobs.json")
    parser.add_argument("--scratch", type=pathlib.Path, help="where `run` may write; the work folder")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--only", nargs="+", help="only kernels whose name contains one of these words: gemm, attention:128:causal, memory, "
                        "rmsnorm, fp8, ...")
    parser.add_argument("--tiles", nargs="+", help="build only tiles whose name contains one of these words: 128x256x64")
    parser.add_argument("--rows", nargs="+", help="run only these GEMM rows (2, 2-f16, 13-TN)")
    parser.add_argument("--shapes", nargs="+", default=[], help="GEMM shapes instead of the table's, MxNxK")
    parser.add_argument("--variant", nargs="+", action="append", default=[], metavar="WORD", help="NAME KEY=VALUE ...")
    parser.add_argument("--hand-gemm", type=pathlib.Path, help="folder with gemm_sm90.cu and gemm_sm90.h")
    parser.add_argument("--hand-attention", type=pathlib.Path, help="attn_sm90.cu")
    parser.add_argument("--flash-attention", type=pathlib.Path, help="folder of FlashAttention with its submodule: FA3, for attention")
    parser.add_argument("--flash-mla", type=pathlib.Path, help="folder of FlashMLA with its submodule, for latent attention")
    parser.add_argument("--extras", nargs="+", default=[], choices=["compile", "triton"],
                        help="peers that cost seconds each: torch.compile where it fuses something, Triton for GEMM and attention")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=280, help="for `run`: rows that would start later are left out")
    parser.add_argument("--jobs", type=int, default=2, help="compilers at a time")
    arguments = parser.parse_args()
    arguments.work = arguments.work.resolve()
    arguments.scratch = (arguments.scratch or arguments.work).resolve()
    status = build(arguments) if arguments.what != "run" else 0
    return run_all(arguments) or status if arguments.what != "build" else status


if __name__ == "__main__":
    sys.exit(main())
