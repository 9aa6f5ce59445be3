export const SENTINEL_UNIT = 'machineadm-sentinel.service';
export const SENTINEL_UNIT_PATH = `/etc/systemd/system/${SENTINEL_UNIT}`;

/**
 * The systemd unit that puts the sentinel back after a reboot. It runs once at boot and changes nothing else: whether
 * this instance ever earned the sentinel is for `sentinel restore` to find out from the journal.
 *
 * It follows cloud-init's stages that identify the instance, because on a copied disk only they know that it is another
 * one (cloud-init 24.3 renamed cloud-init.service; a unit that does not exist orders nothing).
 *
 * @param command absolute path of the program and the arguments that stand for machineadm
 */
export function renderSentinelUnit(command: readonly string[]): string {
  return `# Written by machineadm; it is put back as it was by the next machineadm provision.
[Unit]
Description=Restore the bootstrap sentinel of Cluster API after a reboot
Documentation=https://cluster-api.sigs.k8s.io/developer/providers/contracts/bootstrap-config
RequiresMountsFor=/var/lib/machineadm
After=local-fs.target cloud-init-local.service cloud-init.service cloud-init-network.service

[Service]
Type=oneshot
ExecStart=${[...command, 'sentinel', 'restore'].map(quoted).join(' ')}
UnsetEnvironment=NODE_OPTIONS NODE_EXTRA_CA_CERTS OPENSSL_CONF
NoNewPrivileges=yes

[Install]
WantedBy=multi-user.target
`;
}

/** systemd.service(5), "COMMAND LINES": quotes, backslashes, specifiers (%) and variables ($). */
function quoted(word: string): string {
  const escaped = word.replace(/[\\"]/g, '\\$&').replaceAll('%', '%%').replaceAll('$', '$$$$');
  return /^[A-Za-z0-9_./:=@%$+-]+$/.test(escaped) ? escaped : `"${escaped}"`;
}
