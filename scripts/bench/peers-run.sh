#!/bin/sh
# peers-run.sh ROOT INPUT COMMAND...: runs a command in a throw-away overlay of ROOT, in namespaces of its own, with INPUT at
# /in, and prints the processor time that it and its children took, as bash's `times` does. Its own output goes to
# /in/output. Needs root.
set -eu
exec unshare --mount --net --uts --ipc --pid --fork --kill-child sh -euc '
  root=$1 input=$2; shift 2
  mount --make-rprivate /
  mount -t tmpfs -o size=1g tmpfs /mnt
  mkdir /mnt/upper /mnt/work /mnt/root
  mount -t overlay -o "lowerdir=$root,upperdir=/mnt/upper,workdir=/mnt/work" overlay /mnt/root
  mkdir -p /mnt/root/in
  mount --bind "$input" /mnt/root/in
  mount -t proc proc /mnt/root/proc
  mount -t sysfs sysfs /mnt/root/sys
  mount -t tmpfs tmpfs /mnt/root/run
  mount -t tmpfs -o mode=1777 tmpfs /mnt/root/tmp
  ip link set lo up 2>/dev/null || true
  exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
    chroot /mnt/root bash --norc -c "\"\$@\" >/in/output 2>&1 </dev/null || exit; times" bash "$@"
' sh "$@"
