#!/usr/bin/env bash
# Builds packages in build/packages: .deb files for this Debian or Ubuntu, and a relocatable .tar.xz with its libraries.
#   bash resources/package.sh [--no-cuda]
# With a CUDA toolkit from 12.0 on, the CUDA plugin is a package of its own; --no-cuda leaves it out. So are the plugins
# for Open MPI and MPICH, where these are installed.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
cuda=OFF
if [[ -d /usr/local/cuda ]] || command -v nvcc >/dev/null; then cuda=ON; fi
case "${1:-}" in
"") ;;
--no-cuda) cuda=OFF ;;
-h | --help) sed -n '2,5s/^# //p' "$0"; exit 0 ;;
*) echo "package.sh: \"$1\" is not an option of this script; the only option is --no-cuda." >&2; exit 2 ;;
esac

bash resources/install-dependencies.sh --packages
cmake --preset release -DTWB_CUDA=$cuda --log-level=WARNING
cmake --build build --parallel "$(nproc)"

out=$PWD/build/packages
rm -rf "$out"
mkdir -p "$out"

# dpkg-shlibdeps finds no package for NVIDIA's libraries, which need none: the plugin says what is missing.
wrapper=$(mktemp -d)
trap 'rm -rf "$wrapper"' EXIT
real=$(command -v dpkg-shlibdeps)
printf '#!/bin/sh\nexec %s --ignore-missing-info "$@"\n' "$real" >"$wrapper/dpkg-shlibdeps"
chmod +x "$wrapper/dpkg-shlibdeps"
(cd build && PATH=$wrapper:$PATH cpack -G DEB -B "$out" >"$out/cpack.log") || { cat "$out/cpack.log" >&2; exit 1; }
rm -rf "$out/_CPack_Packages" "$out/cpack.log"

bash resources/packaging/relocatable.sh build "$out"
ls -l "$out"
