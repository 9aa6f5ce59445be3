#!/usr/bin/env bash
# boot.sh DIRECTORY NAME LOWER IMAGES BRIDGE: the process that is a lab machine. Started in a mount namespace of its own,
# so that nothing of it can be left mounted, and in a session of its own. Ends when the machine is powered off.
set -euo pipefail
directory=$1 name=$2 lower=$3 images=$4 bridge=$5
# One cgroup for each machine: two kubelets in one would take each other's pods for orphans.
for controller in /sys/fs/cgroup/*/; do
  group=$controller/machineadm-lab/$name
  mkdir -p "$group" 2>/dev/null || continue
  # a new cpuset is empty and takes no process until it is filled (kernel Documentation/admin-guide/cgroup-v1/cpusets.rst)
  for level in "$controller/machineadm-lab" "$group"; do
    if [ -e "$level/cpuset.cpus" ]; then
      cat "$level/../cpuset.cpus" > "$level/cpuset.cpus"
      cat "$level/../cpuset.mems" > "$level/cpuset.mems"
      echo 1 > "$level/cgroup.clone_children"
    fi
  done
  # All machines together are one group beside every other process of the host, and the deadlines in them are real.
  if [ -e "$controller/machineadm-lab/cpu.shares" ]; then echo 16384 > "$controller/machineadm-lab/cpu.shares"; fi
  echo $$ > "$group/cgroup.procs"
done
mount --make-rprivate /
mount -t overlay overlay -o "lowerdir=$lower,upperdir=$directory/upper,workdir=$directory/work" "$directory/root"
# nspawn lets a machine reboot only where its run-time directory is not on a disk file system
mkdir -p /run/systemd/nspawn
mount -t tmpfs -o mode=0755 tmpfs /run/systemd/nspawn
while :; do
  # The containers' storage must not lie on the overlay: containerd's overlayfs snapshotter cannot stack on one.
  systemd-nspawn -D "$directory/root" --machine="$name" --boot --register=no --keep-unit --network-bridge="$bridge" \
    --resolv-conf=off --capability=all --system-call-filter="@known bpf keyctl" \
    --bind="$directory/containerd:/var/lib/containerd" --bind="$directory/kubelet:/var/lib/kubelet" \
    --bind-ro="$images:/opt/images" --bind=/dev/kmsg &
  nspawn=$!
  echo "$nspawn" > "$directory/nspawn.pid.new" && mv "$directory/nspawn.pid.new" "$directory/nspawn.pid"
  status=0
  wait "$nspawn" || status=$?
  # 133: the machine asked for a reboot; with --keep-unit the caller starts it again (systemd src/nspawn/nspawn.c)
  [ "$status" = 133 ] || break
done
