import {
  CHRONY_CONFIGURATIONS,
  NTP_CONFIGURATIONS,
  TIME_DROP_IN,
  TIMESYNCD_CONFIGURATION,
} from '@machineadm/document/ownership/paths.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { isAsWritten, readOwnFile } from '../../owned-files/difference.ts';
import { blockIn, withBlock, withoutBlock } from '../../owned-files/marked-block.ts';

/** A file of a time service as it is and as it must be; undefined = not there. */
export interface ConfigurationFile {
  readonly path: string;
  readonly present: string | undefined;
  readonly wanted: string | undefined;
  /** Of a file that is machineadm's alone: how its mode or owner differ from what they are to be. */
  readonly attributes?: string | undefined;
}

const HEADER = '# Written by machineadm.\n';
const BLOCK = 'time servers of the bootstrap document';
/** Before a line of the distribution that gives way to the document's servers, so that it can be put back. */
const REPLACED = '#machineadm# ';

export function differing(files: readonly ConfigurationFile[]): readonly ConfigurationFile[] {
  return files.filter(({ present: text, attributes, wanted }) => !isAsWritten({ text, attributes }, wanted));
}

/** Whether a file is this step's own, or has lines that it put there or commented out. */
export function isOwn(path: string, text: string | undefined): boolean {
  return (
    path.endsWith(`/${TIME_DROP_IN}`) || text?.includes(REPLACED) === true || blockIn(text ?? '', BLOCK) !== undefined
  );
}

/** Lines that name a time source, commented out: the document's servers take their place, they do not join them. */
function withoutSources(text: string): string {
  return text.replace(/^[ \t]*(?:server|pool|peer)[ \t].*$/gm, (line) => `${REPLACED}${line}`);
}

/** The inverse of `withoutSources`. */
function withSources(text: string): string {
  return text
    .split('\n')
    .map((line) => (line.startsWith(REPLACED) ? line.slice(REPLACED.length) : line))
    .join('\n');
}

/**
 * timesyncd.conf(5). The empty assignments first: a list of servers is added to, and so would be the vendor's and the
 * built-in fallback ones.
 */
export async function timesyncdConfiguration(
  host: QueryHost,
  servers: readonly string[],
): Promise<readonly ConfigurationFile[]> {
  const path = TIMESYNCD_CONFIGURATION;
  const text = `${HEADER}[Time]\nNTP=\nNTP=${servers.join(' ')}\nFallbackNTP=\n`;
  return [await ownFile(host, path, servers.length === 0 ? undefined : text)];
}

async function ownFile(host: QueryHost, path: string, wanted: string | undefined): Promise<ConfigurationFile> {
  const { text, attributes } = await readOwnFile(host, path);
  return { path, present: text, attributes, wanted };
}

/** ntp.conf(5) has no directory to drop files into. */
export async function ntpConfiguration(
  host: QueryHost,
  servers: readonly string[],
): Promise<readonly ConfigurationFile[]> {
  const path = await firstThere(host, NTP_CONFIGURATIONS);
  const present = await host.readText(path);
  return [{ path, present, wanted: withServers(present, servers) }];
}

/**
 * chrony.conf(5). Servers go into a directory of /etc that the main file includes, where it does (Debian: confdir,
 * openSUSE: include), else into a block of the main file (RHEL). Sources of the distribution give way wherever they are:
 * in the main file, in what it includes, and in its directories of sources.
 */
export async function chronyConfiguration(
  host: QueryHost,
  servers: readonly string[],
): Promise<readonly ConfigurationFile[]> {
  const main = await firstThere(host, CHRONY_CONFIGURATIONS);
  const present = await host.readText(main);
  const included = includesOf(present ?? '');
  const directory = included.find(({ suffix }) => suffix === '.conf')?.directory;
  const own = directory === undefined ? undefined : `${directory}/${TIME_DROP_IN}`;

  const files: ConfigurationFile[] = [];
  if (own === undefined) files.push({ path: main, present, wanted: withServers(present, servers) });
  else {
    if (present !== undefined) files.push({ path: main, present, wanted: replaced(present, servers) });
    const text = `${HEADER}${serverLines(servers)}`;
    files.push(await ownFile(host, own, servers.length === 0 ? undefined : text));
  }
  for (const { directory, suffix } of included) {
    for (const name of (await host.list(directory)) ?? []) {
      const path = `${directory}/${name}`;
      if (!name.endsWith(suffix) || path === own) continue;
      const text = await host.readText(path);
      if (text !== undefined) files.push({ path, present: text, wanted: replaced(text, servers) });
    }
  }
  return files;
}

/** Directories of /etc from which a chrony.conf takes more lines. What a DHCP client leaves below /run is not ours. */
function includesOf(text: string): readonly { readonly directory: string; readonly suffix: string }[] {
  const found: { directory: string; suffix: string }[] = [];
  for (const line of text.split('\n')) {
    const [directive = '', ...operands] = line.trim().split(/\s+/);
    for (const operand of operands) {
      if (!operand.startsWith('/etc/')) continue;
      const pattern = /^(.+)\/\*(\.[a-z]+)$/.exec(operand);
      if (directive === 'confdir') found.push({ directory: operand, suffix: '.conf' });
      else if (directive === 'sourcedir') found.push({ directory: operand, suffix: '.sources' });
      else if (directive === 'include' && pattern !== null) {
        found.push({ directory: pattern[1] ?? '', suffix: pattern[2] ?? '' });
      }
    }
  }
  return found;
}

function replaced(text: string, servers: readonly string[]): string {
  return servers.length === 0 ? withSources(text) : withoutSources(text);
}

/** The block is taken out before sources are commented out, or it would be among them. */
function withServers(present: string | undefined, servers: readonly string[]): string | undefined {
  if (present === undefined && servers.length === 0) return undefined;
  const others = replaced(withoutBlock(present ?? '', BLOCK), servers);
  return servers.length === 0 ? others : withBlock(others, BLOCK, serverLines(servers));
}

/** iburst: the first answers come within seconds and not within minutes (chrony.conf(5), ntp.conf(5)). */
function serverLines(servers: readonly string[]): string {
  return servers.map((server) => `server ${server} iburst\n`).join('');
}

async function firstThere(host: QueryHost, paths: readonly [string, ...string[]]): Promise<string> {
  for (const path of paths) if ((await host.stat(path)) !== undefined) return path;
  return paths[paths.length - 1] ?? paths[0];
}
