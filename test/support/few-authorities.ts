import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const CONFIGURATION = '/etc/ca-certificates.conf';
const DIRECTORY = '/etc/ssl/certs';
const HOOKS = '/etc/ca-certificates/update.d';

/**
 * Leaves a throw-away machine of Debian a few of its hundred and fifty authorities, and no hooks of other software (that of
 * Java starts a virtual machine): update-ca-certificates(8) starts six programs for each authority whenever it runs.
 */
export function keepFewAuthorities(): void {
  if (!existsSync(CONFIGURATION)) return;
  const enabled = readFileSync(CONFIGURATION, 'utf8')
    .split('\n')
    .filter((line) => /^\w.*\.crt$/.test(line));
  writeFileSync(CONFIGURATION, `${enabled.slice(0, 3).join('\n')}\n`);
  for (const directory of [DIRECTORY, HOOKS].filter((path) => existsSync(path)))
    for (const name of readdirSync(directory)) rmSync(join(directory, name), { recursive: true });
  execFileSync('update-ca-certificates');
}
