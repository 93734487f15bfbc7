#!/usr/bin/env bash
# Runs the suite under the system's torch and under versions of the Python registry, each in a virtual environment
# that is kept for the next time. Downloads several GB a version. By hand:
#   bash app/python/tests/all_versions.sh [VERSION…]      (default: system 2.6.0 2.9.0 newest)
#   FOLDER=/somewhere bash …      where the environments lie (default: ~/.cache/tensor-workbench/torch)
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${FOLDER:-${XDG_CACHE_HOME:-$HOME/.cache}/tensor-workbench/torch}
versions=("$@")
((${#versions[@]})) || versions=(system 2.6.0 2.9.0 newest)

failed=()
for version in "${versions[@]}"; do
    python=/usr/bin/python3
    if [[ "$version" != system ]]; then
        python=$folder/$version/bin/python
        wanted=torch
        [[ "$version" == newest ]] || wanted=torch==$version
        if ! "$python" -c 'import torch, pytest' 2>/dev/null; then
            mkdir -p "$folder" && python3 -m venv "$folder/$version" &&
                "$python" -m pip install --quiet "$wanted" numpy pytest jsonschema || { failed+=("$version (install)"); continue; }
        fi
    fi
    echo "== torch $version"
    OMP_NUM_THREADS=1 "$python" -m pytest -q -p no:cacheprovider -W ignore "$here" || failed+=("$version")
done
((${#failed[@]} == 0)) && echo "All versions passed: ${versions[*]}" || { echo "Failed: ${failed[*]}"; exit 1; }
