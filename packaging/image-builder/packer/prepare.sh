#!/bin/sh
# The last shell provisioner of a Packer build, run as root; machineadm.pkr.hcl beside it is a build that has it.
#
# It prepares the image, takes away what belongs to the machine that bakes it, and fails where something of it is left.
set -eu
document=${MACHINEADM_DOCUMENT:?the path of the document for the image}
# sudo of RHEL leaves /usr/local/bin out of PATH.
machineadm=${MACHINEADM:-$(command -v machineadm || echo /usr/local/bin/machineadm)}

"$machineadm" prepare -d "$document"

if command -v cloud-init >/dev/null; then cloud-init clean --logs --seed; fi
rm -f /etc/ssh/ssh_host_*_key /etc/ssh/ssh_host_*_key.pub
# systemd saves the seed when the service stops, at the latest at the power-off: stop it before.
if [ -d /run/systemd/system ]; then systemctl stop systemd-random-seed.service || true; fi
rm -f /var/lib/systemd/random-seed
rm -f /var/lib/dbus/machine-id
# Empty and not absent: systemd puts a new id there on the first boot, on a read-only /etc as well (machine-id(5)).
: > /etc/machine-id

"$machineadm" prepare --verify -d "$document"
rm -f "$document"
