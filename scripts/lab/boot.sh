#!/usr/bin/env bash
# boot.sh DIRECTORY NAME LOWER IMAGES BRIDGE: the supervisor process of a lab machine. It runs in a mount namespace of its
# own, so that no mount remains after it, and in a session of its own. It exits when the machine is powered off.
set -euo pipefail
directory=$1 name=$2 lower=$3 images=$4 bridge=$5
# One cgroup for each machine: with a shared one, each kubelet would remove the pods of the other as orphans.
for controller in /sys/fs/cgroup/*/; do
  group=$controller/machineadm-lab/$name
  mkdir -p "$group" 2>/dev/null || continue
  # A new cpuset is empty and accepts no process before it has CPUs and memory nodes
  # (kernel Documentation/admin-guide/cgroup-v1/cpusets.rst).
  for level in "$controller/machineadm-lab" "$group"; do
    if [ -e "$level/cpuset.cpus" ]; then
      cat "$level/../cpuset.cpus" > "$level/cpuset.cpus"
      cat "$level/../cpuset.mems" > "$level/cpuset.mems"
      echo 1 > "$level/cgroup.clone_children"
    fi
  done
  # All machines share one group of the host. It gets more CPU shares because the deadlines in the machines are real.
  if [ -e "$controller/machineadm-lab/cpu.shares" ]; then echo 16384 > "$controller/machineadm-lab/cpu.shares"; fi
  echo $$ > "$group/cgroup.procs"
done
mount --make-rprivate /
mount -t overlay overlay -o "lowerdir=$lower,upperdir=$directory/upper,workdir=$directory/work" "$directory/root"
# nspawn can reboot a machine only if its runtime directory is not on a disk file system.
mkdir -p /run/systemd/nspawn
mount -t tmpfs -o mode=0755 tmpfs /run/systemd/nspawn
while :; do
  # The container storage must not be on an overlay: containerd's overlayfs snapshotter does not work there.
  systemd-nspawn -D "$directory/root" --machine="$name" --boot --register=no --keep-unit --network-bridge="$bridge" \
    --resolv-conf=off --capability=all --system-call-filter="@known bpf keyctl" \
    --bind="$directory/containerd:/var/lib/containerd" --bind="$directory/kubelet:/var/lib/kubelet" \
    --bind-ro="$images:/opt/images" --bind=/dev/kmsg &
  nspawn=$!
  echo "$nspawn" > "$directory/nspawn.pid.new" && mv "$directory/nspawn.pid.new" "$directory/nspawn.pid"
  status=0
  wait "$nspawn" || status=$?
  # 133: the machine requested a reboot. With --keep-unit, the caller must restart it (systemd src/nspawn/nspawn.c).
  [ "$status" = 133 ] || break
done
