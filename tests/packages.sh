#!/usr/bin/env bash
# Installs the packages of resources/package.sh in a fresh system without build tools, uses them and removes them:
#   bash tests/packages.sh PACKAGES [SUITE MIRROR]      default: bookworm from deb.debian.org
#   bash tests/packages.sh PACKAGES noble http://archive.ubuntu.com/ubuntu      Ubuntu 24.04
# The relocatable .tar.xz runs there first, and the job for GitHub Actions in the manual installs twb.
# Needs root and debootstrap. With lintian installed, it also checks the packages.
set -euo pipefail

packages=$(cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/.."
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
has_qt() { inside dpkg-query -W 'libqt6*' 2>/dev/null | grep -q .; }
# Waits until the program's window is on a virtual display, then ends the program.
shows_window() {
    inside timeout 300 xvfb-run -a -s '-screen 0 1280x800x24' bash -c '
        "$@" & window=$!
        until xwininfo -root -tree | grep -q "Tensor Workbench"; do
            kill -0 $window || exit 1
            sleep 0.5
        done
        kill $window' shows_window "$@"
}
for tool in gcc g++ cmake make; do ! inside which "$tool" >/dev/null || fail "the fresh system has $tool"; done

# The .tar.xz has all that it needs, also without a display, fonts or Qt.
mkdir "$root/opt/relocatable"
tar -C "$root/opt/relocatable" --strip-components=1 -xf "$packages"/tensor-workbench-*.tar.xz
relocated=/opt/relocatable
inside $relocated/bin/twb run $relocated/share/tensor-workbench/examples/digits.twb --iterations 3 | tail -3 ||
    fail "twb of the .tar.xz does not run"
inside $relocated/bin/tensor-workbench --screenshot /tmp/relocated.png --size 900x600 --run 2 \
    $relocated/share/tensor-workbench/examples/digits.twb || fail "the window of the .tar.xz makes no screenshot"
inside apt-get update -qq
inside apt-get install -y -qq --no-install-recommends xvfb xauth x11-utils >/dev/null
shows_window $relocated/bin/tensor-workbench $relocated/share/tensor-workbench/examples/digits.twb ||
    fail "the .tar.xz shows no window under Xvfb"
! has_qt || fail "this system cannot show that the .tar.xz carries Qt: it has Qt itself"
rm -r "$root/opt/relocatable"

# The steps of the manual's job for GitHub Actions, in the fresh system instead of its container. The first installs the
# program without a window, which brings no Qt.
mkdir "$root/packages" "$root/job"
cp "$packages"/*.deb "$root/packages"
awk -v folder="$root/job" '
    /^```/ { yaml = /^```yaml/; next }
    yaml && /^        run: / {
        step = folder "/step" ++n
        print "set -eo pipefail" > step
        if (!/run: \|$/) print substr($0, 14) > step
        inStep = 1
        next
    }
    yaml && inStep && /^          / { print substr($0, 11) > step; next }
    { inStep = 0 }' resources/manual/ci.md
job_step() { inside env -C /job PACKAGES=file:///packages bash "step$1" >"$root/job/log" 2>&1 || { cat "$root/job/log" >&2; fail "step $1 of the job fails"; }; }
job_step 1
! has_qt || fail "tensor-workbench-cli installs Qt"
examples=/usr/share/tensor-workbench/examples
mkdir "$root/job/graphs"
cp -r "$root$examples/digits" "$root/job/graphs"
cp "$root$examples/digits.twb" "$root/job/graphs/model.twb"
inside twb run /job/graphs/model.twb --iterations 20 --report /job/graphs/accepted.json --quiet || fail "twb run failed"
job_step 2
job_step 3
for report in check run compare; do [[ -s $root/job/$report.xml ]] || fail "the job writes no $report.xml"; done
rm -r "$root/job"
# The manual's copy of the examples.
awk '/^```/ { inBlock = /^```sh/; next } inBlock' resources/manual/index.md >"$root/tmp/examples.sh"
inside env -C /tmp bash -ec '. ./examples.sh && twb check digits.twb >/dev/null' || fail "the copy of the examples fails"
inside twb devices | grep -q h200 || fail "twb does not find the device profiles"

inside bash -c 'apt-get install -y -qq --no-install-recommends /packages/*.deb >/dev/null'
if ls "$root"/packages/tensor-workbench-cuda_*.deb >/dev/null 2>&1; then
    inside twb devices | grep -q "NVIDIA driver not found" || fail "twb does not say why it has no GPU"
    inside twb run "$examples/digits.twb" --iterations 1 >/dev/null || fail "twb does not run beside the CUDA plugin"
fi
# Several ranks, by the launcher that the package recommends.
for mpi in openmpi mpich; do
    ls "$root/packages/tensor-workbench-$mpi"_*.deb >/dev/null 2>&1 || continue
    launcher=mpich options=()
    if [[ $mpi = openmpi ]]; then launcher=openmpi-bin options=(--allow-run-as-root --oversubscribe); fi
    inside apt-get install -y -qq --no-install-recommends $launcher >/dev/null
    if [[ $suite-$mpi = noble-mpich ]]; then
        # MPICH 4.2.0 of Ubuntu 24.04 starts each rank as if it were alone, also those of a plain MPI program.
        (inside mpirun.mpich -n 2 twb train "$examples/11-a-model-learns.twb" --epochs 1 \
            --rank-logs /tmp/logs 2>&1 || true) |
            grep "mpiexec of MPICH has started 2 ranks, but MPICH .* finds 1" ||
            fail "twb does not say why it does not train on two ranks of mpich"
        continue
    fi
    inside mpirun.$mpi "${options[@]}" -n 2 twb train "$examples/11-a-model-learns.twb" --epochs 1 \
        --rank-logs /tmp/logs | tail -n 3 || fail "twb does not train on two ranks of $mpi"
done
inside python3 -c 'import importlib.util as u; assert u.find_spec("tensor_workbench")' || fail "no Python package"
inside tensor-workbench --screenshot /tmp/off.png --size 900x600 --run 2 "$examples/digits.twb" || fail "no screenshot"
# A real window on a real (virtual) display.
shows_window tensor-workbench "$examples/digits.twb" || fail "no window under Xvfb"
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
