import { RUN_DIRECTORY, STATE_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
/** A place where a tool that runs before or beside machineadm keeps the data it was given. */
export interface ResiduePlace {
  /** A file, or a directory with everything below it. Symbolic links are not followed. */
  readonly path: string;
  readonly tool: string;
  /** Why values there are not overwritten, and what to do instead. undefined: they can be overwritten. */
  readonly keep?: string;
}

const WIPED_BY_US = 'a successful run removes it; remove it with "rm"';
const JOURNAL = 'its entries carry hashes: drop them with "journalctl --rotate --vacuum-time=1s"';

/**
 * cloud-init: cloudinit/helpers.py (Paths: cloud_dir, run_dir and the names below an instance) and its default log files
 * (config/cloud.cfg.d/05_logging.cfg). Ignition: docs/operator-notes.md, internal/exec/engine.go (config cache),
 * dracut/30ignition. Machine configurations of OpenShift keep Ignition's. waagent: azurelinuxagent/common/conf.py
 * (Lib.Dir). curtin and subiquity log below /var/log/installer; Anaconda writes its kickstart to /root.
 */
export const RESIDUE_PLACES: readonly ResiduePlace[] = [
  { path: '/var/lib/cloud', tool: 'cloud-init' },
  { path: '/run/cloud-init', tool: 'cloud-init' },
  { path: '/var/log/cloud-init.log', tool: 'cloud-init' },
  { path: '/var/log/cloud-init-output.log', tool: 'cloud-init' },
  { path: '/etc/cloud/cloud.cfg.d', tool: 'cloud-init' },
  { path: '/run/ignition.json', tool: 'Ignition' },
  { path: '/run/ignition', tool: 'Ignition' },
  { path: '/boot/ignition', tool: 'Ignition' },
  { path: '/usr/lib/ignition', tool: 'Ignition' },
  { path: '/usr/share/oem', tool: 'Ignition (Flatcar)' },
  { path: '/oem', tool: 'Ignition (Flatcar)' },
  { path: '/var/lib/flatcar-install', tool: 'coreos-cloudinit' },
  { path: '/var/lib/coreos-install', tool: 'coreos-cloudinit' },
  { path: '/etc/ignition-machine-config-encapsulated.json', tool: 'Ignition (machine-config)' },
  { path: '/run/metadata', tool: 'afterburn' },
  { path: '/var/lib/waagent', tool: 'waagent' },
  { path: '/var/log/waagent.log', tool: 'waagent' },
  { path: '/var/log/installer', tool: 'the installer' },
  { path: '/var/log/anaconda', tool: 'the installer' },
  { path: '/root/anaconda-ks.cfg', tool: 'the installer' },
  { path: '/run/kubeadm', tool: 'machineadm', keep: WIPED_BY_US },
  { path: RUN_DIRECTORY, tool: 'machineadm', keep: 'report it: machineadm must leave no secret here' },
  { path: STATE_DIRECTORY, tool: 'machineadm', keep: 'report it: machineadm must leave no secret here' },
  { path: '/etc/machineadm', tool: 'machineadm', keep: 'a later run reads it; remove it when none is wanted' },
  { path: '/var/log/syslog', tool: 'the system log' },
  { path: '/var/log/messages', tool: 'the system log' },
  { path: '/var/log/journal', tool: 'journald', keep: JOURNAL },
  { path: '/run/log/journal', tool: 'journald', keep: JOURNAL },
];
