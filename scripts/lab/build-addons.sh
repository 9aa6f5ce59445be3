#!/usr/bin/env bash
# build-addons.sh DIR ROOT KUBERNETES: builds what a cluster needs besides its control plane for Ready nodes and a running
# pod: DIR/layer with the CNI plugins for a machine, and DIR/roots with one root file system for each image that
# image-archives.ts packs: kube-proxy with its iptables, and busybox. The files are those of Debian 12, from the machine
# image ROOT or downloaded with this machine's apt. kube-proxy comes from KUBERNETES/bin. Needs root. Takes seconds.
set -euo pipefail
dir=$(realpath -m "${1:?usage: build-addons.sh DIR ROOT KUBERNETES}"); root=$(realpath "${2:?}"); kubernetes=$(realpath "${3:?}")
phase() { echo "==> $*"; }

phase "fetching the CNI plugins and busybox"
mkdir -p "$dir/download" "$dir/layer/usr/lib" "$dir/roots"
cd "$dir/download"
apt-get -q update
apt-get -q -o APT::Sandbox::User=root download containernetworking-plugins busybox-static
dpkg -x containernetworking-plugins_*.deb "$dir/download/cni"
# Only this directory: the package also has a directory /lib, which would hide the machine's symbolic link of that name.
mv "$dir/download/cni/usr/lib/cni" "$dir/layer/usr/lib/"
dpkg -x busybox-static_*.deb "$dir/download/busybox"

phase "collecting the files of the images"
busybox=$dir/roots/busybox
install -D -m 0755 "$dir/download/busybox/bin/busybox" "$busybox/bin/busybox"
for program in $("$busybox/bin/busybox" --list); do
  [ "$program" = busybox ] || ln -s busybox "$busybox/bin/$program"
done
mkdir -p "$busybox/tmp" "$busybox/www"

# An official kube-proxy is published as an image.
if [ ! -e "$kubernetes/bin/kube-proxy" ]; then
  rm -rf "$dir/download"
  phase "the addons are complete"
  exit
fi
# kube-proxy writes its rules with iptables-restore, and deletes connections with conntrack (k/k pkg/util/iptables, conntrack).
proxy=$dir/roots/kube-proxy
install -D -m 0755 "$kubernetes/bin/kube-proxy" "$proxy/usr/local/bin/kube-proxy"
mkdir -p "$proxy/usr/sbin" "$proxy/usr/lib/x86_64-linux-gnu" "$proxy/run"
cp "$root/usr/sbin/xtables-nft-multi" "$root/usr/sbin/conntrack" "$proxy/usr/sbin/"
cp -r "$root/usr/lib/x86_64-linux-gnu/xtables" "$proxy/usr/lib/x86_64-linux-gnu/"
for program in {ip,ip6}tables{,-save,-restore}; do ln -s xtables-nft-multi "$proxy/usr/sbin/$program"; done
# Match extensions are loaded on demand. The one for a Service with several endpoints (statistic) needs libm.
chroot "$root" sh -c 'ldd /usr/sbin/xtables-nft-multi /usr/sbin/conntrack /usr/lib/x86_64-linux-gnu/xtables/*.so' |
  awk '$2 == "=>" && $3 ~ /^\// { print $3 } $1 ~ /^\/lib.*[^:]$/ { print $1 }' | sort -u |
  while read -r library; do install -D -m 0755 "$root$library" "$proxy$library"; done
rm -rf "$dir/download"
phase "the addons are complete"
