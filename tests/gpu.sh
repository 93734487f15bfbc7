#!/usr/bin/env bash
# Tests and measures the CUDA backend on a machine with a GPU. That machine needs a driver, CUDA's libraries of the same
# major version as the toolkit here (cuBLAS; optionally cuDNN and NVRTC), a C library no older than the one here, and a
# shell; no Qt, no compiler and no network.
#   bash tests/gpu.sh --pack DIR     on the build machine (with a CUDA toolkit and the packages of tests/run.sh): packs
#                                    the programs, the plugin, the examples, ONNX's test cases and the shared libraries
#                                    that they need into DIR and, for slow connections, into DIR.tar.xz; CUDAARCHS=90
#                                    builds the plugin for GPUs of that architecture only, which makes it small
#   bash DIR/gpu.sh [OUT [PART…]]    on the machine with the GPU; results go to the folder OUT, by default
#                                    ./gpu-results. Parts: tests, errors, training, sanitizer, calibration, bench,
#                                    networks, ranks; by default all, in this order. Exits with 0 if all checks pass, with 5 if
#                                    there is no GPU
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

pack() {
    local target=$1
    cd "$here/.."
    cmake -S . -B build-gpu -G Ninja --log-level=WARNING -DCMAKE_BUILD_TYPE=Release -DTWB_GUI=OFF \
        -DTWB_TESTS=ON -DTWB_BENCH=ON -DTWB_CUDA=ON ${CUDAARCHS:+"-DCMAKE_CUDA_ARCHITECTURES=$CUDAARCHS"}
    cmake --build build-gpu --target twb bench_gpu conformance twb_cuda twb_mpi_mpich
    mkdir -p "$target"/{bin,lib,plugins,cases,tests/{bench,conformance,training},resources/examples,share/tensor-workbench}
    [[ -d build-gpu/softclip ]] || build-gpu/bin/twb new-op Softclip --cuda -o build-gpu/softclip
    cmake -S build-gpu/softclip -B build-gpu/softclip/build -G Ninja ${CUDAARCHS:+"-DCMAKE_CUDA_ARCHITECTURES=$CUDAARCHS"}
    cmake --build build-gpu/softclip/build
    cp build-gpu/softclip/build/*.so "$target/plugins"
    cp tests/bench/bench_{networks,training}.py "$target/tests/bench"
    cp tests/conformance/networks.py "$target/tests/conformance"
    cp tests/training/compare_devices.py "$target/tests/training"
    cp -r resources/examples/digits "$target/resources/examples"
    cp build-gpu/bin/{twb,bench_gpu,conformance} "$target/bin"
    cp build-gpu/lib/libtwb_{cuda,mpi_mpich}.so "$target/lib"
    cp "$(readlink -f "$(command -v mpiexec.mpich)")" "$target/bin/mpiexec"
    cp "$(command -v hydra_pmi_proxy)" "$target/bin"
    cp -r resources/devices resources/examples "$target/share/tensor-workbench"
    cp tests/gpu.sh tests/gpu/*.twb tests/conformance/may_fail.txt "$target"
    tar -cJf "$target/cases/onnx.tar.xz" -C /usr/share/libonnx-testdata data
    # All libraries except the C library, which belongs to the machine, and CUDA's, which belong to its driver and are large.
    ldd "$target"/bin/* "$target"/lib/* | awk '/=> \// { print $3 }' | sort -u |
        grep -vE '/(libc|libm|libdl|librt|libpthread|ld-linux[^/]*|libcu[a-zA-Z]*|libnv[a-zA-Z]*)\.so' |
        xargs cp -Lt "$target/lib"
    strip "$target"/bin/* "$target"/lib/* "$target"/plugins/*
    # The programs have much code in common, which xz finds within 64 MiB.
    XZ_OPT=-9 tar -cJf "$target.tar.xz" -C "$(dirname "$target")" "$(basename "$target")"
    du -sh "$target" "$target.tar.xz"
}

# The measured time of each repeated transfer and its predictions, by edge, with their errors: first from the GPU's own
# report, which has the estimate from the GPU's properties, then from runs with simulations of other profiles.
prediction_errors() { # NAME=REPORT…
    awk 'function value(line) { sub(/^[^:]*: "?/, "", line); sub(/"?,?$/, "", line); return line }
        function median(file,    i, j, t, m) {
            m = known[file]
            for (i = 2; i <= m; ++i)
                for (j = i; j > 1 && errors[file, j] < errors[file, j - 1]; --j) {
                    t = errors[file, j]; errors[file, j] = errors[file, j - 1]; errors[file, j - 1] = t
                }
            return m % 2 ? errors[file, (m + 1) / 2] : (errors[file, m / 2] + errors[file, m / 2 + 1]) / 2
        }
        BEGIN { for (i = 1; i < ARGC; ++i) { split(ARGV[i], part, "="); name[i] = part[1]
                ARGV[i] = substr(ARGV[i], length(part[1]) + 2) } }
        FNR == 1 { ++file; inside = 0 }
        /^  "/ { inside = /"transfers"/ }
        inside && /^      "label"/ { label = value($0) }
        inside && /^      "setup"/ { repeats = value($0) == "false"; if (repeats && file == 1) order[++n] = label }
        inside && repeats && /^      "median_ms"/ { took[file, label] = value($0) }
        inside && repeats && /^      "predicted_ms"/ { said[file, label] = value($0) }
        END {
            printf "%-34s %10s", "edge", "took ms"
            for (f = 1; f <= file; ++f) printf " %13s %8s", name[f], "error"
            print ""
            for (i = 1; i <= n; ++i) {
                l = order[i]; real = took[1, l]
                printf "%-34s %10.4f", l, real
                for (f = 1; f <= file; ++f) {
                    error = real > 0 ? 100 * (said[f, l] - real) / real : 0
                    printf " %13.4f %+6.0f %%", said[f, l], error
                    errors[f, ++known[f]] = error < 0 ? -error : error
                }
                print ""
            }
            printf "%-34s %10s", "median of the errors", ""
            for (f = 1; f <= file; ++f) printf " %13s %6.0f %%", "", n ? median(f) : 0
            print ""
            exit n == 0
        }' "$@"
}
if [[ "${1:-}" == --predictions ]]; then # of existing reports, as NAME=REPORT
    prediction_errors "${@:2}"
    exit
fi
if [[ "${1:-}" == --pack ]]; then
    pack "$(realpath -m "${2:?tests/gpu.sh --pack needs a folder}")"
    exit
fi

[[ -x "$here/bin/twb" ]] || {
    echo "gpu.sh: not a packed folder; create one with: bash tests/gpu.sh --pack DIR" >&2
    exit 2
}
out=$(realpath -m "${1:-gpu-results}")
shift || true
parts=" ${*:-tests errors training sanitizer calibration bench networks ranks} "
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# CUDA's libraries may be outside the linker's search path, in a toolkit or in Python's packages. Only the packed programs
# are started with the packed libraries, since other programs need their own.
libraries=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
wanted=$(LD_LIBRARY_PATH=$libraries LC_ALL=C ldd "$here/lib/libtwb_cuda.so" | awk '/not found/ { print $1 }' || true)
mapfile -t packages < <(python3 -c 'import nvidia; print(*nvidia.__path__, sep="\n")' 2>/dev/null || true)
toolkit=$(grep -aoE 'libnvrtc\.so\.[0-9]+' "$here/lib/libtwb_cuda.so" | sort -u || true)
has_nccl=
for library in $wanted $toolkit libcudnn.so.9 libnccl.so.2; do
    if [[ "$wanted" != *"$library"* ]] && ldconfig -p 2>/dev/null | grep -qF "$library "; then
        [[ $library != libnccl.* ]] || has_nccl=yes
        continue
    fi
    folder=$(find /usr/local /opt /usr/lib "${packages[@]}" -name "$library" -printf '%h\n' -quit 2>/dev/null || true)
    [[ -z "$folder" ]] || libraries=$libraries:$folder
    [[ -z "$folder" || $library != libnccl.* ]] || has_nccl=yes
done
for program in twb bench_gpu conformance mpiexec; do
    printf '#!/bin/sh\nLD_LIBRARY_PATH=%q exec %q "$@"\n' "$libraries" "$here/bin/$program" >"$work/$program"
    chmod +x "$work/$program"
done

twb=$work/twb
examples=$here/share/tensor-workbench/examples
digits=$examples/digits.twb
passed=0
failed=0
declare -a results=()
run_to() { # FOLDER SECONDS COMMAND…
    local folder=$1 seconds=$2 status=0 start=$SECONDS
    shift 2
    mkdir -p "$folder"
    if [[ $(type -t "$1") == function ]]; then
        "$@" >"$folder/said" 2>&1 || status=$?
    else
        timeout "$seconds" "$@" >"$folder/said" 2>&1 || status=$?
    fi
    echo "$status $((SECONDS - start))" >"$folder/end"
}
count() { # NAME FOLDER: counts a command of run_to as a check; what it said is then in $work/said
    local name=$1 state=passed status seconds
    read -r status seconds <"$2/end"
    cp "$2/said" "$work/said"
    ((status == 0)) || state=failed
    { echo "== $state: $name"; cat "$work/said"; } >>"$out/log.txt"
    results+=("{\"check\": \"$name\", \"state\": \"$state\", \"seconds\": $seconds}")
    if [[ $state == passed ]]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED ($status, $seconds s): $name"
        tail -40 "$work/said" | sed 's/^/    /'
    fi
}
check() { # NAME SECONDS COMMAND…
    local name=$1
    shift
    run_to "$work/check" "$@"
    count "$name" "$work/check"
}
# Checks that run beside each other, on as many cores as there are. Times are measured by `check` alone.
declare -a started=()
start_check() { # NAME SECONDS COMMAND…
    local name=$1
    shift
    while (($(jobs -rp | wc -l) >= $(nproc))); do wait -n || true; done
    run_to "$work/check${#started[@]}" "$@" &
    started+=("$name")
}
end_checks() {
    local i
    wait
    for i in "${!started[@]}"; do count "${started[i]}" "$work/check$i"; done
    started=()
}
skip() { # WHAT WHY
    echo "skipped: $1: $2"
    results+=("{\"check\": \"$1\", \"state\": \"skipped: $2\"}")
}
wants() { [[ "$parts" == *" $1 "* ]]; }

# Whether every probe differs by at most 1e-4 between two reports; by 1e-3 if its name says that it is of bf16, which a
# fused step rounds once and single steps round several times.
probes_agree() { # REPORT REPORT
    awk -F'[:,]' '/"name"/ { tolerance = /bf16/ ? 1e-3 : 1e-4 }
        /"(value|mean|nan)"/ { gsub(/[ "]/, "", $2); v[FILENAME, ++n[FILENAME]] = $2; most[n[FILENAME]] = tolerance }
        END { if (n[ARGV[1]] == 0 || n[ARGV[1]] != n[ARGV[2]]) { print "the reports have no probes in common"; exit 1 }
            for (i = 1; i <= n[ARGV[1]]; ++i) { a = v[ARGV[1], i]; b = v[ARGV[2], i]; if (a == b) continue
                d = a - b; if (d < 0) d = -d; s = a < 0 ? -a : a
                if (!(d <= most[i] * (1 + s))) { print "probe figure " i ": " a " and " b; bad = 1 } } exit bad }' "$1" "$2"
}
# Runs a graph on the GPU with fused ops and CUDA graphs, on the GPU with single ops, and on the cpu alone; each time on
# the ranks that a launcher starts, if there is one.
same_probes() { # FILE [LAUNCHER…]
    local run=(timeout 120 "${@:2}" "$twb" run "$1" --policy implicit --iterations 8 --quiet) to
    to=$(mktemp -d -p "$work")
    "${run[@]}" --require-gpu --report "$to/gpu.json" && ! grep -q '"refused": [1-9]' "$to/gpu.json" &&
        "${run[@]}" --require-gpu --no-fusion --no-cuda-graphs --report "$to/single.json" &&
        TWB_CUDA_PLUGIN=none "${run[@]}" --report "$to/cpu.json" &&
        probes_agree "$to/gpu.json" "$to/cpu.json" && probes_agree "$to/single.json" "$to/cpu.json"
}

# Whether a command ends with this code and says this.
ends() { # CODE TEXT COMMAND…
    local status=0 code=$1 text=$2
    shift 2
    timeout 60 "$@" >"$work/ended" 2>&1 || status=$?
    cat "$work/ended"
    if [[ $status != "$code" ]] || { [[ -n $text ]] && ! grep -qF "$text" "$work/ended"; }; then
        echo "ended with $status, not with $code and \"$text\""
        return 1
    fi
}

: >"$out/log.txt"
"$twb" devices | tee -a "$out/log.txt"
"$twb" devices --json >"$out/devices.json"
grep -q '"present": true' "$out/devices.json" || exit 5

if wants tests; then
    export TWB_OPS=$here/plugins # for plugin.twb
    for graph in "$examples"/*.twb "$here"/*.twb; do
        [[ $graph != */@(ranks|divided).twb ]] || continue # see the part "ranks"
        if ! grep -q '"op": "Probe"' "$graph" || grep -q '"op": "Opaque"' "$graph"; then continue; fi
        start_check "the cpu's numbers: $(basename "$graph")" 400 same_probes "$graph"
    done
    mkdir "$work/cases"
    if tar -xJf "$here/cases/onnx.tar.xz" -C "$work/cases" 2>/dev/null ||
        python3 -m tarfile -e "$here/cases/onnx.tar.xz" "$work/cases" 2>/dev/null; then
        start_check "ONNX's cases" 300 "$work/conformance" "$work/cases" --kernels cuda --expect "$here/may_fail.txt"
    else
        skip "ONNX's cases" "neither xz nor Python on this machine to unpack them"
    fi
    end_checks
    unset TWB_OPS
    tail -1 "$work/said"
    check "1000 iterations" 60 "$twb" run "$digits" --require-gpu --iterations 1000 --report "$out/digits.json"
    check "products rounded to TF32" 60 "$twb" run "$digits" --require-gpu --allow-tf32
