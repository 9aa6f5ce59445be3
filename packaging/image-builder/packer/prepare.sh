#!/bin/sh
# The last shell provisioner of a Packer build, run as root. machineadm.pkr.hcl in this directory is a build that uses it.
#
# It prepares the image, removes everything that belongs to the machine that bakes it, and fails if something of it remains.
set -eu
document=${MACHINEADM_DOCUMENT:?the path of the document for the image}
# sudo of RHEL leaves /usr/local/bin out of PATH.
machineadm=${MACHINEADM:-$(command -v machineadm || echo /usr/local/bin/machineadm)}

"$machineadm" prepare -d "$document"

if command -v cloud-init >/dev/null; then cloud-init clean --logs --seed; fi
rm -f /etc/ssh/ssh_host_*_key /etc/ssh/ssh_host_*_key.pub
# systemd saves the seed when the service stops, so stop the service before the seed is removed.
if [ -d /run/systemd/system ]; then systemctl stop systemd-random-seed.service || true; fi
rm -f /var/lib/systemd/random-seed
rm -f /var/lib/dbus/machine-id
# Empty, not absent: systemd writes a new id on the first boot, also with a read-only /etc (machine-id(5)).
: > /etc/machine-id

"$machineadm" prepare --verify -d "$document"
rm -f "$document"
