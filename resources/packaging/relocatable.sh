#!/usr/bin/env bash
# Makes a .tar.xz that runs from any folder on Linux with glibc and libstdc++ of this system or newer, without root:
#   bash resources/packaging/relocatable.sh BUILD OUT
# It has the programs, their data, and all libraries and Qt plugins that they load, except the C and C++ libraries and
# the drivers of the graphics card.
set -euo pipefail

build=$1 out=$2
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")
name=tensor-workbench-$version-$(uname -m)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/$name

for component in cli window python; do
    cmake --install "$build" --prefix "$root" --component $component --strip >/dev/null
done
rm -rf "$root/lib/python3" "$root/share/doc"
install -D -m 644 resources/packaging/copyright "$root/share/doc/tensor-workbench/copyright"
install -D -m 644 LICENSE "$root/share/doc/tensor-workbench/LICENSE"

mkdir -p "$root/lib" "$root/plugins"
if [[ -e $root/bin/tensor-workbench ]]; then
    # The fonts of the window, under the SIL Open Font License.
    mkdir -p "$root/share/tensor-workbench/fonts"
    for package in fonts-inter fonts-jetbrains-mono; do
        dpkg -L $package | grep -E '/(Inter|JetBrainsMono)-(Regular|Medium|SemiBold|Bold|Italic)\.(otf|ttf)$' |
            xargs -I{} cp {} "$root/share/tensor-workbench/fonts"
        install -m 644 "/usr/share/doc/$package/copyright" "$root/share/doc/tensor-workbench/copyright-$package"
    done

    # Qt finds its plugins by this file.
    plugins=$(qtpaths6 --query QT_INSTALL_PLUGINS 2>/dev/null || qmake6 -query QT_INSTALL_PLUGINS)
    printf '[Paths]\nPrefix = ..\nPlugins = plugins\n' >"$root/bin/qt.conf"
    for kind in platforms imageformats iconengines platforminputcontexts xcbglintegrations printsupport \
        wayland-shell-integration wayland-decoration-client wayland-graphics-integration-client; do
        [[ -d $plugins/$kind ]] || continue
        mkdir "$root/plugins/$kind"
        cp "$plugins/$kind"/*.so "$root/plugins/$kind"
    done
    # Platforms for devices without a desktop.
    rm -f "$root"/plugins/platforms/libq{eglfs,linuxfb,minimal,minimalegl,vkkhrdisplay,vnc}.so
fi

# Libraries of the system on which it runs. Those of the graphics driver must fit the driver.
stays='^(linux-vdso|ld-linux|lib(c|m|dl|rt|pthread|resolv|util|stdc\+\+|gcc_s|drm|gbm|glapi)[-.])'
mapfile -t files < <(find "$root/bin" "$root/plugins" -type f ! -name qt.conf)
# The engine opens OpenBLAS at the first matrix product.
blas=$(find "/usr/lib/$(uname -m)-linux-gnu/openblas-openmp" -name libopenblas.so.0)
cp -L --no-preserve=mode "$blas" "$root/lib/libopenblas.so.0"
ldd "${files[@]}" "$blas" | sed -n 's/^\s*\(\S*\) => \(\/\S*\) .*/\1 \2/p' | sort -u | while read -r soname path; do
    [[ $soname =~ $stays ]] || cp -L --no-preserve=mode "$path" "$root/lib/$soname"
done
if ldd "${files[@]}" | grep 'not found' >&2; then
    echo "relocatable.sh: these libraries are missing; install them" >&2
    exit 1
fi
for file in "${files[@]}"; do patchelf --force-rpath --set-rpath '$ORIGIN/../lib:$ORIGIN/../../lib' "$file"; done
for file in "$root"/lib/*.so*; do
    patchelf --force-rpath --set-rpath '$ORIGIN' "$file"
    strip --strip-unneeded "$file" 2>/dev/null || true
done

XZ_OPT=-T0 tar -C "$work" --owner=0 --group=0 --sort=name -cJf "$out/$name.tar.xz" "$name"
