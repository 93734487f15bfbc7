#!/usr/bin/env bash
# Tests and measures the CUDA backend on a machine with a GPU. That machine needs a driver, the CUDA libraries
# (cuBLAS) where the linker finds them, and a shell: no Qt, no compiler, no registry.
#   bash tests/gpu.sh --pack DIR     where it is built (a CUDA toolkit, what tests/run.sh installs): the programs, the
#                                    plugin, the examples, ONNX's test cases and the shared libraries that they need,
#                                    in DIR; CUDAARCHS=90 makes the plugin small, for GPUs of that architecture
#   bash DIR/gpu.sh [OUT.json]       on the machine with the GPU
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

pack() {
    local target=$1
    cd "$here/.."
    cmake -S . -B build-gpu -G Ninja --log-level=WARNING -DCMAKE_BUILD_TYPE=Release -DTWB_GUI=OFF \
        -DTWB_TESTS=ON -DTWB_BENCH=ON ${CUDAARCHS:+"-DCMAKE_CUDA_ARCHITECTURES=$CUDAARCHS"}
    cmake --build build-gpu --target twb bench_gpu conformance twb_cuda
    mkdir -p "$target"/{bin,lib,cases,bench,conformance,share/tensor-workbench}
    cp tests/bench/bench_networks.py "$target/bench"
    cp tests/conformance/networks.py "$target/conformance"
    cp build-gpu/bin/{twb,bench_gpu,conformance} "$target/bin"
    cp build-gpu/lib/libtwb_cuda.so "$target/lib"
    cp -r resources/devices resources/examples "$target/share/tensor-workbench"
    cp tests/gpu.sh tests/conformance/may_fail.txt "$target"
    strip "$target"/bin/* "$target/lib/libtwb_cuda.so"
    tar -cJf "$target/cases/onnx.tar.xz" -C /usr/share/libonnx-testdata data
    # All but the C library, which fits the kernel's machine, and CUDA's, which fit the driver's and are large.
    ldd "$target"/bin/* "$target"/lib/libtwb_cuda.so | awk '/=> \// { print $3 }' | sort -u |
        grep -vE '/(libc|libm|libdl|librt|libpthread|ld-linux[^/]*|libcu[a-zA-Z]*|libnv[a-zA-Z]*)\.so' |
        xargs cp -Lt "$target/lib"
    du -sh "$target"
}

if [[ "${1:-}" == --pack ]]; then
    pack "$(realpath -m "${2:?tests/gpu.sh --pack needs a folder}")"
    exit
fi
[[ -x "$here/bin/twb" ]] || {
    echo "gpu.sh: this is no packed folder; make one with: bash tests/gpu.sh --pack DIR" >&2
    exit 2
}

export LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
twb=$here/bin/twb
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0
check() { # NAME COMMAND…
    local name=$1
    shift
    if "$@" >"$work/said" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $name"
        sed 's/^/    /' "$work/said"
    fi
}
# The same graph on the GPU and on the cpu alone: every probe within 1e-4 of the other.
same_probes() { # FILE
    "$twb" run "$1" --policy implicit --require-gpu --quiet --report "$work/gpu.json" &&
        TWB_CUDA_PLUGIN=none "$twb" run "$1" --policy implicit --quiet --report "$work/cpu.json" &&
        awk -F'[:,]' '/"(value|mean)"/ { gsub(/[ "]/, "", $2); v[FILENAME, ++n[FILENAME]] = $2 }
            END { for (i = 1; i <= n[ARGV[1]]; ++i) { a = v[ARGV[1], i]; b = v[ARGV[2], i]; d = a - b
                    if (d < 0) d = -d; s = a < 0 ? -a : a
                    if (d > 1e-4 * (1 + s)) { print "gpu " a ", cpu " b; bad = 1 } } exit bad }' \
            "$work/gpu.json" "$work/cpu.json"
}

# What each transfer took, what the profile that the GPU's properties give said of it, and what the one that was
# measured here says: by edge, with the errors.
prediction_errors() { # REPORT-OF-THE-GPU REPORT-OF-THE-MEASURED-PROFILE
    awk 'function value(line) { sub(/^[^:]*: "?/, "", line); sub(/"?,?$/, "", line); return line }
        FNR == 1 { ++file; inside = 0 }
        /^  "/ { inside = /"transfers"/ }
        inside && /^      "label"/ { label = value($0); if (file == 1) order[++n] = label }
        inside && /^      "median_ms"/ { took[file, label] = value($0) }
        inside && /^      "predicted_ms"/ { said[file, label] = value($0) }
        function error(x, real) { return real > 0 ? sprintf("%+.0f %%", 100 * (x - real) / real) : "–" }
        END {
            printf "%-40s %12s %12s %8s %12s %8s\n", "edge", "took ms", "estimated", "", "calibrated", ""
            for (i = 1; i <= n; ++i) {
                l = order[i]; real = took[1, l]
                printf "%-40s %12.4f %12.4f %8s %12.4f %8s\n", l, real, said[1, l], error(said[1, l], real),
                    took[2, l], error(took[2, l], real)
            }
            exit n == 0
        }' "$1" "$2"
}
if [[ "${1:-}" == --predictions ]]; then # of two reports that are there
    prediction_errors "${2:?}" "${3:?}"
    exit
fi

"$twb" devices
"$twb" devices --json | grep -q '"present": true' || exit 5
for example in "$here"/share/tensor-workbench/examples/*.twb; do
    check "$(basename "$example")" same_probes "$example"
done
mkdir "$work/cases"
tar -xJf "$here/cases/onnx.tar.xz" -C "$work/cases"
check "ONNX's cases on the GPU" "$here/bin/conformance" "$work/cases" --kernels cuda --expect "$here/may_fail.txt"
tail -1 "$work/said"
check "repeated, with its times" "$twb" run "$here/share/tensor-workbench/examples/digits.twb" --require-gpu --iterations 1000
if command -v compute-sanitizer >/dev/null; then
    check "compute-sanitizer on the digits" compute-sanitizer --error-exitcode 1 \
        "$twb" run "$here/share/tensor-workbench/examples/digits.twb" --require-gpu --iterations 2 --quiet
else
    echo "skipped: no compute-sanitizer on this machine"
fi
digits=$here/share/tensor-workbench/examples/digits.twb
"$twb" calibrate --device cuda:0 -o "$work/measured.json" || failed=$((failed + 1))
check "each op by itself" "$twb" run "$digits" --require-gpu --no-fusion --iterations 100 --report "$work/gpu.json"
check "the measured profile, simulated" "$twb" run "$digits" --iterations 100 \
    --device-map "cuda:0=simulated:$work/measured.json" --report "$work/calibrated.json"
check "products rounded to TF32" "$twb" run "$digits" --require-gpu --allow-tf32
prediction_errors "$work/gpu.json" "$work/calibrated.json" || failed=$((failed + 1))
"$here/bin/bench_gpu" "${1:-$work/bench.json}"
if python3 -c 'import torch, torchvision; assert torch.cuda.is_available()' 2>/dev/null; then
    python3 "$here/bench/bench_networks.py" "$twb" --device cuda:0 || failed=$((failed + 1))
else
    echo "skipped: no PyTorch with a GPU on this machine to compare networks with"
fi
echo "$passed passed, $failed failed"
((failed == 0))
