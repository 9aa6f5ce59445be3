#!/bin/sh
# run-in-wine.sh ROOT IO LAYER COMMAND...: runs a program in ROOT, which build-wine.sh made, in namespaces of its own.
# stdin is the file IO/in, if it exists; stdout and stderr are written to IO/out and IO/err: Node under Wine works with
# files, but not with pipes (open EBADF). Writes to C: go to LAYER/upper; with LAYER "-" they go to ROOT itself.
# With NETWORK=shared in the environment, it uses the network of the caller, otherwise an empty one. Needs root.
set -eu
network=--net
[ "${NETWORK:-}" != shared ] || network=
# shellcheck disable=SC2016,SC2086 # the inner shell expands it; an empty $network must be no argument
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
  # WINEDEBUG turns off the messages of Wine. Without XDG_RUNTIME_DIR, programs would print a warning.
  exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 HOME=/root XDG_RUNTIME_DIR=/tmp WINEPREFIX=/prefix WINEDEBUG=-all \
    chroot "$root" sh -c "
      cd /prefix/drive_c 2>/dev/null || :
      status=0
      \"\$@\" </mnt/in >/mnt/out 2>/mnt/err || status=\$?
      # wineserver saves the registry when it exits, which is after the last program.
      timeout 60 wineserver -w || wineserver -k || :
      exit \$status
    " sh "$@"
' sh "$@"
