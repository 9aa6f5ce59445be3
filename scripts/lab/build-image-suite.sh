#!/usr/bin/env bash
# build-image-suite.sh DIR SUITE: makes DIR/root, a machine image of another suite of Debian than the one that the lab's
# nodes have, as its packages make it: systemd, containerd, and no Kubernetes. Needs root. About 3 minutes.
set -euo pipefail
dir=$(realpath -m "${1:?usage: build-image-suite.sh DIR SUITE}") suite=${2:?usage: build-image-suite.sh DIR SUITE}
image=$dir/root

# Where this machine's apt gets its Debian from, and through which proxy.
mirror=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(ORIGIN)' 'Created-By: Packages' |
  awk '$2=="bookworm" && $3=="Debian" {print $1; exit}')
[ -n "$mirror" ] || { echo "apt on this machine is not set up for Debian bookworm" >&2; exit 1; }
eval "$(apt-config shell http_proxy Acquire::http::Proxy)"
[ -z "${http_proxy:-}" ] || export http_proxy

packages=systemd,systemd-sysv,dbus,udev,kmod,iproute2,iptables,conntrack,socat,ebtables,ethtool,containerd,runc,procps
packages+=,ca-certificates,e2fsprogs,fdisk,util-linux,chrony,sudo,curl,bsdutils,bsdextrautils
rm -rf "$image"
echo "==> installing Debian $suite"
debootstrap --variant=minbase --include="$packages" "$suite" "$image" "$mirror"
# What would run by the clock and disturb a comparison of before and after; fstrim would trim the host's disk.
units=$image/etc/systemd/system
rm -f "$units"/timers.target.wants/{apt-daily,apt-daily-upgrade,dpkg-db-backup,e2scrub_all,fstrim}.timer
# The kernel's clock is the host's: chronyd must not touch it from in here.
rm -f "$units"/multi-user.target.wants/{chrony,e2scrub_reap}.service
mkdir -p "$image/var/log/journal" "$image/opt/images" "$units/multi-user.target.wants" "$units/sysinit.target.wants"
ln -sf /usr/lib/systemd/system/systemd-networkd.service "$units/multi-user.target.wants/"
# systemd-nspawn mounts /proc/sys read-only; a node's settings are written there.
cat > "$units/lab-writable.service" <<'UNIT'
[Unit]
Description=Lab: writable kernel settings
DefaultDependencies=no
Before=sysinit.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c 'mount -o remount,bind,rw /proc/sys'
UNIT
ln -sf /etc/systemd/system/lab-writable.service "$units/sysinit.target.wants/"
: > "$image/etc/machine-id"
rm -rf "$image"/var/cache/apt/archives/*.deb "$image"/var/lib/apt/lists/*
echo "==> the machine image is complete"
