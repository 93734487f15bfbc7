#!/usr/bin/env bash
# Builds Tensor Workbench with its tests and runs them all. Installs missing packages first. Arguments go to ctest:
#   bash tests/run.sh [-R formats]
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
bash resources/install-dependencies.sh --tests
cmake --preset dev --log-level=WARNING
cmake --build build-dev --parallel "$(nproc)"

# Qt needs a private folder for its sockets, which does not exist without a login session.
if [[ ! -d "${XDG_RUNTIME_DIR:-}" || ! -O "$XDG_RUNTIME_DIR" ]]; then
    XDG_RUNTIME_DIR=$(mktemp -d)
    export XDG_RUNTIME_DIR
    trap 'rm -rf "$XDG_RUNTIME_DIR"' EXIT
fi

log=build-dev/ctest.log
status=0
ctest --test-dir build-dev --parallel 2 --output-on-failure --no-tests=error "$@" | tee "$log" || status=$?
# "97% tests passed, 2 tests failed out of 60"
read -r failed total < <(sed -n 's/.*tests passed, \([0-9]*\) tests\{0,1\} failed out of \([0-9]*\).*/\1 \2/p' "$log") || {
    echo "0 passed, 0 failed: no test was run"
    exit 1
}
skipped=$(grep -c '\*\*\*Skipped' "$log" || true)
echo "$((total - failed - skipped)) passed, $failed failed, $skipped skipped"
exit "$status"
