#!/usr/bin/env bash
# Renders the pictures of this folder, in both themes and two sizes:
#   bash resources/screenshots/render.sh BIN MODELS
#   bash resources/screenshots/render.sh BIN --without-models OUT    those of the examples at 1280x800, in the folder OUT
# BIN: the folder of the programs. MODELS: a folder with resnet18.onnx, blocks.onnx, swin.onnx and efficientnet.onnx; `make` of
# tests/conformance/networks.py exports them.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bin=$(cd "$1" && pwd)
out=$here sizes=(1280x800 2560x1440) models=
if [[ $2 == --without-models ]]; then
    out=$(cd "$3" && pwd) sizes=(1280x800)
else
    models=$(cd "$2" && pwd)
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export QT_QPA_PLATFORM=offscreen
export XDG_CONFIG_HOME=$work XDG_DATA_HOME=$work XDG_CACHE_HOME=$work XDG_RUNTIME_DIR=$work

cat > "$work/untitled.twb" <<'TWB'
{"format": "tensor-workbench", "version": 1,
 "lanes": [{"id": 1, "device": "cpu", "order": 0}, {"id": 2, "device": "cuda:0", "order": 1}],
 "nodes": [], "edges": []}
TWB

for theme in dark light; do
    for size in "${sizes[@]}"; do
        render() { # NAME [OPTION…]
            "$bin/tensor-workbench" --screenshot "$out/$1-$theme-$size.png" --size "$size" --theme "$theme" "${@:2}"
        }
        render start
        render empty "$work/untitled.twb"
        # The small window shows the whole graph instead of the selected node at 100 %.
        if [[ $size == 1280x800 ]]; then select=(); else select=(--select fc1); fi
        render digits --run 200 "${select[@]}" "$here/../examples/digits.twb"
        if [[ -n $models ]]; then
            render resnet18 "$models/resnet18.onnx"
            if [[ $size == 1280x800 ]]; then
                for model in blocks swin efficientnet; do render "$model" "$models/$model.onnx"; done
            fi
        fi
        render script --tab problems "$here/../examples/10-your-own-script.twb"
        # Pictures of the manual.
        if [[ $size-$theme == 1280x800-light ]]; then
            render lesson1 --tab problems "$here/../examples/01-cpu-tensor-plus-cuda-tensor.twb"
            render transfers --run 200 --tab transfers "$here/../examples/06-a-transfer-in-a-tight-loop.twb"
            render training --train 10 --tab training "$here/../examples/11-a-model-learns.twb"
            cp -r "$here/../examples/digits" "$work"
            sed 's#"cuda:0"#"rank1/cuda:0"#' "$here/../examples/digits.twb" > "$work/two-ranks.twb"
            render ranks --run 200 --tab timeline "$work/two-ranks.twb"
        fi
    done
done
