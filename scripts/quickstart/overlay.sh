#!/bin/sh
# overlay.sh DIRECTORY COMMAND...: runs a command in a temporary copy of this machine. The copy consists of overlays whose
# upper layers are in memory, in mount, network, UTS, IPC and PID namespaces of its own: all changes to files, mounts, the
# host name and the network disappear when the command exits. DIRECTORY is at /quickstart.
#
# Needs root. Kernel modules, swap and most sysctls outside of net.* have no namespace: the command can change them.
set -eu
directory=$1
shift
exec unshare --mount --net --uts --ipc --pid --fork --kill-child sh -eu -c '
  directory=$1; shift
  root=/mnt/root
  mount --make-rprivate /
  mount -t tmpfs -o size=512m,mode=0755 tmpfs /mnt
  mkdir "$root"
  # One overlay for each system directory. Home directories and other disks are not in the copy.
  for path in /bin /sbin /lib /lib32 /lib64 /usr /etc /var /opt; do
    if [ -L "$path" ]; then
      cp -P "$path" "$root$path"
    elif [ -d "$path" ]; then
      mkdir -p "$root$path" "/mnt/upper$path" "/mnt/work$path"
      mount -t overlay -o "lowerdir=$path,upperdir=/mnt/upper$path,workdir=/mnt/work$path" overlay "$root$path"
    fi
  done
  mkdir "$root/quickstart" "$root/proc" "$root/sys" "$root/dev" "$root/run" "$root/tmp" "$root/root" "$root/home"
  chmod 0755 "$root"
  mount --bind "$directory" "$root/quickstart"
  mount -t proc proc "$root/proc"
  mount -t sysfs sysfs "$root/sys"
  mount -t tmpfs -o mode=0755 tmpfs "$root/run"
  mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
  mount -t tmpfs -o mode=0755 tmpfs "$root/dev"
  # Only the devices that every program needs: no console, no disk, no kernel log.
  for device in null zero full random urandom tty; do
    : > "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
  done
  cd /
  exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
    chroot "$root" "$@"
' sh "$directory" "$@"
