import type { HostsModel } from '@machineadm/document/model/index.ts';
import { CLOUD_INIT_HOSTS_FILE, HOSTS_FILE, NAME_SERVICE_SWITCH } from '@machineadm/document/ownership/paths.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { isAsWritten, type OwnFile, readOwnFile } from '../../owned-files/difference.ts';
import {
  blockIn,
  blockNames,
  HOSTS_BLOCK,
  hostsBlockOf,
  OWN_NAME_BLOCK,
  rewriteShared,
  withBlock,
  withoutBlock,
} from '../../owned-files/marked-block.ts';
import { textDiff } from '../../owned-files/text-diff.ts';
import type { FeatureStep } from '../../step/feature-step.ts';
import type { Change } from '../../step/index.ts';
import { isNamed } from '../../step/memory.ts';

/** hosts(5) of Debian: the name of a machine without a permanent address has this one, so that 127.0.0.1 stays localhost. */
const OWN_ADDRESS = '127.0.1.1';
const CLOUD_INIT_CONTENT = '# Written by machineadm: /etc/hosts is managed by its document.\nmanage_etc_hosts: false\n';
const CLOUD_INIT_DIRECTORY = '/etc/cloud/cloud.cfg.d';
/** The merged user data and vendor data of this instance, which override the files of cloud.cfg.d. */
const USER_DATA = '/var/lib/cloud/instance/cloud-config.txt';

export interface HostsDesired extends HostsModel {
  /** The name of the machine; undefined: it has no name of its own. */
  readonly name: string | undefined;
  /** The block of the document. */
  readonly block: string;
}

export interface HostsActual {
  readonly text: string;
  /** Whether nss-myhostname answers for the machine's own name. */
  readonly answersItself: boolean;
  /** The file whose `manage_etc_hosts` has cloud-init rewrite /etc/hosts at every boot; undefined: it does not. */
  readonly rewriter: string | undefined;
  readonly dropIn: OwnFile;
  /** Whether an earlier version wrote the entries of this document into the block that is the image's otherwise. */
  readonly isAdopted: boolean;
  /** What other documents of this machine want of the file. */
  readonly others: { readonly any: boolean; readonly ownName: boolean };
}

type HostsPayload =
  | { readonly block: string; readonly lines: string; readonly isAdopted: boolean }
  | { readonly dropIn: string | undefined };

/**
 * Entries of /etc/hosts, in two marked blocks: those of the document may go into an image, the machine's own name is its
 * own. An earlier line that gives a name of the document another address is reported, because resolvers take the first; it
 * stays as it is.
 */
