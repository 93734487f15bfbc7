#!/usr/bin/env bash
# Installs the packages that Tensor Workbench needs to build and run, as far as they are missing, and lists them.
#   --tests      also the packages for the tests with ONNX's data and PyTorch, the benchmarks and the mold linker
#   --packages   also the packages for resources/package.sh
set -euo pipefail

# One name per line; if distributions use different names, they are joined by "|" and the first existing one is installed.
packages=(
    git g++ cmake ninja-build ccache
    qt6-base-dev "qt6-svg-dev|libqt6svg6-dev" qt6-qpa-plugins qt6-wayland libgl-dev
    qt6-l10n-tools qt6-translations-l10n
    libqcustomplot-dev
    libonnx-dev libprotobuf-dev libgraphviz-dev
    libopenblas-openmp-dev libdnnl-dev ocl-icd-opencl-dev nlohmann-json3-dev libcli11-dev libfmt-dev
    libzip-dev zlib1g-dev libsleef-dev libboost-dev pkg-config
    fonts-inter fonts-jetbrains-mono
)
for option in "$@"; do
    case "$option" in
    --tests) packages+=(libbenchmark-dev libonnx-testdata dataset-fashion-mnist libvalijson-dev mold pyflakes3
                      python3-torch python3-pytest python3-jsonschema
                      xvfb dbus-daemon at-spi2-core python3-pyatspi
                      libopenmpi-dev openmpi-bin libmpich-dev mpich openssh-client rsync
                      man-db groff zsh fish desktop-file-utils appstream shared-mime-info librsvg2-bin) ;;
    --packages) packages+=(dpkg-dev file librsvg2-bin patchelf xz-utils) ;;
    -h | --help) sed -n '2,4s/^# //p' "$0"; exit 0 ;;
    *) echo "install-dependencies.sh: \"$option\" is not an option of this script; the options are --tests and --packages." >&2; exit 2 ;;
    esac
done

is_installed() { [[ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" == installed ]]; }

# Sets `missing` to the packages that are not installed under any of their names.
find_missing() {
    missing=()
    local names name
    for names in "${packages[@]}"; do
        for name in ${names//|/ }; do is_installed "$name" && continue 2; done
        missing+=("$names")
    done
}

system="an unknown system"
id="" version=""
if [[ -r /etc/os-release ]]; then
    id=$(. /etc/os-release && echo "${ID:-}")
    version=$(. /etc/os-release && echo "${VERSION_ID:-}")
    system=$(. /etc/os-release && echo "${PRETTY_NAME:-unknown}")
fi
case "$id-$version" in
debian-12 | debian-13 | ubuntu-24.04 | ubuntu-24.10 | ubuntu-25.*) ;;
*)
    echo "install-dependencies.sh: this is $system; packages are installed on Debian 12 and Ubuntu 24.04 (or newer) only." >&2
    echo "Install the equivalents of these Debian packages, then build with: cmake --preset release && cmake --build build" >&2
    echo "  ${packages[*]}" >&2
    exit 1
    ;;
esac

find_missing
if ((${#missing[@]} == 0)); then
    echo "Dependencies: all ${#packages[@]} packages are installed."
    exit 0
fi

as_root=()
if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
        echo "install-dependencies.sh: ${#missing[@]} packages are missing, and installing them requires root;" >&2
        echo "run this script as root once: bash resources/install-dependencies.sh $*" >&2
        echo "  ${missing[*]}" >&2
        exit 1
    fi
    as_root=(sudo)
fi

echo "Dependencies: installing ${#missing[@]} packages: ${missing[*]}"
"${as_root[@]}" apt-get update -qq
chosen=()
for names in "${missing[@]}"; do
    for name in ${names//|/ }; do
        if [[ "$(apt-cache policy "$name" | sed -n 's/^  Candidate: //p')" =~ [0-9] ]]; then
            chosen+=("$name")
            continue 2
        fi
    done
    echo "install-dependencies.sh: no package source of this system has ${names//|/ or }; on Ubuntu, enable \"universe\"." >&2
    exit 1
done
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq -o Dpkg::Use-Pty=0 --no-install-recommends "${chosen[@]}"
echo "Dependencies: installed."