fi
if wants errors; then
    # A 1 × 1 project: NAME, the attributes of its source on cuda:0, and an op that reads it twice.
    project() {
        cat >"$work/$1.twb" <<END
{"format": "tensor-workbench", "version": 1,
 "lanes": [{"id": 1, "device": "cuda:0"}],
 "nodes": [
  {"id": 1, "op": "Full", "name": "x", "lane": 1, "attributes": $2},
  {"id": 2, "op": "$3", "name": "$3 of x", "lane": 1},
  {"id": 3, "op": "Probe", "name": "y", "lane": 1}
 ],
 "edges": [{"from": [1, 0], "to": [2, 0]}, {"from": [1, 0], "to": [2, 1]}, {"from": [2, 0], "to": [3, 0]}]}
END
    }
    # Divides by 9, 8, …: the division by zero comes when the kernels are a CUDA graph.
    cat >"$work/late.twb" <<END
{"format": "tensor-workbench", "version": 1,
 "lanes": [{"id": 1, "device": "cuda:0"}],
 "nodes": [
  {"id": 1, "op": "Full", "name": "n", "lane": 1, "attributes": {"shape": [1000], "value": 9.0, "dtype": "i64"}},
  {"id": 2, "op": "Constant", "name": "one", "lane": 1, "attributes": {"value": 1.0, "dtype": "i64"}},
  {"id": 3, "op": "Sub", "name": "next", "lane": 1},
  {"id": 4, "op": "Assign", "name": "keep", "lane": 1},
  {"id": 5, "op": "Div", "name": "quotient", "lane": 1},
  {"id": 6, "op": "Neg", "name": "minus", "lane": 1},
  {"id": 7, "op": "Probe", "name": "y", "lane": 1}
 ],
 "edges": [{"from": [1, 0], "to": [3, 0]}, {"from": [2, 0], "to": [3, 1]}, {"from": [1, 0], "to": [4, 0]},
  {"from": [3, 0], "to": [4, 1]}, {"from": [2, 0], "to": [5, 0]}, {"from": [1, 0], "to": [5, 1]},
  {"from": [5, 0], "to": [6, 0]}, {"from": [6, 0], "to": [7, 0]}]}