export const hosts: FeatureStep<HostsDesired, HostsActual, HostsPayload> = {
  id: 'hosts',
  // A host name that stays needs its line.
  restoring: { keeps: (memory) => (isNamed(memory) ? [`path:${HOSTS_FILE}`] : []) },
  section: 'host.hosts',
  isRequested: ({ host }, { name }, memory) => host.hosts !== undefined || (isNamed(memory) && name !== HOSTS_FILE),

  sharedLines: {
    path: HOSTS_FILE,
    isOne: false,
    without(text, memory, document) {
      let rest = withoutBlock(text, hostsBlockOf(document));
      if (memory.isAdopted) rest = withoutBlock(rest, HOSTS_BLOCK);
      return isNamed(memory) || memory.others('hosts:own name', 'hosts') ? rest : withoutBlock(rest, OWN_NAME_BLOCK);
    },
  },

  desired(model, facts) {
    const { host } = model;
    if (host.hosts === undefined) return undefined;
    const name = host.hostname ?? facts.hostname;
    const block = hostsBlockOf(model);
    return {
      ...host.hosts,
      block,
      name: /^[A-Za-z0-9][A-Za-z0-9.-]*$/.test(name) && name !== 'localhost' ? name : undefined,
    };
  },

  async inspect(host, _desired, record) {
    const { others, isAdopted } = record.memory();
    return {
      isAdopted,
      text: (await host.readText(HOSTS_FILE)) ?? '',
      answersItself: await hasMyhostname(host),
      rewriter: await rewriterOf(host),
      dropIn: await readOwnFile(host, CLOUD_INIT_HOSTS_FILE),
      others: { any: others(`path:${HOSTS_FILE}`, 'hosts'), ownName: others('hosts:own name', 'hosts') },
    };
  },

  plan(desired, actual) {
    const text = actual.isAdopted ? withoutBlock(actual.text, HOSTS_BLOCK) : actual.text;
    const entries = neededLines(desired, text);
    const withEntries = putBlock(text, desired.block, entries);
    const own = ownLine(desired, actual);
    const wanted = entries !== '' || own !== '';
    const isRewritten = actual.rewriter !== undefined && actual.rewriter !== USER_DATA;
    const dropIn = wanted && (isRewritten || actual.dropIn.text !== undefined) ? CLOUD_INIT_CONTENT : undefined;
    const shadows = shadowsOf(desired, actual.text).map((shadow) => `; but ${shadow}`);
    const changes: readonly (Change<HostsPayload> | undefined)[] = [
      withEntries === actual.text
        ? undefined
        : {
            id: 'hosts/entries',
            summary: `${HOSTS_FILE}: ${entries === '' ? 'remove' : 'write'} the entries of the document${shadows.join('')}`,
            diff: textDiff(actual.text, withEntries),
            scope: 'base',
            payload: { block: desired.block, lines: entries, isAdopted: actual.isAdopted },
          },
      putBlock(withEntries, OWN_NAME_BLOCK, own) === withEntries || (own === '' && actual.others.ownName)
        ? undefined
        : {
            id: 'hosts/own-name',
            summary: `${HOSTS_FILE}: ${own === '' ? 'remove the' : 'add the'} machine's own name`,
            diff: textDiff(withEntries, putBlock(withEntries, OWN_NAME_BLOCK, own)),
            scope: 'node',
            payload: { block: OWN_NAME_BLOCK, lines: own, isAdopted: false },
          },
      isAsWritten(actual.dropIn, dropIn) || (dropIn === undefined && actual.others.any)
        ? undefined
        : {
            id: 'hosts/cloud-init',
            summary: `${dropIn === undefined ? 'remove' : 'keep cloud-init from rewriting it:'} ${CLOUD_INIT_HOSTS_FILE}`,
            diff: textDiff(actual.dropIn.text ?? '', dropIn ?? ''),
            scope: 'node',
            payload: { dropIn },
          },
    ];
    return changes.filter((change) => change !== undefined);
  },

  async apply(host, { payload }) {
    if ('block' in payload) {
      const { block, lines, isAdopted } = payload;
      await rewriteShared(host, HOSTS_FILE, (text) =>
        putBlock(isAdopted ? withoutBlock(text, HOSTS_BLOCK) : text, block, lines),
      );
    } else if (payload.dropIn === undefined) await host.removeFile(CLOUD_INIT_HOSTS_FILE);
    else await host.writeFile({ path: CLOUD_INIT_HOSTS_FILE, content: payload.dropIn, mode: 0o644 });
  },

  async settled(host, desired, execution) {
    await host.sync('/etc');
    for (const shadow of shadowsOf(desired, (await host.readText(HOSTS_FILE)) ?? '')) {
      execution.warn(`${shadow}: correct or remove that line`);
    }
    if ((await rewriterOf(host)) === USER_DATA) {
      execution.warn(
        `cloud-init rewrites ${HOSTS_FILE} at every boot because the user data of this instance has manage_etc_hosts: remove it there`,
      );
    }
  },
};

function putBlock(text: string, name: string, lines: string): string {
  if (lines === '') return withoutBlock(text, name);
  // Resolvers take the first line: a document of the machine precedes the image.
  const image = blockIn(text, HOSTS_BLOCK);
  if (name === OWN_NAME_BLOCK || name === HOSTS_BLOCK || image === undefined || blockIn(text, name) !== undefined)
    return withBlock(text, name, lines);
  return withBlock(withBlock(withoutBlock(text, HOSTS_BLOCK), name, lines), HOSTS_BLOCK, image);
}

