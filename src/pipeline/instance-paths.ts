import {
  HOOKS_DIRECTORY,
  MACHINE_DOCUMENT,
  PRIOR_STATE_DIRECTORY,
  SEALING_KEYS_DIRECTORY,
  UPGRADE_DIRECTORY,
} from '@machineadm/document/ownership/paths.ts';
import { summaryPath } from '@machineadm/status/summary.ts';
import { STATUS_PATHS } from '../reporting/status-writer.ts';
import { JOURNAL_PATH } from './run-journal.ts';

/**
 * Files that identify a machine or were left by its use. None of them may be in an image: every machine booted from it
 * would have the same identity or history.
 */
export interface InstancePath {
  readonly path: string;
  /** True where the contents count, and not the directory itself. */
  readonly below?: true;
  readonly what: string;
  readonly remedy: string;
}

const REMOVE = 'Remove it at the end of the bake.';

export const INSTANCE_PATHS: readonly InstancePath[] = [
  // Files of machineadm.
  { path: JOURNAL_PATH, what: 'the journal of a run', remedy: REMOVE },
  { path: STATUS_PATHS.copy, what: 'the status of a run', remedy: REMOVE },
  { path: summaryPath(STATUS_PATHS.copy), what: 'the summary of a run', remedy: REMOVE },
  { path: HOOKS_DIRECTORY, below: true, what: 'hooks of a machine', remedy: REMOVE },
  { path: PRIOR_STATE_DIRECTORY, below: true, what: 'what was there before the first run', remedy: REMOVE },
  { path: SEALING_KEYS_DIRECTORY, below: true, what: 'the keys of encrypted state', remedy: REMOVE },
  {
    path: UPGRADE_DIRECTORY,
    below: true,
    what: 'what an upgrade of a node keeps, a snapshot of etcd with the Secrets of the cluster among it',
    remedy: REMOVE,
  },
  { path: '/etc/kubernetes/tmp', below: true, what: "kubeadm's copies from an upgrade", remedy: REMOVE },
  { path: MACHINE_DOCUMENT, what: "a machine's document", remedy: REMOVE },
  // Files of the bootstrap (k/k cmd/kubeadm/app/constants/constants.go).
  ...['admin', 'super-admin', 'kubelet', 'bootstrap-kubelet', 'controller-manager', 'scheduler'].map((name) => ({
    path: `/etc/kubernetes/${name}.conf`,
    what: 'credentials of a node',
    remedy: 'Prepare the image on a machine that was never bootstrapped.',
  })),
  ...['/etc/kubernetes/manifests', '/etc/kubernetes/pki', '/var/lib/kubelet/pki', '/var/lib/etcd'].map((path) => ({
    path,
    below: true as const,
    what: 'a bootstrapped node',
    remedy: 'Prepare the image on a machine that was never bootstrapped.',
  })),
  // Files of the operating system.
  {
    path: '/var/lib/dbus/machine-id',
    what: 'the id of the machine, as D-Bus has it',
    remedy: 'Make it a link to /etc/machine-id, or remove it.',
  },
  {
    path: '/var/lib/systemd/credential.secret',
    what: 'the key with which systemd-creds encrypts for this machine',
    remedy: REMOVE,
  },
  { path: '/var/lib/systemd/random-seed', what: 'the seed of random numbers', remedy: REMOVE },
  {
    path: '/var/lib/cloud/instances',
    below: true,
    what: 'what cloud-init keeps of an instance, its user data among it',
    remedy: 'Run `cloud-init clean --logs --seed --machine-id` at the end of the bake.',
  },
  {
    path: '/var/lib/cloud/data/instance-id',
    what: "the cloud's id of the instance",
    remedy: 'Run `cloud-init clean --logs --seed --machine-id` at the end of the bake.',
  },
];

/** machine-id(5): in an image it is empty, "uninitialized" or missing. */
export const MACHINE_ID = '/etc/machine-id';
/** The directory and names of sshd's host keys (sshd_config(5), HostKey). */
export const SSH_DIRECTORY = '/etc/ssh';
export const SSH_HOST_KEY = /^ssh_host_.*_key$/;

/** Whether a file at this path is specific to one machine. */
export function belongsToInstance(path: string): boolean {
  if (path === MACHINE_ID || path === '/etc/hostname') return true;
  const name = path.slice(path.lastIndexOf('/') + 1);
  if (path.startsWith(`${SSH_DIRECTORY}/`) && SSH_HOST_KEY.test(name)) return true;
  return INSTANCE_PATHS.some((known) =>
    known.below === true ? path.startsWith(`${known.path}/`) : path === known.path,
  );
}