END
    project huge '{"shape": [100000, 1000000], "value": 1.0}' Add
    gpu_bytes=$(sed -n 's/.*"memory_bytes": \([0-9]*\).*/\1/p' "$out/devices.json" | sed -n 2p)
    project large "{\"shape\": [$((gpu_bytes * 3 / 20))], \"value\": 1.0}" Add # each tensor 60 % of it
    project zero '{"shape": [1000], "value": 0.0, "dtype": "i64"}' Div
    project long '{"shape": [1000000], "value": 1.0}' Add
    check "a tensor larger than the GPU's memory" 60 ends 3 "error[too-large]" "$twb" run "$work/huge.twb" --require-gpu
    check "two tensors larger than the GPU's memory" 60 ends 1 "memory" "$twb" run "$work/large.twb" --require-gpu
    check "a division by zero, in a kernel" 60 ends 1 'Div "Div of x": ZeroDivisionError' "$twb" run "$work/zero.twb" \
        --require-gpu --iterations 50
    check "a division by zero, in a CUDA graph" 60 ends 1 'Div "quotient": ZeroDivisionError' "$twb" run \
        "$work/late.twb" --require-gpu --iterations 50
    long=("$twb" run "$work/long.twb" --require-gpu --iterations 100000000)
    check "SIGINT in a run" 60 ends 130 "" timeout --preserve-status -s INT 3 "${long[@]}"
    check "SIGKILL in a run" 60 ends 137 "" timeout -s KILL 3 "${long[@]}"
    check "a run after these" 60 "$twb" run "$digits" --require-gpu --iterations 10 --quiet
    check "no GPU that CUDA may use" 60 ends 5 "cuda:0" env CUDA_VISIBLE_DEVICES= "$twb" run "$digits" --require-gpu
