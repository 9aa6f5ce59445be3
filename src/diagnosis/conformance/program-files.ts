import { parseVersion, type Version } from '@machineadm/document/text/program-version.ts';
import type { RootTree } from '../../host/local-files/root-tree.ts';

/** elf(5): e_machine, as Go names the architectures. */
const MACHINES: Readonly<Record<number, string>> = {
  3: '386',
  21: 'ppc64le',
  22: 's390x',
  40: 'arm',
  62: 'amd64',
  183: 'arm64',
  243: 'riscv64',
};
/** What a kernel runs besides its own architecture. */
const ALSO_RUNS: Readonly<Record<string, string>> = { amd64: '386', arm64: 'arm' };
/** Programs that every image has, to learn its architecture from. */
const ANY_PROGRAM = ['/usr/lib/systemd/systemd', '/lib/systemd/systemd', '/sbin/init', '/usr/bin/env', '/bin/sh'];
/** kubelet has 120 MB; what is larger than this is no program of Kubernetes. */
const LARGEST_PROGRAM = 512 * 1024 * 1024;

/** What a file that is to be executed is: the architecture of an ELF program, a script, or neither. */
export type Executable =
  | { readonly kind: 'elf'; readonly architecture: string }
  | { readonly kind: 'script' }
  | { readonly kind: 'other' };

export function executableOf(tree: RootTree, path: string): Executable {
  const head = tree.readRange(path, 0, 20) ?? new Uint8Array();
  const bytes = Buffer.from(head);
  if (bytes.subarray(0, 2).toString('latin1') === '#!') return { kind: 'script' };
  if (bytes.length < 20 || bytes.subarray(0, 4).toString('latin1') !== '\x7fELF') return { kind: 'other' };
  // EI_DATA: 2 is big-endian.
  const machine = bytes[5] === 2 ? bytes.readUInt16BE(18) : bytes.readUInt16LE(18);
  return { kind: 'elf', architecture: MACHINES[machine] ?? `ELF machine ${machine}` };
}

/** The architecture that the programs of this root are for; undefined where it has none. */
export function architectureOf(tree: RootTree): string | undefined {
  for (const path of ANY_PROGRAM) {
    const found = executableOf(tree, path);
    if (found.kind === 'elf') return found.architecture;
  }
  return undefined;
}

/** Why this file cannot be executed in its root; undefined where it can. */
export function whyNotExecutable(tree: RootTree, path: string): string | undefined {
  const found = executableOf(tree, path);
  if (found.kind === 'script') return undefined;
  if (found.kind === 'other') return `${path} is neither a program nor a script`;
  const architecture = architectureOf(tree);
  if (architecture === undefined || found.architecture === architecture) return undefined;
  if (ALSO_RUNS[architecture] === found.architecture) return undefined;
  return `${path} is for ${found.architecture}, and this system for ${architecture}`;
}

/**
 * The versions that a Go program may have, read from its file, which may be for another architecture and is not executed.
 * `-ldflags -X` puts a value into the read-only data with a zero byte after it (Go cmd/link/internal/ld/data.go, addstrdata),
 * which other strings of Go do not have; the few that have one by chance make the answer uncertain, and not wrong.
 */
export function versionsInProgram(tree: RootTree, path: string): readonly Version[] {
  const text = Buffer.from(tree.readRange(path, 0, LARGEST_PROGRAM) ?? []).toString('latin1');
  const found = new Map<string, Version>();
  for (const [, word = ''] of text.matchAll(
    /(?<![\w.])(v?\d{1,4}\.\d{1,4}\.\d{1,4}(?:[-+~.][0-9A-Za-z.+~-]{0,64})?)\0/g,
  )) {
    const version = parseVersion(word);
    // A packager's revision is a second text of the same version.
    if (version !== undefined) found.set(`${version.major}.${version.minor}.${version.patch}`, version);
  }
  return [...found.values()];
}
