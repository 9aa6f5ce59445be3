#!/bin/sh
# Runs in the machine of `npm run lab -- vm` after machineadm-provision.service. Prints each command with its output and
# its exit status. The exit status is 0 only if every command succeeded.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 KUBECONFIG=/etc/kubernetes/admin.conf
failed=0
check() {
  echo
  echo "vm\$ $*"
  "$@" 2>&1 || { echo "exit status $?"; failed=1; }
}
document=/etc/machineadm/bootstrap.yaml
check test -e /sys/fs/cgroup/cgroup.controllers
check machineadm status
check machineadm timeline
check kubectl wait --for=condition=Ready --timeout=60s nodes --all
check machineadm plan --exit-code -d "$document"
check machineadm provision -d "$document"
exit "$failed"
