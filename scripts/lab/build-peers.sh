#!/usr/bin/env bash
# build-peers.sh DIR: builds DIR/root, a Debian 12 with cloud-init and Ignition, for `npm run bench -- --peers`. Needs root.
# Takes about 1 minute.
set -euo pipefail
dir=$(realpath -m "${1:?usage: build-peers.sh DIR}")
root=$dir/root
if [ "${2:-}" != inside ]; then exec unshare --mount --propagation private bash "$0" "$dir" inside; fi

# Use the Debian mirror and the proxy of this machine's apt.
mirror=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(ORIGIN)' 'Created-By: Packages' |
  awk '$2=="bookworm" && $3=="Debian" {print $1; exit}')
[ -n "$mirror" ] || { echo "apt on this machine is not set up for Debian bookworm" >&2; exit 1; }
eval "$(apt-config shell http_proxy Acquire::http::Proxy)"
[ -z "${http_proxy:-}" ] || export http_proxy

rm -rf "$root"
echo "==> installing Debian 12 with cloud-init and Ignition"
debootstrap --variant=minbase bookworm "$root" "$mirror"
mount -t proc proc "$root/proc"
mount -t tmpfs tmpfs "$root/run"
cp -L /etc/resolv.conf "$root/run/resolv.conf"
touch "$root/etc/resolv.conf"
mount --bind "$root/run/resolv.conf" "$root/etc/resolv.conf"
# The installation must not start services: they would run on this host.
printf '#!/bin/sh\nexit 101\n' > "$root/usr/sbin/policy-rc.d"
chmod 0755 "$root/usr/sbin/policy-rc.d"
export DEBIAN_FRONTEND=noninteractive LANG=C.UTF-8
chroot "$root" apt-get -q -y --no-install-recommends install systemd procps ca-certificates cloud-init ignition
umount "$root/etc/resolv.conf" "$root/run" "$root/proc"
rm -rf "$root"/usr/sbin/policy-rc.d "$root"/var/cache/apt/archives/*.deb "$root"/var/cache/apt/*.bin "$root"/var/lib/apt/lists/*
install -m 0755 "$root/usr/lib/dracut/modules.d/30ignition/ignition" "$root/usr/local/bin/ignition"
# Ignition labels the files that it writes with setfiles(8) and an SELinux policy. Debian has neither, so these are stubs.
mkdir -p "$root"/sysroot/etc/selinux/targeted/contexts/files
printf 'SELINUX=disabled\nSELINUXTYPE=targeted\n' > "$root/sysroot/etc/selinux/config"
: > "$root/sysroot/etc/selinux/targeted/contexts/files/file_contexts"
cp "$root"/etc/{passwd,group} "$root/sysroot/etc/"
mkdir "$root/sysroot/proc"
printf '#!/bin/sh\nexit 0\n' > "$root/usr/sbin/setfiles"
chmod 0755 "$root/usr/sbin/setfiles"
# Only the modules that are compared: no network, disks or packages.
cat > "$root/etc/cloud/cloud.cfg.d/99-bench.cfg" <<'CONFIG'
datasource_list: [NoCloud]
network: {config: disabled}
cloud_init_modules: [write-files]
cloud_config_modules: [runcmd]
cloud_final_modules: [scripts-user]
CONFIG
echo "==> the peers are complete"
