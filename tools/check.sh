#!/usr/bin/env bash
# Everything that must hold before a change is handed in: format, layers, and all that CI runs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tools/install_dependencies.sh
tools/format.sh --check
python3 tools/check_layers.py
exec tools/test.sh "$@"
