#!/usr/bin/env bash
# build-image-suite.sh DIR SUITE: builds DIR/root, a machine image with another Debian suite than that of the lab's nodes:
# systemd and containerd without Kubernetes. Needs root. Takes about 3 minutes.
set -euo pipefail
dir=$(realpath -m "${1:?usage: build-image-suite.sh DIR SUITE}") suite=${2:?usage: build-image-suite.sh DIR SUITE}
image=$dir/root

# Use the Debian mirror and the proxy of this machine's apt.
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
# Timers would interfere with comparisons of the machine before and after a run. fstrim would also trim the host's disk.
units=$image/etc/systemd/system
rm -f "$units"/timers.target.wants/{apt-daily,apt-daily-upgrade,dpkg-db-backup,e2scrub_all,fstrim}.timer
# The machine shares the clock of the host: chronyd must not set it.
rm -f "$units"/multi-user.target.wants/{chrony,e2scrub_reap}.service
mkdir -p "$image/var/log/journal" "$image/opt/images" "$units/multi-user.target.wants" "$units/sysinit.target.wants"
ln -sf /usr/lib/systemd/system/systemd-networkd.service "$units/multi-user.target.wants/"
# systemd-nspawn mounts /proc/sys read-only, but the steps write kernel settings.
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
