import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import { textLines } from '@machineadm/document/text/printable.ts';
import type { Command, Host, QueryHost } from '../host/seam/host.ts';
import type { UnmetRequirement } from '../step/index.ts';

/** The package of each program, as most distributions name it. */
const PACKAGES: Readonly<Record<string, string>> = {
  groupadd: 'passwd (shadow-utils)',
  useradd: 'passwd (shadow-utils)',
  usermod: 'passwd (shadow-utils)',
  userdel: 'passwd (shadow-utils)',
  groupdel: 'passwd (shadow-utils)',
  chpasswd: 'passwd (shadow-utils)',
  setpriv: 'util-linux',
  install: 'coreutils',
};

/** The programs of these that are not installed. */
export async function missingTools(
  host: QueryHost,
  programs: ReadonlySet<string>,
): Promise<readonly UnmetRequirement[]> {
  const missing: UnmetRequirement[] = [];
  for (const program of programs) {
    if ((await host.which(program)) !== undefined) continue;
    missing.push({
      reason: 'AccountToolMissing',
      what: `${program} is not installed`,
      remedy: `Install ${PACKAGES[program] ?? program}, or create the users and groups in the image.`,
    });
  }
  return missing;
}

/** Runs a program of shadow-utils. Throws `AccountNotChanged` with its output. */
export async function changeAccount(host: Host, command: Command, whatFailed: string): Promise<void> {
  const result = await host.run(command);
  if (result.status === 0) return;
  throw new MachineadmError({
    reason: 'AccountNotChanged',
    summary: `${whatFailed}: ${command.program} ended with status ${result.status}`,
    remedy:
      'Read its message below. "cannot lock" means that another program changes accounts at this moment, or that /etc ' +
      'is read-only.',
    evidence: textLines(result.stderr).map((line) => ({ source: command.program, text: redact(line) })),
    retryable: true,
  });
}
