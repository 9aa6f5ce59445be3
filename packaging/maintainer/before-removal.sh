# A unit that an image enabled must not stay enabled without its program; --root= works where /run is that of a host
# (image builders), too. A run continues: it keeps the file that it was started from. What would start the program again is
# stopped.
if command -v systemctl >/dev/null; then
  for unit in @UNITS@; do
    systemctl --quiet --root=/ disable "$unit" >/dev/null 2>&1 || true
  done
fi
if [ -d /run/systemd/system ]; then
  systemctl stop machineadm-audit.timer machineadm-report-flush.timer machineadm-report-watch.service >/dev/null 2>&1 || true
fi
# The units that a run wrote (hooks, sentinel) are skipped by systemd while the program is absent, and work again when it
# comes back. The sentinel must outlive a reboot without the program, too, where this instance has earned it.
if [ -d /run/systemd/system ] && [ -e /etc/systemd/system/machineadm-sentinel.service ]; then
  sentinel=$(machineadm sentinel restore 2>&1 | sed -n 's/^restored \(\/[A-Za-z0-9._\/+-]*\)$/\1/p') || sentinel=
  if [ -n "$sentinel" ]; then
    dropins=/etc/systemd/system/machineadm-sentinel.service.d
    mkdir -p "$dropins"
    cat >"$dropins/package-removed.conf" <<END
# Written when the package machineadm was removed; its installation deletes this file. A copy of the disk is another machine.
[Unit]
ConditionFileIsExecutable=
ConditionHost=$(cat /etc/machine-id)

[Service]
ExecStart=
ExecStart=/bin/sh -c 'umask 022; mkdir -p ${sentinel%/*} && echo success >$sentinel'
END
  fi
fi
