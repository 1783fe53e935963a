#!/usr/bin/env bash
# From a fresh clone to a compiled and executed kernel: installs what is missing, builds tlc, compiles samples/gemm for
# the CPU and runs it against its reference.
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
echo
echo "Next: $build/bin/tlc samples/gemm/kernel.tl --target=sm90 -o gemm.cu"
