#!/usr/bin/env bash
# Builds Tensor Workbench and opens FILE.twb in it, by default the digits example:
#   bash app/run.sh [FILE.twb]
# Installs missing packages first. Without a display it runs the same graph headless and prints the table of steps and
# transfers.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
case "${1:-}" in
-h | --help) sed -n '2,5s/^# //p' "${BASH_SOURCE[0]}"; exit 0 ;;
esac
if (($# > 1)); then
    echo "run.sh: expected one file, got $#: bash app/run.sh [FILE.twb]" >&2
    exit 2
fi
file=${1:-$root/resources/examples/digits.twb}
if [[ ! -e "$file" ]]; then
    echo "run.sh: there is no file $file." >&2
    exit 4
fi
if [[ ! -f "$file" || ! -r "$file" ]]; then
    echo "run.sh: $file cannot be read; pass a project (.twb)." >&2
    exit 4
fi
file=$(realpath "$file")

bash "$root/resources/install-dependencies.sh"
cd "$root"
cmake --preset release --log-level=WARNING
cmake --build build --parallel "$(nproc)"

if [[ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]]; then
    exec build/bin/tensor-workbench "$file"
fi
echo "No display: running $file headless."
exec build/bin/twb run "$file"
