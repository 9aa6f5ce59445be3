import { pemBlocks } from '@machineadm/document/encodings/pem.ts';
import { trimmed } from '@machineadm/document/text/trim.ts';
import type { Lifting } from './lifting.ts';

/** Kernel settings, modules, swap, the host name and trusted authorities. */
export function liftHost(lifting: Lifting): void {
  liftSysctl(lifting);
  liftModules(lifting);
  liftSwap(lifting);
  liftHostname(lifting);
  liftAuthorities(lifting);
}

const QUIET = String.raw`(?:\s*(?:>\s*/dev/null|2>&1|\|\|\s*true))*`;

/**
 * sysctl.d(5): files by name, later ones take precedence; a line that may fail (`-key`) or has a pattern is not
 * converted.
 */
function liftSysctl(lifting: Lifting): void {
  const files = lifting.files
    .filter(({ path }) => /^\/etc\/sysctl(?:\.d\/[^/]+)?\.conf$/.test(path))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1));
  const settings = new Map(Object.entries(lifting.host.sysctl ?? {}));
  for (const file of files) {
    const lines = plainLines(lifting.textOf(file), /^[#;]/);
    const pairs = lines?.map((line) => /^([A-Za-z0-9_./-]+)\s*=\s*(\S.*)$/.exec(line));
    if (pairs === undefined || pairs.some((pair) => pair === null || pair[1]?.startsWith('-'))) continue;
    for (const pair of pairs) settings.set(pair?.[1] ?? '', (pair?.[2] ?? '').trim());
    lifting.takeFile(file, 'host.sysctl');
  }
  const written = lifting.takeCommands(
    /^sysctl\s+(?:-q\s+)?-w\s+([A-Za-z0-9_./-]+)=["']?([^\s"'$`;&|]+)["']?$/,
    'host.sysctl',
  );
  for (const [, key = '', value = ''] of written) settings.set(key, value);
  const left = lifting.files.some(({ path }) => /^\/etc\/sysctl(?:\.d\/|\.conf$)/.test(path));
  if (files.length > 0 && !left) {
    lifting.takeCommands(
      new RegExp(`^sysctl\\s+(?:-q\\s+)?(?:--system|-p(?:\\s+/etc/sysctl\\S*)?)${QUIET}$`),
      'host.sysctl',
    );
  }
  if (settings.size > 0) lifting.host = { ...lifting.host, sysctl: Object.fromEntries(settings) };
}

/** modules-load.d(5) */
function liftModules(lifting: Lifting): void {
  const modules = new Set(lifting.host.kernelModules ?? []);
  for (const file of lifting.files.filter(({ path }) => /^\/etc\/modules-load\.d\/[^/]+\.conf$/.test(path))) {
    const lines = plainLines(lifting.textOf(file), /^[#;]/);
    if (lines === undefined || lines.some((line) => !/^[A-Za-z0-9_-]+$/.test(line))) continue;
    for (const line of lines) modules.add(line);
    lifting.takeFile(file, 'host.kernelModules');
  }
  const loaded = lifting.takeCommands(
    /^modprobe\s+(?:-a\s+([A-Za-z0-9_-]+(?:\s+[A-Za-z0-9_-]+)*)|([A-Za-z0-9_-]+))$/,
    'host.kernelModules',
  );
  for (const [, several, one] of loaded) for (const name of (several ?? one ?? '').split(/\s+/)) modules.add(name);
  if (modules.size > 0) lifting.host = { ...lifting.host, kernelModules: [...modules] };
}

function liftSwap(lifting: Lifting): void {
  const off = lifting.takeCommands(/^(?:sudo\s+)?swapoff\s+(?:-a|--all)$/, 'host.swap: Disabled');
  if (off.length === 0) return;
  // The common ways to remove swap from fstab: sed on lines with the word swap, and nothing else.
  lifting.takeCommands(
    /^sed\s{1,9}-[a-zA-Z.]{1,99}\s{1,9}(?:-e\s{1,9})?(['"])[^'";&|]{0,200}swap[^'";|]{0,200}\1\s{1,9}\/etc\/fstab$/,
    'host.swap: Disabled',
  );
  lifting.host = { ...lifting.host, swap: 'Disabled' };
}

/** A literal name or a variable; a name that the shell would compute stays a command. */
function liftHostname(lifting: Lifting): void {
  const set = lifting.takeCommands(
    /^hostnamectl\s+(?:set-hostname|hostname)\s+(["']?)([^\s"'$`;&|()<>]+)\1$/,
    'host.hostname',
  );
  const name = set.at(-1)?.[2];
  if (name !== undefined) lifting.host = { ...lifting.host, hostname: name };
}

/** The directories of update-ca-certificates(8) and update-ca-trust(8). */
const ANCHORS =
  /^(?:\/usr\/local\/share\/ca-certificates|\/etc\/pki\/ca-trust\/source\/anchors)\/([^/]+)\.(?:crt|pem)$/;
const UPDATE = /^(?:update-ca-certificates(?:\s+--fresh)?|update-ca-trust(?:\s+extract)?)$/;

function liftAuthorities(lifting: Lifting): void {
  // Without the command the files are not trusted yet, so they have another purpose.
  if (!lifting.commands.some((command) => UPDATE.test(command.trim()))) return;
  const authorities = [...(lifting.host.certificateAuthorities ?? [])];
  const before = authorities.length;
  for (const file of lifting.files) {
    const name = ANCHORS.exec(file.path)?.[1];
    const pem = lifting.textOf(file);
    if (name === undefined || pem === undefined || !pemBlocks(pem).some(({ label }) => label === 'CERTIFICATE'))
      continue;
    const plain = trimmed(name.toLowerCase().replace(/[^a-z0-9.-]+/g, '-'), '.-');
    if (plain === '' || authorities.some((one) => one.name === plain)) continue;
    authorities.push({ name: plain, pem });
    lifting.takeFile(file, 'host.certificateAuthorities');
  }
  if (authorities.length === before) return;
  lifting.host = { ...lifting.host, certificateAuthorities: authorities };
  if (!lifting.files.some(({ path }) => ANCHORS.test(path)))
    lifting.takeCommands(UPDATE, 'host.certificateAuthorities');
}

/** Non-empty lines, trimmed; undefined for an unknown text. */
function plainLines(text: string | undefined, comment: RegExp): readonly string[] | undefined {
  return text
    ?.split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !comment.test(line));
}
