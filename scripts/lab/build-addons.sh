#!/usr/bin/env bash
# build-addons.sh DIR ROOT KUBERNETES: what a cluster needs beyond its control plane until its nodes are Ready and a pod can
# be asked: DIR/layer with the CNI plugins for a machine, and DIR/roots with one root file system for each image that
# image-archives.ts packs: kube-proxy with its iptables, and busybox. All of it as Debian 12 packages it, taken from the
# machine image ROOT or fetched by this machine's apt; kube-proxy itself comes from KUBERNETES/bin. Needs root. Seconds.
set -euo pipefail
dir=$(realpath -m "${1:?usage: build-addons.sh DIR ROOT KUBERNETES}"); root=$(realpath "${2:?}"); kubernetes=$(realpath "${3:?}")
phase() { echo "==> $*"; }

phase "fetching the CNI plugins and busybox"
mkdir -p "$dir/download" "$dir/layer/usr/lib" "$dir/roots"
cd "$dir/download"
apt-get -q update
apt-get -q -o APT::Sandbox::User=root download containernetworking-plugins busybox-static
dpkg -x containernetworking-plugins_*.deb "$dir/download/cni"
# No more than that: the package has a directory /lib, which would hide the machine's symbolic link of that name.
mv "$dir/download/cni/usr/lib/cni" "$dir/layer/usr/lib/"
dpkg -x busybox-static_*.deb "$dir/download/busybox"

phase "collecting the files of the images"
busybox=$dir/roots/busybox
install -D -m 0755 "$dir/download/busybox/bin/busybox" "$busybox/bin/busybox"
for program in $("$busybox/bin/busybox" --list); do
  [ "$program" = busybox ] || ln -s busybox "$busybox/bin/$program"
done
mkdir -p "$busybox/tmp" "$busybox/www"

# An official kube-proxy comes as an image of its own.
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
# The matches are loaded when a rule needs them: that of a Service with several endpoints (statistic) needs libm.
chroot "$root" sh -c 'ldd /usr/sbin/xtables-nft-multi /usr/sbin/conntrack /usr/lib/x86_64-linux-gnu/xtables/*.so' |
  awk '$2 == "=>" && $3 ~ /^\// { print $3 } $1 ~ /^\/lib.*[^:]$/ { print $1 }' | sort -u |
  while read -r library; do install -D -m 0755 "$root$library" "$proxy$library"; done
rm -rf "$dir/download"
phase "the addons are complete"
