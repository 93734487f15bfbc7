#!/usr/bin/env bash
# Installs the packages of resources/package.sh in a fresh system without build tools, uses them and removes them:
#   bash tests/packages.sh PACKAGES [SUITE MIRROR]      default: bookworm from deb.debian.org
#   bash tests/packages.sh PACKAGES noble http://archive.ubuntu.com/ubuntu      Ubuntu 24.04
# Needs root and debootstrap. With lintian installed, it also checks the packages.
set -euo pipefail

packages=$(cd "$1" && pwd)
suite=${2:-bookworm}
mirror=${3:-http://deb.debian.org/debian}
root=$(mktemp -d)
trap 'umount -q "$root/proc" || true; rm -rf --one-file-system "$root"' EXIT
fail() { echo "packages.sh: $*" >&2; exit 1; }

if command -v lintian >/dev/null; then
    lintian --fail-on error "$packages"/*.deb || fail "lintian found errors"
fi

chmod 755 "$root"
# An older debootstrap has no script of a newer Ubuntu, whose systems all begin alike.
script=()
[[ -e /usr/share/debootstrap/scripts/$suite ]] || script=(/usr/share/debootstrap/scripts/gutsy)
debootstrap --variant=minbase "$suite" "$root" "$mirror" "${script[@]}" >/dev/null || fail "debootstrap failed"
case "$mirror" in *ubuntu*) sed -i 's/ main$/ main universe/' "$root/etc/apt/sources.list" ;; esac
mount -t proc proc "$root/proc"
inside() { chroot "$root" env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 HOME=/root "$@"; }
inside apt-get update -qq
inside apt-get install -y -qq --no-install-recommends xvfb xauth >/dev/null

mkdir "$root/packages"
cp "$packages"/*.deb "$root/packages"
for tool in gcc g++ cmake make; do ! inside which "$tool" >/dev/null || fail "the fresh system has $tool"; done

# The program without a window brings no Qt.
inside bash -c 'apt-get install -y -qq --no-install-recommends /packages/tensor-workbench-cli_*.deb >/dev/null'
! inside dpkg-query -W 'libqt6*' 2>/dev/null | grep -q . || fail "tensor-workbench-cli installs Qt"
examples=/usr/share/tensor-workbench/examples
inside twb run "$examples/digits.twb" --iterations 3 | tail -3
inside twb check "$examples/digits.twb" >/dev/null || fail "twb check failed"
inside twb devices | grep -q h200 || fail "twb does not find the device profiles"

inside bash -c 'apt-get install -y -qq --no-install-recommends /packages/*.deb >/dev/null'
if ls "$root"/packages/tensor-workbench-cuda_*.deb >/dev/null 2>&1; then
    inside twb devices | grep -q "NVIDIA driver not found" || fail "twb does not say why it has no GPU"
    inside twb run "$examples/digits.twb" --iterations 1 >/dev/null || fail "twb does not run beside the CUDA plugin"
fi
# Several ranks, by the launcher that the package recommends.
for mpi in openmpi mpich; do
    ls "$root/packages/tensor-workbench-$mpi"_*.deb >/dev/null 2>&1 || continue
    inside apt-get install -y -qq --no-install-recommends $([[ $mpi = openmpi ]] && echo openmpi-bin || echo mpich) >/dev/null
    root_allowed=$([[ $mpi = openmpi ]] && echo "--allow-run-as-root --oversubscribe" || true)
    inside bash -c "cd /tmp && mpirun.$mpi $root_allowed -n 2 twb train $examples/11-a-model-learns.twb --epochs 1" |
        tail -n 3 || fail "twb does not train on two ranks of $mpi"
done
inside python3 -c 'import importlib.util as u; assert u.find_spec("tensor_workbench")' || fail "no Python package"
inside tensor-workbench --screenshot /tmp/off.png --size 900x600 --run 2 "$examples/digits.twb" || fail "no screenshot"
# A real window on a real (virtual) display.
inside timeout 60 xvfb-run -a -s '-screen 0 1280x800x24' bash -c "
    tensor-workbench $examples/digits.twb & window=\$!
    sleep 8
    kill -0 \$window || exit 1
    kill \$window" || fail "the window does not stay open under Xvfb"
for page in twb twb-run tensor-workbench; do
    [[ -f $root/usr/share/man/man1/$page.1.gz ]] || fail "no man page $page"
done
inside bash -c 'test -s /usr/share/mime/packages/tensor-workbench.xml' || fail "no MIME types"

inside bash -c 'apt-get remove -y -qq tensor-workbench tensor-workbench-.* >/dev/null'
rm -r "$root/packages"
# The list of removed packages and the log of apt name them.
left=$(inside find / -xdev \( -path /proc -o -path /var/lib/dpkg -o -path /var/log -o -path /root -o -path /tmp \) -prune -o \
    \( -iname '*tensor?workbench*' -o -name '*twb*' \) -print)
[[ -z $left ]] || fail "the removal leaves: $left"
echo "packages.sh: installed, used and removed on $suite"
