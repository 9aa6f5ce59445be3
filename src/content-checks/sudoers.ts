import { basename } from 'node:path/posix';
import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import type { QueryHost } from '../host/seam/host.ts';
import { notChecked, type UnmetRequirement } from '../step/index.ts';
import type { CheckedFile } from './checked-file.ts';

export function isSudoersFile(path: string): boolean {
  return path === '/etc/sudoers' || /^\/etc\/sudoers\.d\/[^/]+$/.test(path);
}

/** What sudo does not understand of rules; undefined: nothing. They are handed over as standard input. */
export async function sudoersTrouble(host: QueryHost, rules: string): Promise<string | undefined> {
  const checked = await host.query({ program: 'visudo', args: ['-c', '-f', '-'], input: rules });
  if (checked.status === 0) return undefined;
  // Behind the first line it shows the rule.
  const said = `${checked.stderr}\n${checked.stdout}`.split('\n').find((line) => line.trim() !== '') ?? '';
  return redact(said.trim());
}

export async function sudoersObstacles(
  host: QueryHost,
  files: readonly CheckedFile[],
): Promise<readonly UnmetRequirement[]> {
  const found: UnmetRequirement[] = [];
  const isInstalled = (await host.which('visudo')) !== undefined;
  for (const { path, text, change, scope } of files) {
    const at = { change, scope, reason: 'SudoersInvalid' } as const;
    // sudoers(5), @includedir: "skipping file names that end in '~' or contain a '.' character".
    if (path !== '/etc/sudoers' && /\.|~$/.test(basename(path))) {
      const what = `sudo ignores ${path}, because of the dot or tilde in its name`;
      found.push({ ...at, what, remedy: 'Give the file a name without "." and "~".', severity: 'warning' });
      continue;
    }
    const trouble = isInstalled ? await sudoersTrouble(host, text) : undefined;
    if (!isInstalled) found.push(notChecked(path, 'no visudo', { change }));
    else if (trouble !== undefined) {
      const remedy = `Correct ${path} under host.files; "visudo -c -f FILE" checks it.`;
      found.push({ ...at, what: `sudo does not understand ${path}: ${trouble}`, remedy, certain: true });
    }
  }
  return found;
}