fi
if wants training; then
    if python3 -c 'import torch, numpy; assert torch.cuda.is_available()' 2>/dev/null; then
        check "parameters after 50 steps against the cpu" 300 python3 "$here/tests/training/compare_devices.py" "$twb" \
            --require-gpu
        cp "$work/said" "$out/training.txt"
        check "steps per second against PyTorch" 300 python3 "$here/tests/bench/bench_training.py" "$twb" --device cuda:0 \
            --rounds 2
        tee -a "$out/training.txt" <"$work/said"
    else
        skip "training" "no PyTorch with a GPU on this machine"
    fi
fi
if wants sanitizer; then
    program=$(command -v compute-sanitizer ||
        find /usr/local /opt "${packages[@]}" -name compute-sanitizer -type f -perm -u+x -print -quit 2>/dev/null || true)
    if [[ -n "$program" ]]; then
        sanitizer=("$program" --error-exitcode 1)
        start_check "compute-sanitizer: the digits" 180 "${sanitizer[@]}" "$twb" run "$digits" --require-gpu --iterations 2 --quiet
        for graph in large_sizes kernels; do
            start_check "compute-sanitizer: $graph" 240 "${sanitizer[@]}" "$twb" run "$here/$graph.twb" --policy implicit \
                --require-gpu --quiet
            start_check "compute-sanitizer, races: $graph" 240 "${sanitizer[@]}" --tool racecheck "$twb" run \
                "$here/$graph.twb" --policy implicit --require-gpu --quiet
        done
        end_checks
    else
        skip "compute-sanitizer" "not on this machine"
    fi
