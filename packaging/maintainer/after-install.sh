# The group whose members may read the status. Without either program machineadm writes the status for root alone, and
# systemd-sysusers creates the group at the next boot.
if command -v systemd-sysusers >/dev/null; then systemd-sysusers machineadm.conf || true; fi
if ! getent group machineadm >/dev/null && command -v groupadd >/dev/null; then groupadd --system machineadm || true; fi
# Written by before-removal.sh: the program itself restores the sentinel again.
dropins=/etc/systemd/system/machineadm-sentinel.service.d
rm -f "$dropins/package-removed.conf"
if [ -d "$dropins" ]; then rmdir --ignore-fail-on-non-empty "$dropins"; fi
if [ -d /run/systemd/system ]; then systemctl daemon-reload || true; fi
