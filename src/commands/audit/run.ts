import { MachineadmError } from '@machineadm/document/errors.ts';
import type { AuditOptions } from '../../cli/options.ts';

/**
 * `machineadm audit`: compares with a benchmark or, with `--residue`, looks for secrets that other tools left. Only
 * `--scrub` changes anything.
 */
export async function audit(options: AuditOptions): Promise<number> {
  const { residue, scrub, profile } = options;
  if (residue === true && profile !== undefined)
    throw usage('--residue and --profile are two audits', 'Run them one by one.');
  if (residue !== true && scrub === true) throw usage('--scrub belongs to --residue', 'Give --residue, too.');
  if (process.geteuid?.() !== 0) {
    throw new MachineadmError({
      reason: 'NotPrivilegedUser',
      summary: 'audit must run as root, because only root can read most of the files that it checks',
      remedy: 'Run it with sudo.',
    });
  }
  if (residue !== true) return await (await import('./hardening-command.ts')).auditHardeningCommand(options);
  if (options.document === undefined) {
    throw usage('--residue needs the document whose secrets it looks for', 'Name it with -f FILE.');
  }
  return await (await import('./residue-command.ts')).auditResidueCommand({ ...options, document: options.document });
}

function usage(summary: string, remedy: string): MachineadmError {
  return new MachineadmError({ reason: 'UsageInvalid', summary, remedy });
}
