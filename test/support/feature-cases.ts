import { generateKeyPairSync } from 'node:crypto';
import { selfSigned } from './certificates.ts';
import type { MemoryFile, MemoryHost } from './memory-host.ts';

/**
 * What the tests of all features know of one: `test/unit/features/NAME/cases.ts` exports it as `cases`, and `all-cases.ts` finds
 * it there.
 */
export interface FeatureCases {
  /** Its part of the document `EVERYTHING`: what is below `host`, or a document. Absent: what it does needs a document of its own. */
  readonly everything?: string;
  /** Documents with it, by what they ask for: after each a reset, or a document without it, restores the machine. */
  readonly undo: Readonly<Record<string, UndoDocument>>;
  /** By field, with `*` for one name and `**` for all below; the most exact entry counts. Every field is there. */
  readonly drifts: Readonly<Record<string, Drifts>>;
  /** What becomes of a field that a document no longer has, by field as above. A field without an entry is undone. */
  readonly dropped?: Readonly<Record<string, DroppedField>>;
}

/** What is below `host`, or a document. */
export type UndoDocument = string | { readonly yaml: string; readonly stays: Staying };

/** What stays of a document that is dropped, and what a plan says of it. */
export interface Staying {
  readonly paths: RegExp;
  readonly told: RegExp;
}

export const staying = (yaml: string, paths: RegExp, told: RegExp): UndoDocument => ({ yaml, stays: { paths, told } });

/** A change of the machine behind machineadm's back, and the changes that a plan has to show for it, no more and no less. */
export interface Drift {
  readonly what: string;
  readonly by: (machine: MemoryHost) => unknown;
  readonly finds: readonly string[];
  /** What was changed stays, and something of ours makes up for it. */
  readonly stays?: true;
}

/**
 * What of a field can change on a machine. `none`: why nothing can. `elsewhere`: the test that shows it with the real tools.
 */
export type Drifts =
  | readonly Drift[]
  | { readonly none: string }
  | { readonly elsewhere: readonly [file: string, title: string] };

/** What becomes of what a field did once the document does not have it any more. */
export interface DroppedField {
  /** How the plan or the reference says it. */
  readonly why: string;
  /** What stays on the machine, by path; absent: nothing. */
  readonly stays?: RegExp;
}

export const drift = (what: string, by: Drift['by'], ...finds: readonly string[]): Drift => ({ what, by, finds });
export const edit =
  (path: string, from: string | RegExp, to: string): Drift['by'] =>
  async (machine) => {
    const text = machine.text(path) ?? '';
    const changed = text.replace(from, to);
    if (changed === text) throw new Error(`${path} has no ${from}`);
    await put(machine, path, { content: changed });
  };
/** A file with something changed, and the rest as it is. */
export async function put(machine: MemoryHost, path: string, change: MemoryFile): Promise<void> {
  const stat = await machine.stat(path);
  machine.put(path, { ...stat, content: stat?.type === 'directory' ? '' : (machine.text(path) ?? ''), ...change });
}
export const attribute =
  (path: string, change: MemoryFile): Drift['by'] =>
  (machine) =>
    put(machine, path, change);
/** Without it and all that is in it. */
export const gone =
  (path: string): Drift['by'] =>
  (machine) => {
    for (const line of machine.snapshot()) {
      const [name = ''] = line.split(' ');
      if (name === path || name.startsWith(`${path}/`)) machine.take(name);
    }
  };
export const program =
  (name: string, ...args: readonly string[]): Drift['by'] =>
  (machine) =>
    machine.run({ program: name, args });
export const passwd = (field: number, value: string, name = 'grace'): Drift['by'] =>
  database('/etc/passwd', name, field, value);
export const shadow = (field: number, value: string, name = 'grace'): Drift['by'] =>
  database('/etc/shadow', name, field, value);
export const database =
  (path: string, name: string, field: number, value: string): Drift['by'] =>
  async (machine) => {
    const lines = (machine.text(path) ?? '').split('\n');
    const changed = lines.map((line) =>
      line.startsWith(`${name}:`) ? line.split(':').with(field, value).join(':') : line,
    );
    await put(machine, path, { content: changed.join('\n') });
  };
export const service =
  (name: string, state: { active?: boolean; enabled?: boolean; masked?: boolean }): Drift['by'] =>
  async (machine) =>
    machine.setService(name, { ...(await machine.service(name)), ...state });

export const NOT_A_STATE = 'says how a run works, and leaves nothing on the machine';
export const FOLLOWS = 'what follows a change of its entry, once; the tests of restarts have it';

export const UNDONE: DroppedField = { why: 'becomes again what it was before the first run' };
export const RUN: DroppedField = { why: 'says how a run works, and leaves nothing on the machine' };
export const AS_IT_IS: DroppedField = { why: '"it stays as it is", as the reference says of an absent field' };
export const ABSENT: DroppedField = { why: 'what was removed does not come back' };
export const ENTRY: DroppedField = { why: 'says which entry is meant' };
export const FOLLOWS_CHANGE: DroppedField = { why: 'names what follows a change' };

export const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8s0Yv5zv6m2bJf0l5VfBqk1Jb3r8y8kQh8o2T1xq9Z grace';

const DAY_MS = 86_400_000;
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const AUTHORITY = selfSigned({
  key: privateKey,
  publicKey,
  notBefore: new Date(Date.now() - DAY_MS),
  notAfter: new Date(Date.now() + 365 * DAY_MS),
  authority: true,
});

/** The field `certificateAuthorities` with one of this name. */
export const authority = (name: string): string => {
  const pem = AUTHORITY.trimEnd().replace(/^/gm, '      ');
  return `certificateAuthorities:\n  - name: ${name}\n    pem: |\n${pem}`;
};