fi
if wants calibration; then
    check "calibration" 240 "$twb" calibrate --device cuda:0 -o "$out/profile.json"
    check "copies that repeat" 60 "$twb" run "$here/transfers.twb" --require-gpu --iterations 100 --report "$work/gpu.json"
    check "the measured profile, simulated" 60 "$twb" run "$here/transfers.twb" --iterations 5 \
        --device-map "cuda:0=simulated:$out/profile.json" --report "$work/calibrated.json"
    reports=("estimated=$work/gpu.json" "calibrated=$work/calibrated.json")
    model=$(sed -n 's/.*"name": "\(NVIDIA[^"]*\)".*/\1/p' "$out/devices.json" | head -1 | tr '[:upper:]-' '[:lower:] ')
    for profile in "$here"/share/tensor-workbench/devices/*.json; do # the profile that comes with the program
        id=$(basename "$profile" .json)
        [[ " $model " == *" $id "* || "${model// /}" == *"geforce$id" ]] || continue
        check "the profile of $id, simulated" 60 "$twb" run "$here/transfers.twb" --iterations 5 \
            --device-map "cuda:0=simulated:$id" --report "$work/$id.json"
        reports+=("$id=$work/$id.json")
    done
    check "predicted and measured, edge by edge" 10 prediction_errors "${reports[@]}"
    cat "$work/said"
    cp "$work/said" "$out/predictions.txt"
fi
if wants bench; then
    check "bench_gpu" 400 "$work/bench_gpu" "$out/bench.json"
    cat "$work/said"
fi
if wants networks; then
    if python3 -c 'import torch, torchvision; assert torch.cuda.is_available()' 2>/dev/null; then
        check "networks against PyTorch" 500 python3 "$here/tests/bench/bench_networks.py" "$twb" --device cuda:0 --rounds 2 \
            --seconds 1
        cp "$work/said" "$out/networks.txt"
        cat "$work/said"
    else
        skip "networks against PyTorch" "no PyTorch with a GPU on this machine"
    fi
fi
if wants ranks; then
    if [[ -n "$has_nccl" ]]; then
        # A rank of its own: more ranks need more GPUs.
        check "NCCL: the cpu's numbers of calls over one rank" 120 same_probes "$here/ranks.twb"
        check "NCCL: 2000 iterations" 120 "$twb" run "$here/ranks.twb" --require-gpu --iterations 2000 --report "$out/ranks.json"
    else
        skip "NCCL" "no libnccl.so.2 on this machine"
    fi
    # Two ranks that share the GPU cannot use NCCL.
    pair=("$work/mpiexec" -n 2)
    check "two ranks on one GPU: the cpu's numbers of calls" 120 same_probes "$here/ranks.twb" "${pair[@]}"
    check "two ranks on one GPU: the cpu's numbers of a divided graph" 120 same_probes "$here/divided.twb" "${pair[@]}"
    check "two ranks, one without a GPU" 60 ends 3 "the lane cuda:0 is a real GPU on rank 0, but it is simulated on rank 1" \
        "$work/mpiexec" -n 1 "$twb" run "$here/ranks.twb" : -n 1 env CUDA_VISIBLE_DEVICES= "$twb" run "$here/ranks.twb"
    if python3 -c 'import torch, numpy' 2>/dev/null; then
        check "two ranks on one GPU: parameters after 50 steps against the cpu" 300 python3 \
            "$here/tests/training/compare_devices.py" "$twb" --require-gpu --launcher "${pair[*]}"
        cp "$work/said" "$out/training_ranks.txt"
    else
        skip "training on two ranks" "no PyTorch on this machine"
    fi
fi
{
    echo "{\"schema\": 1, \"date\": \"$(date -u +%Y-%m-%d)\", \"parts\": \"${parts# }\", \"passed\": $passed,"
    echo " \"failed\": $failed, \"checks\": ["
    printf '  %s' "${results[0]:-}"
    [[ ${#results[@]} -lt 2 ]] || printf ',\n  %s' "${results[@]:1}"
    echo ']}'
} >"$out/summary.json"
echo "$passed passed, $failed failed; the results are in $out"
((failed == 0))
