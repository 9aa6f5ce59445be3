import { PACKAGE_LOCK, PACKAGE_LOCK_HELD } from '@machineadm/document/outcomes/package-lock.ts';
import type { TopicEntry } from './entry.ts';

const HOLDER = 'by process 1804 (unattended-upgr)';

/** What runs at the first boot before kubeadm: package managers, the scripts of cloud-init. */
export const FIRST_BOOT: readonly TopicEntry[] = [
  {
    id: 'package-lock-held',
    source: 'kubeadm',
    kind: 'cause',
    reason: 'PackageManagerLocked',
    priority: 96,
    pattern: PACKAGE_LOCK_HELD,
    retryable: true,
    cleanup: 'none',
    says: 'Process $2 ($3) holds the lock $1 of the package manager.',
    remedy:
      'Run the same command again once the process has ended. In a hook, let apt wait (`apt-get -o DPkg::Lock::Timeout=600`), or run it after the timers of unattended upgrades.',
    reference: 'apt apt-pkg/contrib/fileutl.cc GetLock (1.9.11 and later)',
    example: `E: Could not get lock /var/lib/dpkg/lock-frontend. It is held ${HOLDER}`,
  },
  {
    id: 'package-lock',
    source: 'kubeadm',
    kind: 'cause',
    reason: 'PackageManagerLocked',
    priority: 95,
    pattern: PACKAGE_LOCK,
    retryable: true,
    cleanup: 'none',
    remedy:
      'Find the process that holds the lock (`fuser -v /var/lib/dpkg/lock-frontend`, `ps -ef`), and run the same command again once it has ended. In a hook, let the package manager wait: `apt-get -o DPkg::Lock::Timeout=600`, `zypper --non-interactive` with ZYPP_LOCK_TIMEOUT=600.',
    reference: 'apt, yum, dnf, rpm lib/rpmlock.c, libzypp zypp/ZYppFactory.cc',
    example: 'E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), is another process using it?',
  },
  {
    id: 'cloud-init-script',
    place: 'kubeadm',
    source: 'kubeadm',
    kind: 'generic',
    onlyWithoutKubeadm: true,
    reason: 'CloudInitScriptFailed',
    priority: 50,
    pattern: /(?:Failed to run module|Running module) (scripts[-_]\w+|runcmd|bootcmd)\b/,
    retryable: false,
    cleanup: 'none',
    says: 'A script of the user data failed (cloud-init module $1).',
    remedy:
      'The cause is in the output of its commands, which cloud-init writes to /var/log/cloud-init-output.log: `machineadm diagnose /var/log/cloud-init-output.log`.',
    reference: 'cloud-init cloudinit/config/cc_scripts_user.py, cloudinit/subp.py runparts',
    example:
      '2024-11-15 08:04:43,030 - cc_scripts_user.py[WARNING]: Failed to run module scripts-user (scripts in /var/lib/cloud/instance/scripts)',
  },
];
