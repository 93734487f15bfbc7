#!/usr/bin/env bash
# clang-format and clang-tidy over the project's own sources. Needs a configured build-dev (cmake --preset dev).
# tests/lint.sh [FILE…]: only these files.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [ $# -gt 0 ]; then files=("$@"); else mapfile -t files < <(git ls-files 'app/*' 'engine/*' 'widgets/*' 'tests/*' | grep -E '\.(h|cpp)$'); fi
clang-format --dry-run -Werror "${files[@]}"
commands=$(mktemp -d)
trap 'rm -r "$commands"' EXIT
[ -f build-dev/compile_commands.json ] || { echo "tests/lint.sh: configure first: cmake --preset dev" >&2; exit 2; }
# clang cannot read the headers that g++ precompiles.
sed -E 's/-Winvalid-pch//g; s/-include [^ "]*cmake_pch\.hxx//g' build-dev/compile_commands.json > "$commands/compile_commands.json"
printf '%s\n' "${files[@]}" | grep '\.cpp$' | grep -v '^tests/fuzz/fuzz_' |
  xargs -P "$(nproc)" -n 2 clang-tidy -p "$commands" --quiet --extra-arg=-Wno-unknown-warning-option
echo "lint: ${#files[@]} files clean"
