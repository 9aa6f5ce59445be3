/**
 * What a bake does to an image in `$ROOT`, for a first boot in the lab: the kernel is the host's, and so are its clock and
 * disks, so that chronyd, fstrim and the like must not be enabled. Names with l and m are left to the presets of the system; the
 * unit lab-probe shows that these were applied. systemd-firstboot(1) would ask questions.
 */
export const FIRST_BOOT_IN_LAB = `mkdir -p "$ROOT/etc/systemd/system" "$ROOT/etc/systemd/system-preset"
ln -sf /dev/null "$ROOT/etc/systemd/system/systemd-firstboot.service"
echo 'disable [!lm]*' >"$ROOT/etc/systemd/system-preset/00-lab.preset"
printf '[Service]\\nType=oneshot\\nExecStart=true\\n[Install]\\nWantedBy=multi-user.target\\n' \\
  >"$ROOT/usr/lib/systemd/system/lab-probe.service"
`;
