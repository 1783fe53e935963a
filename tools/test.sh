#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test. This is what CI runs.
#   tools/test.sh [ctest arguments]     e.g. tools/test.sh -R lit_
# TLC_BUILD_DIR   where to build (default: build)
# TLC_TEST_FULL=1 the whole architecture matrix and the long fuzz runs
# TLC_JOBS        parallel jobs (default: 2 for tests, all cores for the build)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=${TLC_BUILD_DIR:-build}
[[ "$build" == /* ]] || build="$PWD/$build"
export TLC_TEST_FULL=${TLC_TEST_FULL:-0}

tools/install_dependencies.sh
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTLC_BUILD_TESTS=ON
cmake --build "$build" -j "${TLC_JOBS:-$(nproc)}"

junit="$build/Testing/tests.xml"
status=0
ctest --test-dir "$build" -j "${TLC_JOBS:-2}" --output-on-failure --test-output-size-passed 200000 --no-tests=error --output-junit "$junit" "$@" || status=$?
python3 tools/summarize_tests.py "$junit" || status=1
exit "$status"
