import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { machineProcesses } from '../../scripts/lab/cgroups.ts';
import type { Machine } from '../../scripts/lab/machine.ts';
import type { Seeds } from './documents.ts';

/** A form of a secret value that was looked for, and what it is called in a report: the report shows no secret. */
interface Needle {
  readonly name: string;
  readonly bytes: Buffer;
}

/**
 * The forms in which each seeded secret could be found: as it is, base64 (both alphabets, alone and amid other text),
 * URL, JSON, hex. Where a value needs quoting, its plain middle finds it in whatever quoting there is.
 */
function needlesOf(seeds: Seeds): Needle[] {
  const [, tokenSecret = ''] = seeds.token.split('.');
  const values: Record<string, string> = {
    token: seeds.token,
    'the secret half of the token': tokenSecret,
    certificateKey: seeds.certificateKey,
    password: seeds.password,
    'the middle of the password': /\w{12}/.exec(seeds.password)?.[0] ?? seeds.password,
    caKey: seeds.caKey.trim(),
  };
  // A key is found by a line of its body, too: many a writer indents PEM.
  const body = seeds.caKey.split('\n').filter((line) => line.length === 64);
  body.slice(0, 3).forEach((line, index) => {
    values[`line ${index + 2} of caKey`] = line;
  });
  return Object.entries(values).flatMap(([name, value]) => {
    const bytes = Buffer.from(value);
    const forms: Record<string, string> = {
      plain: value,
      base64: bytes.toString('base64').replace(/=+$/, ''),
      base64url: bytes.toString('base64url'),
      URL: encodeURIComponent(value),
      JSON: JSON.stringify(value).slice(1, -1),
      hex: bytes.toString('hex'),
    };
    for (const offset of [0, 1, 2]) forms[`base64 amid other text, ${offset}`] = base64Amid(bytes, offset);
    return Object.entries(forms).map(([form, text]) => ({ name: `${name} (${form})`, bytes: Buffer.from(text) }));
  });
}

/** What a value's base64 has in common wherever it begins at `offset` of a group of three bytes of a longer text. */
function base64Amid(value: Buffer, offset: number): string {
  const whole = Buffer.concat([Buffer.alloc(offset), value]);
  const text = whole.subarray(0, whole.length - (whole.length % 3)).toString('base64');
  return text.slice(offset === 0 ? 0 : 4);
}

/**
 * Looks for the seeded secrets in everything that a run leaves for others to read: the given texts (what it printed),
 * the whole journal with all fields, the console, the processes that run, the agent's own directories, and every file that is readable for all
 * in the machine's own layer, the kubelet's volume, /run and /tmp. Of a machine that is off, the texts, the console and the disk. Returns
 * what was found where; [] = nothing.
 */
export async function findLeaks(
  machine: Machine,
  seeds: Seeds,
  texts: Readonly<Record<string, string>>,
): Promise<string[]> {
  const needles = needlesOf(seeds);
  const found: string[] = [];
  const search = (where: string, haystack: Buffer) => {
    for (const needle of needles) if (haystack.includes(needle.bytes)) found.push(`${where}: ${needle.name}`);
  };
  for (const [where, text] of Object.entries(texts)) search(where, Buffer.from(text));
  search('the console', Buffer.from(machine.console()));
  const upper = machine.upper;
  forEachFile(join(upper, 'var/lib/machineadm'), 'all', (path) => search(path, contentOf(path)));
  const readable = (directory: string) =>
    forEachFile(directory, 'readable for all', (path) => search(`readable for all: ${path}`, contentOf(path)));
  for (const directory of [upper, join(machine.directory, 'kubelet')]) readable(directory);
  const leader = machine.leader();
  if (leader === undefined) return found;
  search('the journal', Buffer.from((await machine.exec(['journalctl', '-o', 'export', '--no-pager'])).stdout));

  for (const process of processesOf(machine))
    search('the arguments and environment of a process', Buffer.from(process));

  const root = join('/proc', `${leader}`, 'root');
  forEachFile(join(root, 'run/machineadm'), 'all', (path) => search(path, contentOf(path)));
  for (const directory of ['run', 'tmp']) readable(join(root, directory));
  return found;
}

/** Gathers what ps(1) would show to anyone, and what root would see of environments, until it is stopped. */
export interface ProcessWatch extends AsyncDisposable {
  /** Ends the watch. Returns the arguments and environments seen, one process a line. */
  stop(): Promise<string>;
}

/**
 * Watches all processes of a machine, those that its init system starts for others included, by looking every fifth of
 * a second.
 */
export function watchProcesses(machine: Machine): ProcessWatch {
  const seen = new Set<string>();
  const ended = new AbortController();
  const watching = (async () => {
    while (!ended.signal.aborted) {
      for (const text of processesOf(machine)) seen.add(text);
      await sleep(200, undefined, { signal: ended.signal }).catch(() => undefined);
    }
  })();
  const stop = async (): Promise<string> => {
    ended.abort();
    await watching;
    return [...seen].join('\n');
  };
  // A watch that outlived a failing test would keep its process, and CI with it, for ever.
  return { stop, [Symbol.asyncDispose]: async () => void (await stop()) };
}

function processesOf(machine: Machine): string[] {
  return machineProcesses(machine.name).flatMap((pid) => {
    try {
      return `${readFileSync(`/proc/${pid}/cmdline`, 'utf8')} ${readFileSync(`/proc/${pid}/environ`, 'utf8')}`;
    } catch {
      return []; // it has ended
    }
  });
}

/** Empty for a file that the machine removed meanwhile, and for a namespace, which /run/netns binds to files. */
function contentOf(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT' || code === 'EINVAL') return Buffer.alloc(0);
    throw error;
  }
}

/** Visits regular files below a directory; of those that others can reach and read only, where so asked. */
function forEachFile(directory: string, which: 'all' | 'readable for all', visit: (path: string) => void): void {
  let names: string[];
  try {
    names = readdirSync(directory);
  } catch {
    return; // It is not there, or it was removed meanwhile: nothing to read.
  }
  for (const name of names) {
    const path = join(directory, name);
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat === undefined) continue;
    const open = which === 'all' || (stat.mode & (stat.isDirectory() ? 0o001 : 0o004)) !== 0;
    if (stat.isDirectory() && open) forEachFile(path, which, visit);
    if (stat.isFile() && open) visit(path);
  }
}
