#!/usr/bin/env python3
"""TileLang's own examples, as they stand: the code that tlc makes of a file against the code that TileLang makes of it, on one GPU, in one
process, with the same arguments and data.

    tilelang_peer.py emit    --examples CHECKOUT --work DIR     needs a Python with tilelang; neither nvcc nor a GPU
    tilelang_peer.py compile --work DIR                         needs nvcc
    tilelang_peer.py run     --work DIR [--json FILE]           needs a GPU and PyTorch

Which kernels with which arguments: tilelang_examples.json beside this file, or --list. Sizes are compile-time sizes; all parameters are
tensors. Both kernels start from the same contents, outputs from NaN, and what they leave is compared. Exit status 1 if results differ or
something could not be built."""
import argparse
import concurrent.futures
import ctypes
import importlib.util
import json
import math
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


# ---- Emitting and compiling


def theirs(examples, entry, folder):
    """Has TileLang translate one kernel for Hopper, in a process of its own: theirs.cu, and params.json with what its `call` takes and what
    nvcc is told."""
    import tilelang
    from tilelang.jit import JITImpl
    from tilelang.jit.adapter.libgen import LibraryGenerator
    from tilelang.jit.kernel import JITKernel

    class NotLoaded:  # there is no library yet
        def __getattr__(self, name):
            return lambda *arguments: 0

    LibraryGenerator.load_lib = lambda self, lib_path=None: NotLoaded()
    LibraryGenerator.compile_lib = lambda self, timeout=None: None
    tilelang.disable_cache()
    initialize = JITImpl.__init__

    def for_hopper(self, *arguments, **options):
        initialize(self, *arguments, **options)
        self.target, self.execution_backend = {"kind": "cuda", "arch": "sm_90a"}, "cython"

    JITImpl.__init__ = for_hopper
    path = examples / entry["path"]
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location("example", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["example"] = module
    try:
        spec.loader.exec_module(module)
    except RuntimeError:  # some files go on with a GPU, once they have defined their kernel
        if not hasattr(module, entry["function"]):
            raise
    kernel, left = getattr(module, entry["function"]), dict(entry["args"])
    dtypes = vars(tilelang.language)
    left = {k: dtypes.get(v, v) if isinstance(v, str) else v for k, v in left.items()}
    while not isinstance(kernel, JITKernel):  # factories may return factories
        kernel = getattr(kernel, "jit_impl", kernel)  # what an autotuner would try other arguments with
        if isinstance(kernel, JITImpl):
            eager = kernel.func.__code__.co_varnames[: kernel.func.__code__.co_argcount]
            kernel = kernel.compile(**left) if any(n not in left for n in eager) else kernel(**left)
        else:
            names = kernel.__code__.co_varnames[: kernel.__code__.co_argcount]
            kernel = kernel(**{n: left.pop(n) for n in names if n in left})
    adapter = kernel.adapter
    (folder / "theirs.cu").write_text(adapter.host_kernel_source)
    generator = adapter.lib_generator
    options = [word for flag in generator.compile_flags or [] for word in flag.split()]
    for key, value in (generator.pass_configs or {}).items():
        name = getattr(key, "value", key)
        options += ["--use_fast_math"] if name == "tl.enable_fast_math" and value else []
        options += [f"--ptxas-options=--register-usage-level={value}"] if name == "tl.ptxas_register_usage_level" and value is not None else []
    params = [{"dtype": str(p.dtype).removeprefix("torch."), "shape": [int(n) for n in p.shape]} for p in adapter.params]
    outputs = adapter.result_idx if isinstance(adapter.result_idx, list) else [adapter.result_idx]
    (folder / "params.json").write_text(json.dumps(
        {"params": params, "outputs": [n % len(params) for n in outputs if n is not None], "options": options}))


def literal(value):
    if isinstance(value, (list, tuple)):
        return "(" + ", ".join(literal(v) for v in value) + ",)"
    return str(value)


def tool(*command):
    """Standard output; what the tool says, if it fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{pathlib.Path(command[0]).name}: {(done.stderr or done.stdout).strip()[-600:]}")
    return done.stdout


def emit_one(arguments, entry):
    folder = arguments.work / entry["name"]
    folder.mkdir(parents=True, exist_ok=True)
    definitions = [word for k, v in entry["args"].items() for word in ("-D", f"{k}={literal(v)}")]
    tool(arguments.tlc, arguments.examples / entry["path"], "--kernel", entry["function"], *definitions, "--target=sm90", "--name=peer", "-o",
         folder / "ours.cu")
    if not (folder / "params.json").exists():
        tool(sys.executable, __file__, "theirs", "--examples", arguments.examples, "--work", folder, "--entry", json.dumps(entry))


def emit(arguments):
    import tilelang
    arguments.work.mkdir(parents=True, exist_ok=True)
    package = pathlib.Path(tilelang.__file__).parent
    for folder in (package / "src/tl_templates", package / "3rdparty/cutlass/include"):
        shutil.copytree(folder, arguments.work / "include" / (folder.name if folder.name != "include" else ""), dirs_exist_ok=True)
    entries = [e for e in json.loads(arguments.list.read_text()) if wanted(e, arguments)]
    (arguments.work / "entries.json").write_text(json.dumps(
        {"tilelang": tilelang.__version__, "flags": tool(arguments.tlc, "targets", "sm90", "--flags").split(), "entries": entries}))
    return each(entries, arguments.jobs, lambda entry: emit_one(arguments, entry))


def compile_one(arguments, flags, entry):
    folder = arguments.work / entry["name"]
    shared = ("-shared", "-Xcompiler", "-fPIC", "-lcuda")
    if not (folder / "params.json").exists() or not (folder / "ours.cu").exists():
        raise RuntimeError("not emitted")
    tool("nvcc", "-std=c++17", "-O3", *flags, *shared, folder / "ours.cu", "-o", folder / "ours.so")
    options = json.loads((folder / "params.json").read_text())["options"]
    tool("nvcc", "-std=c++20", "-w", *flags, *shared, *options, f"-I{arguments.work / 'include'}", folder / "theirs.cu", "-o", folder / "theirs.so")


def compile_all(arguments):
    plan = json.loads((arguments.work / "entries.json").read_text())
    entries = [e for e in plan["entries"] if wanted(e, arguments)]
    return each(entries, arguments.jobs, lambda entry: compile_one(arguments, plan["flags"], entry))


def wanted(entry, arguments):
    return not arguments.only or any(word in entry["name"] for word in arguments.only)


def each(entries, jobs, action):
    """Does it for all, several at a time; 1 if any failed."""
    def attempt(entry):
        try:
            action(entry)
        except RuntimeError as failure:
            return str(failure)
        return None

    bad = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for entry, failure in zip(entries, pool.map(attempt, entries)):
            print(f"FAILED {entry['name']}: {failure}" if failure else f"done {entry['name']}", flush=True)
            bad += failure is not None
    return 1 if bad else 0


# ---- Running


def contents(param, is_output):
    """Random contents; NaN, or the largest value of an integer, for outputs."""
    import torch
    dtype, shape = getattr(torch, param["dtype"]), param["shape"]
    if dtype.is_floating_point:
        value = torch.full(shape, math.nan, device="cuda") if is_output else torch.randn(shape, device="cuda")
        return value.to(dtype)
    if dtype == torch.bool:
        return torch.rand(shape, device="cuda") < 0.5
    least, most = (torch.iinfo(dtype).max - 1, torch.iinfo(dtype).max) if is_output else (0 if dtype == torch.uint8 else -8, 8)
    return torch.randint(least, most, shape, device="cuda", dtype=dtype)


def their_call(path):
    import torch
    library = ctypes.CDLL(str(path))
    library.get_last_error.restype = ctypes.c_char_p

    def checked(status):
        if status:
            raise RuntimeError(f"TileLang: {library.get_last_error().decode()}")

    checked(library.init())

    def call(*tensors):
        checked(library.call(*(ctypes.c_void_p(t.data_ptr()) for t in tensors), ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)))

    return call


def run_one(folder, timer):
    """(Our milliseconds, TileLang's, the largest relative distance between the tensors that the two leave)."""
    import torch
    from harness import distance, entry
    takes = json.loads((folder / "params.json").read_text())
    tensors = [contents(p, i in takes["outputs"]) for i, p in enumerate(takes["params"])]
    mine, other = [t.clone() for t in tensors], [t.clone() for t in tensors]
    our, their = entry(str(folder / "ours.so"), "peer"), their_call(folder / "theirs.so")
    our(*mine)
    their(*other)
    torch.cuda.synchronize()
    apart = 0.0
    for i, (a, b) in enumerate(zip(mine, other)):
        a, b = (t.double() for t in (a, b))
        untouched = a.isnan() & b.isnan()  # neither writes there
        nothing = i in takes["outputs"] and bool(untouched.all())  # what is compared must be a result
        a, b = (t.masked_fill(untouched, 0) for t in (a, b))
        error = math.nan if nothing else 0.0 if torch.equal(a, b) else distance(a, b)
        apart = error if not error <= apart else apart  # a NaN stays
    return *timer(lambda: our(*mine), lambda: their(*other)), apart


def worker(arguments):
    """Runs the kernels named by --only and prints one line of JSON each; a fault ends the process and its CUDA context."""
    from harness import Timer
    timer = Timer(arguments.rounds)
    for name in arguments.only:
        try:
            row = dict(zip(("ms", "peer_ms", "apart"), run_one(arguments.work / name, timer)))
        except (RuntimeError, OSError) as failure:
            row = {"error": str(failure)}
            if "CUDA error" in row["error"]:
                raise
        print(json.dumps(row), flush=True)
    return 0


def results(arguments, names):
    """One row for each name, from as few processes as there are faults."""
    while names:
        command = [sys.executable, __file__, "worker", "--work", arguments.work, "--rounds", arguments.rounds, "--only", *names]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        if len(rows) < len(names):
            rows.append({"error": done.stderr.strip()[-400:] or f"status {done.returncode}"})
        for row in rows:
            yield {"name": names.pop(0), **row}


def run(arguments):
    entries = {e["name"]: e for e in json.loads((arguments.work / "entries.json").read_text())["entries"]
               if wanted(e, arguments) and (arguments.work / e["name"] / "theirs.so").exists()}
    rows, bad = [], 0
    for row in results(arguments, list(entries)):
        if "error" in row:
            text, right = f"FAILED: {row['error'].splitlines()[-1]}", False
        else:
            row["ratio"] = row["peer_ms"] / row["ms"]
            right = row["apart"] < entries[row["name"]].get("tolerance", 1e-2)
            text = f"{row['ms']:9.4f} ms   {row['ratio']:.3f} x TileLang ({row['peer_ms']:.4f} ms)   apart {row['apart']:.1e}"
            text += "" if right else "   WRONG"
        bad += not right
        print(f"{row['name']:60} {text}", flush=True)
        rows.append(row)
    ratios = [row["ratio"] for row in rows if "ratio" in row]
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"geometric mean {mean:.3f} of {len(ratios)} kernels ({min(ratios):.3f} to {max(ratios):.3f}), {bad} bad")
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if bad or not ratios else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["emit", "compile", "run", "theirs", "worker"], help="the last two are steps of `emit` and of `run`")
    parser.add_argument("--examples", type=pathlib.Path, help="a checkout of TileLang")
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--list", type=pathlib.Path, default=HERE / "tilelang_examples.json")
    parser.add_argument("--only", nargs="+", help="kernels whose name contains one of these words")
    parser.add_argument("--tlc", type=pathlib.Path, default=HERE.parent.parent.parent / "build/bin/tlc")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--entry", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.what == "theirs":
        return theirs(arguments.examples, json.loads(arguments.entry), arguments.work)
    return {"emit": emit, "compile": compile_all, "run": run, "worker": worker}[arguments.what](arguments)


if __name__ == "__main__":
    sys.exit(main())
