import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { CheckFormat } from '../../cli/findings.ts';
import { usageError } from '../../cli/usage-error.ts';

/** Options of `audit`: a benchmark, or secrets that other tools left. */
export interface AuditOptions {
  readonly document?: readonly string[];
  readonly output: CheckFormat;
  readonly profile?: readonly string[];
  readonly residue?: true;
  readonly scrub?: true;
}

/**
 * `machineadm audit`: compares with a benchmark or, with `--residue`, looks for secrets that other tools left. Only
 * `--scrub` changes anything.
 */
export async function audit(options: AuditOptions): Promise<number> {
  const { residue, scrub, profile } = options;
  if (residue === true && profile !== undefined)
    throw usageError('--residue and --profile are two audits', 'Run them one by one.');
  if (residue !== true && scrub === true) throw usageError('--scrub belongs to --residue', 'Give --residue, too.');
  if (process.geteuid?.() !== 0) {
    throw new MachineadmError({
      reason: 'NotPrivilegedUser',
      summary: 'audit must run as root, because only root can read most of the files that it checks',
      remedy: 'Run it with sudo.',
    });
  }
  if (residue !== true) return await (await import('./hardening.ts')).auditHardeningCommand(options);
  if (options.document === undefined) {
    throw usageError('--residue needs the document whose secrets it looks for', 'Name it with -f FILE.');
  }
  return await (await import('./residue.ts')).auditResidueCommand({ ...options, document: options.document });
}
