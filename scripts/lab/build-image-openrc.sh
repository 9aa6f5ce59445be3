#!/usr/bin/env bash
# build-image-openrc.sh DIR: builds the machine image DIR/root without systemd: Debian 12 with sysvinit-core, OpenRC,
# busybox's syslogd, and containerd with an OpenRC service (Debian ships only a unit). Needs root. Takes about 1 minute.
set -euo pipefail
dir=$(realpath -m "${1:?usage: build-image-openrc.sh DIR}"); image=$dir/root
phase() { echo "==> $*"; }

mirror=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(ORIGIN)' 'Created-By: Packages' |
  awk '$2=="bookworm" && $3=="Debian" {print $1; exit}')
[ -n "$mirror" ] || { echo "apt on this machine is not set up for Debian bookworm" >&2; exit 1; }
eval "$(apt-config shell http_proxy Acquire::http::Proxy)"
[ -z "${http_proxy:-}" ] || export http_proxy

rm -rf "$image"
phase "installing Debian 12"
packages=ca-certificates,openssl,kmod,iproute2,procps,util-linux,bsdutils,strace,e2fsprogs
debootstrap --variant=minbase --include="$packages" --exclude=systemd,systemd-sysv bookworm "$image" "$mirror"
phase "adding OpenRC"
# debootstrap installs the first of several alternatives, here sysv-rc, which conflicts with openrc. apt resolves this.
printf '#!/bin/sh\nexit 101\n' > "$image/usr/sbin/policy-rc.d"
chmod 0755 "$image/usr/sbin/policy-rc.d"
DEBIAN_FRONTEND=noninteractive chroot "$image" apt-get -q -y --no-install-recommends install \
  sysvinit-core openrc busybox-syslogd containerd runc
rm "$image/usr/sbin/policy-rc.d"

# The machine shares the host's kernel, clock and disks: nothing in it may set the clock, mount, unmount or check file
# systems, spin down disks, take network interfaces down or consume the kernel log. nspawn has mounted all file systems.
for service in hwclock.sh udev checkfs.sh checkroot.sh checkroot-bootclean.sh mountall.sh mountall-bootclean.sh \
  mountnfs.sh mountnfs-bootclean.sh mountdevsubfs.sh mountkernfs.sh mount-configfs brightness urandom cgroups \
  umountfs umountnfs.sh umountroot savecache busybox-klogd; do
  rm -f "$image"/etc/runlevels/*/"$service" "$image/etc/init.d/$service"
done
for verb in halt reboot; do
  option=$([ "$verb" = halt ] && echo -p || true)
  printf '#!/bin/sh\n[ "$1" != stop ] || exec %s -d -f %s\n' "$verb" "$option" > "$image/etc/init.d/$verb"
done
sed -i -e '/getty/d' "$image/etc/inittab"
# Log to disk, as Alpine does, and not to memory.
echo 'SYSLOG_OPTS="-O /var/log/messages"' > "$image/etc/default/busybox-syslogd"

cat > "$image/etc/init.d/lab-writable" <<'SERVICE'
#!/sbin/openrc-run
description="Lab: writable kernel settings, and the loopback interface"

depend() {
	provide mountkernfs umountnfs
	before kmod hostname.sh bootmisc.sh
}

start() {
	mount -o remount,bind,rw /proc/sys
	ip link set lo up
}
SERVICE
cat > "$image/etc/init.d/containerd" <<'SERVICE'
#!/sbin/openrc-run
description="containerd container runtime"
supervisor=supervise-daemon # Debian's start-stop-daemon is dpkg's, which cannot redirect output
command=/usr/bin/containerd
pidfile=/run/containerd.pid
output_log=/var/log/containerd.log
error_log=/var/log/containerd.log

depend() {
	after bootmisc.sh
}
SERVICE
chmod 0755 "$image/etc/init.d/lab-writable" "$image/etc/init.d/containerd"
ln -s /etc/init.d/lab-writable "$image/etc/runlevels/sysinit/"
ln -s /etc/init.d/containerd "$image/etc/runlevels/default/"
mkdir -p "$image/opt/images" "$image/var/lib/kubelet"
: > "$image/etc/machine-id"
rm -rf "$image"/var/cache/apt/archives/*.deb "$image"/var/lib/apt/lists/*
phase "the machine image is complete"
