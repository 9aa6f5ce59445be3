import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { REASONS, type Reason } from '@machineadm/document/outcomes/reasons.ts';
import { parse } from 'yaml';
import * as z from 'zod';

/** The folders of data that `test/slow/cases.test.ts` runs; test/cases/README.md tells how one is written. */
export const CASES = join(import.meta.dirname, '../cases');

const mode = z.string().regex(/^0[0-7]{3,4}$/, 'four octal digits in quotes');
const owner = z.string().regex(/^[\w.-]+:[\w.-]+$/, 'user:group');

/** What lies at a path, as far as the case says: a text alone is the content of a file. */
const entry = z
  .union([
    z.string().transform((content) => ({ content })),
    z.strictObject({
      /** Default a file, or a link where it leads somewhere. */
      type: z.enum(['file', 'directory', 'absent']).optional(),
      link: z.string().optional(),
      content: z.string().optional(),
      sha256: z.string().length(64).optional(),
      /** Pieces of the content, where the whole is not the case's business. */
      contains: z.array(z.string()).min(1).optional(),
      mode: mode.optional(),
      owner: owner.optional(),
    }),
  ])
  .transform((found): Entry => {
    const entry: Omit<Entry, 'type'> & { readonly type?: Exclude<Entry['type'], 'link'> | undefined } = found;
    return { ...entry, type: entry.link === undefined ? (entry.type ?? 'file') : 'link' };
  });

/** What lies, or must lie, at a path. */
export interface Entry {
  readonly type: 'file' | 'directory' | 'link' | 'absent';
  readonly link?: string | undefined;
  readonly content?: string | undefined;
  readonly sha256?: string | undefined;
  readonly contains?: readonly string[] | undefined;
  readonly mode?: string | undefined;
  readonly owner?: string | undefined;
}

const tree = z.record(z.string().startsWith('/'), entry).default({});

const server = z.strictObject({
  address: z.string(),
  port: z.int(),
  /** Takes every connection and says nothing. */
  silent: z.literal(true).optional(),
  /** By path; what is not here is 404. */
  answers: z.record(z.string(), z.strictObject({ status: z.int().optional(), body: z.string() })).optional(),
});

const preparation = z.strictObject({
  /** Block devices by name; `@name@` in any file of the case is the path of one. In MiB. */
  disks: z.record(z.string().regex(/^\w+$/), z.int()).default({}),
  tree,
  /** Services of the stand-in of systemctl(1); with them the machine looks as if it was booted with systemd. */
  services: z
    .record(z.string(), z.strictObject({ active: z.boolean().default(false), enabled: z.boolean().default(false) }))
    .optional(),
  servers: z.array(server).default([]),
  /** Run by sh in the root, behind the rest. */
  shell: z.string().optional(),
});
export type Preparation = z.infer<typeof preparation>;

const looks = {
  tree,
  /** Other paths that may differ from before, `*` standing for any name, `**` for any path. */
  alsoChanged: z.array(z.string()).default([]),
  /** Commands in the root, and what they must print. */
  shell: z.array(z.strictObject({ run: z.string(), prints: z.string() })).default([]),
};

const isReason = (text: string): text is Reason => Object.hasOwn(REASONS, text);
const failure = z.strictObject({
  exit: z.int(),
  reason: z.string().refine(isReason, 'not a reason of packages/document/src/outcomes/reasons.ts'),
  /** The step that fails; none where the run is refused before any. */
  step: z.string().optional(),
  /** What the summary, the remedy or the evidence must hold. */
  says: z.array(z.string()).min(1),
  /** What plan lists beforehand; none = plan refuses as the run does. */
  plan: z.array(z.string()).optional(),
  /** Why plan and doctor could not name the reason before the run. */
  unforeseen: z.string().optional(),
  /** What was changed before it failed. */
  changes: z.array(z.string()).default([]),
  ...looks,
});
export type ExpectedFailure = z.infer<typeof failure>;
export type ExpectedLooks = Pick<ExpectedFailure, 'tree' | 'alsoChanged' | 'shell'>;

const expected = z.strictObject({
  /** One sentence: what the case is about. */
  shows: z.string(),
  /** Programs without which it is skipped. */
  needs: z.array(z.string()).default([]),
  env: z.record(z.string(), z.string()).default({}),
  /** Texts that must be in nothing that is printed or kept. */
  secrets: z.array(z.string()).default([]),
  /** Fails first; then the cause is taken away. */
  failure: failure.optional(),
  /** Ids of the changes, in order: planned and made. */
  changes: z.array(z.string()),
  /** Planned as known after an earlier change, and then found to be so already. */
  needless: z.array(z.string()).default([]),
  /** Pieces of the warnings of the run; none = there are no warnings. */
  warnings: z.array(z.string()).default([]),
  /** Pieces of what the run prints. */
  prints: z.array(z.string()).default([]),
  ...looks,
});
export type Expected = z.infer<typeof expected>;

export interface Case {
  /** The name of its folder. */
  readonly name: string;
  /** Names and texts of the document and its drop-ins, in order. */
  readonly documents: ReadonlyMap<string, string>;
  readonly before: Preparation;
  readonly expected: Expected;
  /** What takes the cause of a failure away: on the machine, or in the document. */
  readonly mend: Preparation;
  readonly mendedDocuments: ReadonlyMap<string, string>;
}

/** The names of all cases. */
export function caseNames(): readonly string[] {
  return readdirSync(CASES, { withFileTypes: true })
    .filter((found) => found.isDirectory())
    .map(({ name }) => name)
    .sort();
}

/** The disks that a case needs, so that they can be made before the rest of it is read. */
export function disksOf(name: string): Readonly<Record<string, number>> {
  return readPreparation(name, 'before.yaml', new Map()).disks;
}

/** Reads a case strictly, with the paths of its disks in the place of their names. */
export function readCase(name: string, disks: ReadonlyMap<string, string>): Case {
  const text = (file: string): string => withDisks(readFileSync(join(CASES, name, file), 'utf8'), disks);
  const dropIns = existsSync(join(CASES, name, 'drop-ins')) ? readdirSync(join(CASES, name, 'drop-ins')).sort() : [];
  const documents = new Map([
    ['document.yaml', text('document.yaml')],
    ...dropIns.map((file) => [file, text(join('drop-ins', file))] as const),
  ]);
  const mended = existsSync(join(CASES, name, 'document-mended.yaml'));
  return {
    name,
    documents,
    before: readPreparation(name, 'before.yaml', disks),
    expected: expected.parse(parse(text('expected.yaml'))),
    mend: readPreparation(name, 'mend.yaml', disks),
    mendedDocuments: mended ? new Map([['document.yaml', text('document-mended.yaml')]]) : documents,
  };
}

function readPreparation(name: string, file: string, disks: ReadonlyMap<string, string>): Preparation {
  const path = join(CASES, name, file);
  return preparation.parse(existsSync(path) ? (parse(withDisks(readFileSync(path, 'utf8'), disks)) ?? {}) : {});
}

function withDisks(text: string, disks: ReadonlyMap<string, string>): string {
  return text.replace(/@(\w+)@/g, (whole, name) => disks.get(name) ?? whole);
}
