import { matchesGlob } from 'node:path';
import { dirname } from 'node:path/posix';
import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import type { QueryHost } from '../host/seam/host.ts';
import { PRIVATE_FILES } from '../host/seam/queries.ts';
import { notChecked, type UnmetRequirement } from '../step/index.ts';
import type { CheckedFile } from './checked-file.ts';

const DIRECTORY = '/etc/ssh';
const MAIN = `${DIRECTORY}/sshd_config`;
/** openSUSE keeps the vendor's file there. */
const VENDOR_MAIN = '/usr/etc/ssh/sshd_config';
/** servconf.c, SERVCONF_MAX_DEPTH. */
const MOST_INCLUDED = 16;

export function isSshdFile(path: string): boolean {
  return path === MAIN || /^\/etc\/ssh\/sshd_config\.d\/[^/]+\.conf$/.test(path);
}

/**
 * What sshd would refuse to start with. It reads copies: the configuration as it will be, with all files that it includes, those of
 * the document and those that are there. Which keys and directories the machine has is not asked here.
 */
export async function sshdObstacles(
  host: QueryHost,
  files: readonly CheckedFile[],
): Promise<readonly UnmetRequirement[]> {
  const program = await host.which('sshd');
  if (program === undefined) return files.map(({ path, change }) => notChecked(path, 'no sshd', { change }));
  const own = new Map(files.map((file) => [file.path, file.text]));
  const main = own.has(MAIN) || (await host.stat(MAIN)) !== undefined ? MAIN : VENDOR_MAIN;
  const copies: Record<string, string> = {};
  await copyWithIncluded(host, own, main, copies);
  if (!(main in copies)) return files.map(({ path, change }) => notChecked(path, `no ${MAIN}`, { change }));
  const found = files.flatMap(({ path, change, scope }): readonly UnmetRequirement[] => {
    if (path in copies) return [];
    const what = `sshd does not read ${path}: no Include of ${main} names it`;
    const remedy = `Add "Include ${DIRECTORY}/sshd_config.d/*.conf" to ${main}.`;
    return [{ reason: 'SSHConfigurationInvalid', what, remedy, change, scope, severity: 'warning' }];
  });
  const args = ['-t', '-f', `${PRIVATE_FILES}${main}`];
  const { status, stderr, stdout } = await host.query({ program, args, files: copies });
  const lines = `${stderr}\n${stdout}`.split('\n').flatMap((line) => line.trim() || []);
  // sshd looks for these after it read the configuration (sshd.c, main): the package or a boot makes them.
  if (status === 0 || lines.some((line) => /no hostkeys available|privilege separation (?:directory|user)/i.test(line)))
    return found;
  const [said = 'it is not valid'] = lines;
  const named = files.find(({ path }) =>
    lines.some((line) => line.includes(`${path}:`) || line.includes(`${path} line`)),
  );
  const { path, change, scope } = named ?? files[0] ?? { path: main, change: '', scope: 'base' };
  return [
    ...found,
    {
      reason: 'SSHConfigurationInvalid',
      what: `sshd would refuse to start with ${path}: ${redact(said)}`,
      remedy: `Correct ${path} under host.files; "sshd -t -f FILE" checks it.`,
      evidence: lines.slice(0, 5).map((line) => ({ source: 'sshd -t', text: redact(line) })),
      change,
      scope,
      certain: true,
    },
  ];
}

/** Copies a file and all that it includes, its Include lines (sshd_config(5)) pointing to the copies. */
async function copyWithIncluded(
  host: QueryHost,
  own: ReadonlyMap<string, string>,
  path: string,
  copies: Record<string, string>,
  depth = 0,
): Promise<void> {
  const text = own.get(path) ?? (await host.readText(path));
  if (text === undefined || path in copies || depth > MOST_INCLUDED) return;
  const patterns: string[] = [];
  copies[path] = text.replace(/^([ \t]*include[ \t=]+)(.*)/gim, (_line, word: string, rest: string) => {
    const places = (rest.match(/"[^"]*"|[^\s"]+/g) ?? []).map((one) => one.replaceAll('"', ''));
    const absolute = places.map((one) => (one.startsWith('/') ? one : `${DIRECTORY}/${one}`));
    patterns.push(...absolute);
    return `${word}${absolute.map((one) => `"${PRIVATE_FILES}${one}"`).join(' ')}`;
  });
  for (const pattern of patterns) {
    const there = ((await host.list(dirname(pattern)).catch(() => undefined)) ?? []).map(
      (name) => `${dirname(pattern)}/${name}`,
    );
    for (const one of new Set([...there, ...own.keys()])) {
      if (matchesGlob(one, pattern)) await copyWithIncluded(host, own, one, copies, depth + 1);
    }
  }
}
