#!/usr/bin/env bash
# From a fresh clone to a compiled and executed kernel: installs what is missing, builds tlc, compiles samples/gemm for
# the CPU, runs it against its reference, and compiles it for sm80 too.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=${TLC_BUILD_DIR:-build}
[[ "$build" == /* ]] || build="$PWD/$build"

tools/install_dependencies.sh
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTLC_BUILD_TESTS=OFF
cmake --build "$build" -j "$(nproc)"
"$build/bin/tlc" --version

samples="$build/samples"
cmake -S samples -B "$samples" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTLC_SAMPLE_TARGET=cpu -DTLC_EXECUTABLE="$build/bin/tlc"
cmake --build "$samples" --target sample_gemm -j "$(nproc)"
"$samples/gemm/sample_gemm"
"$build/bin/tlc" samples/gemm/kernel.tl --target=sm80 -o "$samples/gemm.cu"
echo
echo "The same kernel as CUDA C++:   $samples/gemm.cu"
echo "and the header to call it by:  $samples/gemm.h"
echo "It is compiled with:           nvcc -std=c++17 $("$build/bin/tlc" targets sm80 --flags | tr '\n' ' ')-c $samples/gemm.cu"
