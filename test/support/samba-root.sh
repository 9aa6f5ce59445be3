#!/usr/bin/env bash
# samba-root.sh DIR: makes DIR/root: Debian 12 with Samba's domain controller and what a machine joins with. Needs root.
# About 1 minute.
set -euo pipefail
dir=$(realpath -m "${1:?usage: samba-root.sh DIR}")
if [ "${2:-}" != inside ]; then exec unshare --mount --propagation private bash "$0" "$dir" inside; fi

mirror=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(ORIGIN)' 'Created-By: Packages' |
  awk '$2=="bookworm" && $3=="Debian" {print $1; exit}')
[ -n "$mirror" ] || { echo "apt on this machine is not set up for Debian bookworm" >&2; exit 1; }
eval "$(apt-config shell http_proxy Acquire::http::Proxy)"
[ -z "${http_proxy:-}" ] || export http_proxy

# Nothing may be started from in there: it would be a process of this machine. debootstrap sees to that while it installs.
packages=samba,samba-ad-dc,samba-ad-provision,samba-dsdb-modules,samba-vfs-modules,winbind,ldb-tools,samba-common-bin
packages+=,adcli,krb5-user,bind9-dnsutils,ldap-utils,faketime,nftables,iproute2,procps,ca-certificates,libstdc++6
mkdir -p "$dir"
debootstrap --variant=minbase --include="$packages" bookworm "$dir/building" "$mirror"
rm -rf "$dir"/building/var/cache/apt/archives/*.deb "$dir"/building/var/lib/apt/lists/*
mv "$dir/building" "$dir/root"
