#!/usr/bin/env bash
# build-layer.sh DIR ROOT PACKAGE: installs a Debian package and its dependencies on top of the machine image ROOT. The
# changes become the overlay layer DIR/layer. Needs root. Takes seconds to 1 minute.
set -euo pipefail
dir=$(realpath -m "${1:?usage: build-layer.sh DIR ROOT PACKAGE}"); root=$(realpath "${2:?}"); package=${3:?}
if [ "${4:-}" != inside ]; then exec unshare --mount --propagation private bash "$0" "$dir" "$root" "$package" inside; fi
phase() { echo "==> $*"; }

eval "$(apt-config shell http_proxy Acquire::http::Proxy)"
[ -z "${http_proxy:-}" ] || export http_proxy
mkdir -p "$dir/layer" "$dir/work" "$dir/merged"
mount -t overlay overlay -o "lowerdir=$root,upperdir=$dir/layer,workdir=$dir/work" "$dir/merged"
image=$dir/merged
mount -t proc proc "$image/proc"
# Each machine gets its own resolv.conf when it is created: the layer must not contain the one of this host.
mount -t tmpfs tmpfs "$image/run"
mkdir -p "$image/run/bin"
cp -L /etc/resolv.conf "$image/run/resolv.conf"
touch "$image/etc/resolv.conf"
mount --bind "$image/run/resolv.conf" "$image/etc/resolv.conf"

phase "installing $package"
# The installation must not start services: they would run on this host.
printf '#!/bin/sh\nexit 101\n' > "$image/usr/sbin/policy-rc.d"
chmod 0755 "$image/usr/sbin/policy-rc.d"
export DEBIAN_FRONTEND=noninteractive LANG=C.UTF-8
chroot "$image" apt-get -q update
packages=("$package")
# A member of an Active Directory domain needs more than the program that joins the domain.
[ "$package" != adcli ] || packages+=(krb5-user bind9-dnsutils sssd-ad libnss-sss libpam-sss)
chroot "$image" apt-get -q -y --no-install-recommends install "${packages[@]}"
rm "$image/usr/sbin/policy-rc.d"
rm -rf "$image"/var/cache/apt/archives/*.deb "$image"/var/cache/apt/*.bin "$image"/var/lib/apt/lists/*

if [ "$package" = cloud-init ]; then
  # Only the modules for a node's user data. The machine shares this host's kernel: no disk, network or time module may run.
  cat > "$image/etc/cloud/cloud.cfg.d/99-lab.cfg" <<'CONFIG'
datasource_list: [NoCloud]
network: {config: disabled}
cloud_init_modules: [bootcmd, write-files]
cloud_config_modules: [runcmd]
cloud_final_modules: [scripts-user, final-message]
CONFIG
fi
umount "$image/etc/resolv.conf" "$image/run" "$image/proc" "$image"
rmdir "$dir/merged"
rm -rf "$dir/work"
phase "the layer is complete"
