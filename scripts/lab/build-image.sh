#!/usr/bin/env bash
# build-image.sh DIR KUBERNETES: builds the machine image DIR/root: Debian 12 with systemd, journald, and Debian's
# containerd and runc; kubeadm, kubelet and kubectl from KUBERNETES/bin with the unit files of the upstream packages
# (k/release cmd/krel/templates/latest/kubeadm/10-kubeadm.conf). Needs root. Takes about 2 minutes.
set -euo pipefail
dir=$(realpath -m "${1:?usage: build-image.sh DIR KUBERNETES}"); kubernetes=$(realpath "${2:?}")
here=$(dirname "$(realpath "$0")"); image=$dir/root
phase() { echo "==> $*"; }

# Use the Debian mirror and the proxy of this machine's apt.
mirror=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(ORIGIN)' 'Created-By: Packages' |
  awk '$2=="bookworm" && $3=="Debian" {print $1; exit}')
[ -n "$mirror" ] || { echo "apt on this machine is not set up for Debian bookworm" >&2; exit 1; }
eval "$(apt-config shell http_proxy Acquire::http::Proxy)"
[ -z "${http_proxy:-}" ] || export http_proxy

packages=systemd,systemd-sysv,dbus,udev,kmod,iproute2,iptables,conntrack,socat,ebtables,ethtool,containerd,runc,procps
packages+=,ca-certificates,openssl,e2fsprogs,xfsprogs,gdisk,parted,util-linux,chrony,sudo,curl,bsdutils,bsdextrautils,strace,jq
rm -rf "$image"
phase "installing Debian 12"
debootstrap --variant=minbase --include="$packages" bookworm "$image" "$mirror"

phase "adding Kubernetes"
install -m 0755 "$here/crictl" "$kubernetes"/bin/{kubeadm,kubelet,kubectl} "$image/usr/bin/"
units=$image/etc/systemd/system
mkdir -p "$units/kubelet.service.d" "$units/multi-user.target.wants" "$units/sysinit.target.wants"
cat > "$units/kubelet.service" <<'UNIT'
[Unit]
Description=kubelet: The Kubernetes Node Agent
Wants=network-online.target
After=network-online.target

[Service]
ExecStart=/usr/bin/kubelet
Restart=always
StartLimitInterval=0
RestartSec=10

[Install]
WantedBy=multi-user.target
UNIT
cat > "$units/kubelet.service.d/10-kubeadm.conf" <<'UNIT'
[Service]
Environment="KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf"
Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml"
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
EnvironmentFile=-/etc/default/kubelet
ExecStart=
ExecStart=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS
UNIT

# systemd-nspawn mounts /proc/sys and the cgroup v1 controllers read-only. The kubelet writes both and otherwise exits with
# "Failed to start ContainerManager [open /proc/sys/vm/overcommit_memory: read-only file system".
cat > "$units/lab-writable.service" <<'UNIT'
[Unit]
Description=Lab: writable kernel settings and cgroups
DefaultDependencies=no
Before=sysinit.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c 'mount -o remount,bind,rw /proc/sys; for c in /sys/fs/cgroup/*/; do mount -o remount,bind,rw "$c" || true; done'
UNIT
ln -sf /etc/systemd/system/lab-writable.service "$units/sysinit.target.wants/"
ln -sf /etc/systemd/system/kubelet.service /lib/systemd/system/systemd-networkd.service "$units/multi-user.target.wants/"
# Timers would interfere with comparisons of the machine before and after a run. fstrim would also trim the host's disk.
rm -f "$units"/timers.target.wants/{apt-daily,apt-daily-upgrade,dpkg-db-backup,e2scrub_all,fstrim}.timer
# The machine shares the clock of the host: chronyd must not set it.
rm -f "$units/multi-user.target.wants/chrony.service" "$units/multi-user.target.wants/e2scrub_reap.service"
# A persistent journal, as in Debian's own images.
mkdir -p "$image/var/log/journal" "$image/opt/images"
: > "$image/etc/machine-id"
rm -rf "$image"/var/cache/apt/archives/*.deb "$image"/var/lib/apt/lists/*
phase "the machine image is complete"