/** The lines of the document's block: none where the image has all of them. */
function neededLines(desired: HostsDesired, text: string): string {
  const lines = entryLines(desired);
  const image = new Set(desired.block === HOSTS_BLOCK ? [] : (blockIn(text, HOSTS_BLOCK) ?? '').split('\n'));
  return image.size > 0 &&
    lines
      .trimEnd()
      .split('\n')
      .every((line) => image.has(line))
    ? ''
    : lines;
}

function entryLines({ entries }: HostsDesired): string {
  return entries.map(({ address, names }) => `${address} ${names.join(' ')}\n`).join('');
}

/** The line of the machine's own name; empty where something else resolves the name. */
function ownLine({ name, ownName, entries }: HostsDesired, { text, answersItself }: HostsActual): string {
  if (!ownName || name === undefined || answersItself) return '';
  const lower = name.toLowerCase();
  const isNamed = [...linesOf(text), ...entries].some(({ names }) => names.some((one) => one.toLowerCase() === lower));
  if (isNamed) return '';
  const [short = name] = name.split('.');
  return `${OWN_ADDRESS} ${short === name ? name : `${name} ${short}`}\n`;
}

/** The lines that machineadm did not write. */
function linesOf(text: string): { readonly address: string; readonly names: readonly string[] }[] {
  let others = withoutBlock(text, OWN_NAME_BLOCK);
  for (const name of blockNames(text, HOSTS_BLOCK)) others = withoutBlock(others, name);
  return others.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    return names.length === 0 ? [] : [{ address, names }];
  });
}

/** Names of the document to which another line gives another address of the same family. */
function shadowsOf({ entries }: HostsDesired, text: string): string[] {
  const isIPv6 = (address: string): boolean => address.includes(':');
  const lines = linesOf(text);
  return entries.flatMap(({ address, names }) =>
    names.flatMap((name) =>
      lines
        .filter((line) => line.names.some((one) => one.toLowerCase() === name.toLowerCase()))
        .filter((line) => line.address !== address && isIPv6(line.address) === isIPv6(address))
        .map((line) => `another line of ${HOSTS_FILE} has ${name} at ${line.address}`),
    ),
  );
}

/** nss-myhostname(8) answers for `localhost`, too, so that it can be asked before the machine has its name. */
async function hasMyhostname(host: QueryHost): Promise<boolean> {
  const isUsed = /^[ \t]*hosts:[^#\n\r\u2028\u2029]*\bmyhostname\b/m.test(
    (await host.readText(NAME_SERVICE_SWITCH)) ?? '',
  );
  if (!isUsed) return false;
  return (await host.query({ program: 'getent', args: ['-s', 'myhostname', 'hosts', 'localhost'] })).status === 0;
}

/**
 * The last file that sets `manage_etc_hosts`, where it is not false: `true` and `template` rewrite the file from a template
 * at every boot, `localhost` replaces the lines of 127.0.1.1 (cloudinit/config/cc_update_etc_hosts.py).
 */
async function rewriterOf(host: QueryHost): Promise<string | undefined> {
  const names = (await host.list(CLOUD_INIT_DIRECTORY)) ?? [];
  const dropIns = names.filter((name) => name.endsWith('.cfg')).map((name) => `${CLOUD_INIT_DIRECTORY}/${name}`);
  const paths = ['/etc/cloud/cloud.cfg', ...dropIns.filter((path) => path !== CLOUD_INIT_HOSTS_FILE), USER_DATA];
  let rewriter: string | undefined;
  for (const path of paths) {
    const value = /^manage_etc_hosts:\s*["']?([A-Za-z]+)/m.exec((await host.readText(path)) ?? '')?.[1];
    if (value !== undefined) rewriter = /^(?:false|no|off)$/i.test(value) ? undefined : path;
  }
  return rewriter;
}
