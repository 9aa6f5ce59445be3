# /var/lib/machineadm stays: it says what this machine was made into, and without it a package that comes back would take a
# working node for a new machine. `machineadm reset` is what undoes a node. The group of the status stays with the status:
# its number must not become that of another group.
if [ -d /run/systemd/system ]; then systemctl daemon-reload || true; fi
