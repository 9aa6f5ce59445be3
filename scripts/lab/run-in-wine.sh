#!/bin/sh
# run-in-wine.sh ROOT IO LAYER COMMAND...: runs a program of ROOT, which build-wine.sh made, in namespaces of its own.
# Standard input is IO/in, where it is there; standard output and error become IO/out and IO/err: Node under Wine takes
# files, and no pipes (open EBADF). What is written to C: goes to LAYER/upper; LAYER "-" writes to ROOT itself.
# With NETWORK=shared in the environment it sees the network of its caller, otherwise an empty one. Needs root.
set -eu
network=--net
[ "${NETWORK:-}" != shared ] || network=
# shellcheck disable=SC2016,SC2086 # the inner shell expands; no word, where it is empty
exec unshare --mount $network --ipc --pid --fork --kill-child --propagation private sh -euc '
  root=$1 io=$2 layer=$3; shift 3
  if [ "$layer" != - ]; then
    mount -t overlay -o "lowerdir=$root/prefix,upperdir=$layer/upper,workdir=$layer/work" overlay "$root/prefix"
  fi
  mount -t proc proc "$root/proc"
  mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
  mount -t tmpfs -o mode=0755 tmpfs "$root/dev"
  for device in null zero full random urandom; do
    : > "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
  done
  mount --bind "$io" "$root/mnt"
  [ -e "$io/in" ] || : > "$io/in"
  ip link set lo up
  # Of what Wine itself would say nothing is of interest; it looks for its runtime directory, and would complain.
  exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 HOME=/root XDG_RUNTIME_DIR=/tmp WINEPREFIX=/prefix WINEDEBUG=-all \
    chroot "$root" sh -c "
      cd /prefix/drive_c 2>/dev/null || :
      status=0
      \"\$@\" </mnt/in >/mnt/out 2>/mnt/err || status=\$?
      # What was written to the registry is kept when the server ends, which is when the last program has.
      timeout 60 wineserver -w || wineserver -k || :
      exit \$status
    " sh "$@"
' sh "$@"
