#!/usr/bin/env python3
"""Builds the samples for a GPU, checks them there and times them against cuBLAS, PyTorch's attention and a device copy.

    tools/bench/gpu/bench.py --tlc build/bin/tlc --targets sm80 sm90 --work bench-out --json results.json

Needs nvcc and an NVIDIA GPU; attention and the memory-bound kernels need PyTorch too. Prints a table of ratios (above 1: faster
than the peer); exit status 1 if a kernel could not be built, refused to run or was wrong."""
import argparse
import datetime
import json
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SAMPLES = HERE.parent.parent.parent / "samples"

# Tile sizes worth timing on each machine: (threads, block_M, block_N, block_K, stages).
GEMM = {
    "sm80": [(128, 128, 128, 32, 4), (256, 128, 256, 32, 4)],
    "sm90": [(128, 128, 128, 32, 4), (256, 128, 256, 32, 4)],
}
ATTENTION = {"sm80": "block_M=128, block_N=64, num_stages=2, threads=128", "sm90": "block_M=128, block_N=64, num_stages=2, threads=128"}


class Failed(Exception):
    pass


def run(command):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise Failed(f"{' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


def tlc(arguments, target, sample, output, instantiation, kernel):
    command = [arguments.tlc, SAMPLES / sample / "kernel.tl", f"--target={target}", "-o", output]
    if instantiation:
        command += ["--instantiate", instantiation]
    run(command + ["--kernel", kernel])


def nvcc(arguments, target, sources, output, *flags):
    gencode = run([arguments.tlc, "targets", target, "--flags"]).split()
    run([arguments.nvcc, "-std=c++17", "-O3", "-lineinfo", *gencode, *flags, *sources, "-o", output])


def gemm_rows(arguments, target, config):
    threads, m, n, k, stages = config
    folder = arguments.work / f"gemm-{target}-{m}x{n}x{k}-s{stages}-t{threads}"
    folder.mkdir(parents=True, exist_ok=True)
    tlc(arguments, target, "gemm", folder / "bench_gemm.cu",
        f"bench_gemm = matmul(M, N, K, block_M={m}, block_N={n}, block_K={k}, num_stages={stages}, threads={threads})", "bench_gemm")
    nvcc(arguments, target, [HERE / "gemm_bench.cu", folder / "bench_gemm.cu"], folder / "bench", f"-I{folder}", "-lcublas")
    for line in run([folder / "bench", *arguments.shapes]).splitlines():
        yield {"target": target, "config": folder.name.split("-", 2)[2], **json.loads(line)}


def torch_rows(arguments, target):
    folder = arguments.work / f"torch-{target}"
    folder.mkdir(parents=True, exist_ok=True)
    jobs = {name: (name, None) for name in ("vector_add", "rmsnorm", "softmax")}
    for name, causal in (("attention_causal", True), ("attention_full", False)):
        jobs[name] = ("flash_attention",
                      f"bench_{name} = attention(batch, seq_len, heads=16, groups=4, dim=128, is_causal={causal}, {ATTENTION[target]})")
    libraries = []
    for name, (sample, instantiation) in jobs.items():
        if arguments.only and not any(word in name for word in arguments.only):
            continue
        try:
            # An instantiation needs a name that the sample itself does not have.
            kernel = f"bench_{name}" if instantiation else name
            tlc(arguments, target, sample, folder / f"{name}.cu", instantiation, kernel)
            nvcc(arguments, target, [folder / f"{name}.cu"], folder / f"{name}.so", "-shared", "-Xcompiler", "-fPIC")
            libraries.append(f"lib={name}={folder / f'{name}.so'}={kernel}")
        except Failed as failure:
            yield {"target": target, "kernel": name, "error": str(failure)}
    if libraries:
        for line in run([sys.executable, HERE / "torch_bench.py", *libraries]).splitlines():
            if line.startswith("{"):
                yield {"target": target, **json.loads(line)}


def show(row):
    if "error" in row:
        text = f"FAILED: {row['error'].strip().splitlines()[-1]}"
    elif "check" in row:
        text = f"{'right' if row['right'] else 'WRONG'} against {row['check']}" + (f" ({row['worst']:.1e})" if "worst" in row else "")
    else:
        rate = f"{row['tflops']:7.1f} TFLOP/s" if "tflops" in row else f"{row['gbs']:7.1f} GB/s"
        text = f"{row['ms']:9.4f} ms {rate}"
        if "peer" in row:
            text += f"   {row['ratio']:.3f} x {row['peer']} ({row['peer_ms']:.4f} ms)"
        if row.get("right") is False:
            text += "   WRONG"
    print(f"{row['target']:6} {row['kernel']:18} {row.get('config', ''):22} {row.get('shape', ''):24} {text}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tlc", type=pathlib.Path, default=HERE.parent.parent.parent / "build/bin/tlc")
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--targets", nargs="+", default=["sm80", "sm90"], choices=sorted(GEMM))
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("gpu-bench"))
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--only", nargs="+", help="only kernels whose name contains one of these words")
    parser.add_argument("--shapes", nargs="+", default=[], help="GEMM shapes, MxNxK")
    arguments = parser.parse_args()
    arguments.tlc = arguments.tlc.resolve()
    arguments.work = arguments.work.resolve()

    rows = []
    def add(generator, what):
        try:
            for row in generator:
                rows.append(row)
                show(row)
        except Failed as failure:
            rows.append({**what, "error": str(failure)})
            print(failure, file=sys.stderr)
            show(rows[-1])

    for target in arguments.targets:
        if not arguments.only or any(word in "gemm" for word in arguments.only):
            for config in GEMM[target]:
                add(gemm_rows(arguments, target, config), {"target": target, "kernel": "gemm", "config": str(config)})
        if subprocess.run([sys.executable, "-c", "import torch"], capture_output=True).returncode == 0:
            add(torch_rows(arguments, target), {"target": target, "kernel": "torch_bench"})
        else:
            print("PyTorch is missing: attention and memory-bound kernels are skipped")
    if arguments.json:
        device = run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]).strip() if shutil.which("nvidia-smi") else ""
        arguments.json.write_text(json.dumps({"date": datetime.date.today().isoformat(), "device": device, "rows": rows}, indent=1) + "\n")
    bad = [row for row in rows if "error" in row or row.get("right") is False]
    print(f"{len(rows)} rows, {len(bad)} bad")
    return 1 if bad or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
