#!/usr/bin/env bash
# Builds packages in build/packages: .deb files for this Debian or Ubuntu, and a relocatable .tar.xz with its libraries.
#   bash resources/package.sh [--no-cuda] [-DTWB_MAINTAINER="NAME <ADDRESS>"] [-DOPTION=VALUE…]
# With a CUDA toolkit from 12.0 on, the CUDA plugin is a package of its own; --no-cuda leaves it out. So are the plugins
# for Open MPI and MPICH, where these are installed. Set the maintainer if you distribute the packages. CMake gets the
# options with -D, for instance -DCMAKE_CUDA_ARCHITECTURES=90.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
cuda=OFF
if [[ -d /usr/local/cuda ]] || command -v nvcc >/dev/null; then cuda=ON; fi
options=()
for argument in "$@"; do
    case "$argument" in
    --no-cuda) cuda=OFF ;;
    -D?*=*) options+=("$argument") ;;
    -h | --help) sed -n '2,6s/^# //p' "$0"; exit 0 ;;
    *) echo "package.sh: \"$argument\" is not an option of this script; the options are --no-cuda and -DOPTION=VALUE." >&2; exit 2 ;;
    esac
done

bash resources/install-dependencies.sh --packages
cmake --preset release -DTWB_CUDA=$cuda "${options[@]}" --log-level=WARNING
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
