#!/usr/bin/env bash
# samba-root.sh DIR: makes DIR/root: the programs of Samba's domain controller and of a machine that joins, from the Debian
# that apt of this machine knows. Nothing is installed: the packages, with all that they stand on, are only unpacked, so
# that none of their scripts runs and none of them can start anything. Needs root. About 20 s.
set -euo pipefail
dir=$(realpath -m "${1:?usage: samba-root.sh DIR}")
mkdir -p "$dir"
work=$(mktemp -d "$dir/fetch-XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/archives/partial"
# Another one may run as _apt, and must come here.
chmod 755 "$work" "$work/archives"
: > "$work/status"

packages=(
  samba samba-ad-dc samba-ad-provision samba-dsdb-modules samba-vfs-modules winbind ldb-tools samba-common-bin
  adcli krb5-user libsasl2-modules-gssapi-mit bind9-dnsutils ldap-utils faketime nftables iproute2
  bash coreutils dash findutils grep hostname libc-bin mount procps sed util-linux base-passwd libstdc++6
)
# For an empty machine: with this one's own list of packages, what it has would be missing in there.
fetch() {
  apt-get -qq --yes --download-only -o "Dir::State::status=$work/status" -o "Dir::Cache::archives=$work/archives" \
    -o APT::Install-Recommends=false -o Debug::NoLocking=1 install "${packages[@]}" > /dev/null
}
# The package lists of a fresh image are empty or old.
fetch 2> /dev/null || { apt-get -qq update; fetch; }

root=$work/root
for package in "$work"/archives/*.deb; do dpkg-deb --extract "$package" "$root"; done
# What the scripts of the packages would have made.
for file in passwd group; do cp "$root/usr/share/base-passwd/$file.master" "$root/etc/$file"; done
cp "$root/usr/share/libc-bin/nsswitch.conf" "$root/etc/nsswitch.conf"
mkdir -p "$root"/{etc/samba,proc,sys,dev,run,tmp,root,mnt}
chmod 1777 "$root/tmp" "$root/var/tmp"
chroot "$root" ldconfig
mv -T "$root" "$dir/root"
