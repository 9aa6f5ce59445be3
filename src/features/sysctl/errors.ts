import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import { errnoOf } from '../../host/files/file-error.ts';

/** The module that provides each group of keys; without it the keys do not exist. */
const MODULE_OF_KEY: readonly (readonly [prefix: string, module: string])[] = [
  ['net/bridge/', 'br_netfilter'],
  ['net/netfilter/nf_conntrack', 'nf_conntrack'],
  ['net/nf_conntrack_max', 'nf_conntrack'],
  ['net/ipv4/vs/', 'ip_vs'],
];

/** The module that brings a setting; undefined for one of the kernel itself. */
export function moduleOf(key: string): string | undefined {
  return MODULE_OF_KEY.find(([prefix]) => key.startsWith(prefix))?.[1];
}

export function writeError(key: string, value: string, error: unknown): unknown {
  const code = errnoOf(error);
  if (code === 'ENOENT') return refused('SysctlUnknown', key, error);
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') return refused('SysctlReadOnly', key, error);
  if (code === 'EINVAL' || code === 'ERANGE' || code === 'ENOTDIR' || code === 'EISDIR') {
    const isKey = code === 'ENOTDIR' || code === 'EISDIR';
    return isKey ? refused('SysctlUnknown', key, error) : invalidValue(key, value, error);
  }
  return error;
}

export function refused(
  reason: Extract<Reason, 'SysctlUnknown' | 'SysctlReadOnly'>,
  key: string,
  cause?: unknown,
): MachineadmError {
  const module = moduleOf(key);
  const code = errnoOf(cause);
  const evidence = code === undefined ? [] : [{ source: `/proc/sys/${key}`, text: code }];
  if (reason === 'SysctlReadOnly') {
    return new MachineadmError({
      reason,
      summary: `The kernel setting ${key} cannot be written on this machine.`,
      remedy:
        'Set it on the host if this is a container (/proc/sys is read-only, or the key belongs to the first network ' +
        `namespace), or remove ${key} from host.sysctl.`,
      evidence,
      cause,
    });
  }
  return new MachineadmError({
    reason,
    summary: `This kernel has no setting named ${key}.`,
    remedy:
      module === undefined
        ? `Correct the key, or name the module that brings it under host.kernelModules.`
        : `Add ${module} to host.kernelModules: the key exists only while that module is loaded.`,
    evidence,
    cause,
  });
}

function invalidValue(key: string, value: string, cause: unknown): MachineadmError {
  return new MachineadmError({
    reason: 'SysctlInvalidValue',
    summary: `The kernel refused the value "${value}" for ${key}.`,
    remedy: `Correct host.sysctl: ${key} takes another range or form of value.`,
    evidence: [{ source: `/proc/sys/${key}`, text: errnoOf(cause) ?? '' }],
    cause,
  });
}

export function notEffective(key: string, want: string, got: string | undefined): MachineadmError {
  return new MachineadmError({
    reason: 'SysctlNotEffective',
    summary: `${key} was set to "${want}" but reads "${got ?? 'nothing: it cannot be read'}".`,
    remedy: 'Find what else manages this key (tuned, a CNI plugin, another agent) or the value that the kernel allows.',
    evidence: got === undefined ? [] : [{ source: `/proc/sys/${key}`, text: got }],
  });
}
