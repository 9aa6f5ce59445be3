import { claimsOf, OWN_STEP } from '@machineadm/document/claims/index.ts';
import { wishesOf } from '@machineadm/document/claims/wishes.ts';
import { formatPath, formatPlace, type PathSegment } from '@machineadm/document/diagnostics/index.ts';
import type { LoadedDocument } from '@machineadm/document/loading/load.ts';
import type { Claim } from '@machineadm/document/ownership/claim.ts';
import { collisionsOf } from '@machineadm/document/ownership/collisions.ts';
import { placeOf } from '@machineadm/document/trees/tree.ts';
import type { QueryHost } from '../host/seam/host.ts';
import { type Fingerprint, fingerprintsOf } from '../prior-state/copies.ts';
import type { UnmetRequirement } from '../step/index.ts';
import type { Asked, RecordedClaim, RecordedWish } from '../step/wants.ts';
import { canonicalDigest } from './canonical-digest.ts';
import {
  type DocumentId,
  type DocumentState,
  documentKey,
  documentTitle,
  withAsked,
  withDocument,
} from './documents.ts';
import type { JournalState } from './journal.ts';
import { absoluteSource } from './load.ts';
import type { Started } from './reboot-resume.ts';

/** What identifies the document of a run on this machine. */
export function documentIdOf(
  { command, sources }: Pick<Started, 'command' | 'sources'>,
  { model }: Pick<LoadedDocument, 'model'>,
): DocumentId {
  const asked = command === 'prepare' ? 'prepare' : 'provision';
  return { command: asked, name: model.metadata.name, sources: sources.map(absoluteSource) };
}

/** What a document asks for, in the form that the journal records. */
export function askedBy(
  { model, tree }: Pick<LoadedDocument, 'model' | 'tree'>,
  agent: string,
  fingerprint: Fingerprint,
): Asked {
  const at = (path: readonly PathSegment[]) => ({ field: formatPath(path), place: formatPlace(placeOf(tree, path)) });
  const wishes = wishesOf(model).map(
    ({ step, key, value, field }): RecordedWish => ({
      step,
      key,
      ...(value === undefined ? {} : { value: fingerprint(digestOf(value)) }),
      ...at(field),
    }),
  );
  const claims = claimsOf(model)
    .filter(({ step }) => step !== OWN_STEP)
    .map(
      ({ step, kind, path, names, field }): RecordedClaim => ({
        step,
        kind,
        path,
        ...(names === undefined ? {} : { names: names.source }),
        ...at(field),
      }),
    );
  return { agent, wishes, claims };
}

/**
 * The journal as the run of a document will have it once it has begun, so that a plan and the checks before a run see the
 * same. Read-only.
 */
export async function journalFor(
  host: QueryHost,
  known: JournalState,
  id: DocumentId,
  document: Pick<LoadedDocument, 'model' | 'tree'>,
  agent: string,
): Promise<JournalState> {
  const seen = withDocument(known, id, new Date().toISOString());
  const fingerprint = await fingerprintsOf(host);
  return fingerprint === undefined ? seen : withAsked(seen, documentKey(id), askedBy(document, agent, fingerprint));
}

/** Whether a document asks for the same as the journal has on record, at the same places. */
export function isSameAsked(a: Asked, b: Asked): boolean {
  return JSON.stringify([a.agent, a.wishes, a.claims]) === JSON.stringify([b.agent, b.wishes, b.claims]);
}

/**
 * Where a document asks for something else than another document of this machine at the same place. Read-only: without a
 * key for fingerprints no document is on record.
 */
export async function findConflicts(
  host: QueryHost,
  document: Pick<LoadedDocument, 'model' | 'tree'>,
  agent: string,
  journal: JournalState,
  id: DocumentId,
): Promise<readonly Conflict[]> {
  const key = documentKey(id);
  const others = [...journal.documents.values()].filter((one) => one.key !== key && one.command === 'provision');
  const known = others.filter(({ asked }) => asked !== undefined);
  const fingerprint = known.length === 0 ? undefined : await fingerprintsOf(host);
  // A document for an image meets no machine with documents.
  if (fingerprint === undefined || document.model.ofImage === true) return [];
  const asked = askedBy(document, agent, fingerprint);
  return known.flatMap((other) => conflictsWith(other, asked, fingerprint));
}

function conflictsWith(other: DocumentState, own: Asked, fingerprint: Fingerprint): readonly Conflict[] {
  const theirs = other.asked;
  if (theirs === undefined) return [];
  const byKey = new Map(theirs.wishes.map((wish) => [wish.key, wish]));
  const found = new Map<string, Conflict>();
  const refuse = (mine: Named, theirs: Named, why: string): void => {
    const id = `${mine.field} ${theirs.field}`;
    const missing = conflict(mine, theirs, other, own.agent, why);
    if (!found.has(id)) found.set(id, { step: mine.step, missing });
  };
  for (const wish of own.wishes) {
    const same = byKey.get(wish.key);
    if (same !== undefined && same.value !== undefined && wish.value !== undefined && same.value !== wish.value)
      refuse(wish, same, 'the two ask for different values');
  }
  for (const [mine, their] of [
    ...undoneBy(own, theirs, fingerprint).map(([by, of]) => [by, of] as const),
    ...undoneBy(theirs, own, fingerprint).map(([by, of]) => [of, by] as const),
  ])
    refuse(mine, their, 'the kernel changes one when the other is written');
  for (const { first, second } of collisionsOf([...theirs.claims, ...own.claims].map(claimOf))) {
    const [a, b] = [recordOf(first), recordOf(second)];
    const [mine, their] = own.claims.includes(b) ? [b, a] : [a, b];
    // What is one place for one step was compared by its value.
    const isOne = mine.step === their.step && mine.path === their.path;
    if (!isOne && own.claims.includes(mine) && theirs.claims.includes(their))
      refuse(mine, their, `both are about ${mine.path === their.path ? mine.path : `${their.path} and ${mine.path}`}`);
  }
  return [...found.values()];
}

const SETTING = 'kernel:/proc/sys/';

/** Kernel settings of one document that change settings of the other when they are written: each with its victim. */
function undoneBy(writer: Asked, other: Asked, fingerprint: Fingerprint): readonly (readonly [Named, Named])[] {
  const settings = other.wishes.filter(({ key }) => key.startsWith(SETTING));
  return writer.wishes.flatMap((wish) => {
    if (!wish.key.startsWith(SETTING)) return [];
    return ['0', '1'].flatMap((value) => {
      if (wish.value !== fingerprint(digestOf(value))) return [];
      return effectsOf(wish.key.slice(SETTING.length), value).flatMap(([changed, becomes]) =>
        settings
          .filter(({ key }) => key !== wish.key && changed.test(key.slice(SETTING.length)))
          .filter((victim) => victim.value !== fingerprint(digestOf(becomes)))
          .map((victim) => [wish, victim] as const),
      );
    });
  });
}

/** What else becomes of a switch that is written (Linux net/ipv4/devinet.c, inet_forward_change; net/ipv6/addrconf.c). */
function effectsOf(key: string, value: string): readonly (readonly [RegExp, string])[] {
  if (/^net\/ipv4\/(?:ip_forward|conf\/all\/forwarding)$/.test(key)) {
    return [
      [/^net\/ipv4\/(?:ip_forward|conf\/[^/]+\/forwarding)$/, value],
      [/^net\/ipv4\/conf\/all\/accept_redirects$/, value === '1' ? '0' : '1'],
    ];
  }
  const [, leaf] = /^net\/ipv6\/conf\/all\/([a-z0-9_]+)$/.exec(key) ?? [];
  return leaf === undefined ? [] : [[new RegExp(`^net/ipv6/conf/[^/]+/${leaf}$`), value]];
}

type Named = Pick<RecordedWish, 'step' | 'field' | 'place'>;

/** A conflict, with the step of the part of this document. */
export interface Conflict {
  readonly step: string;
  readonly missing: UnmetRequirement;
}

function conflict(mine: Named, theirs: Named, other: DocumentState, agent: string, why: string): UnmetRequirement {
  const name = documentTitle(other);
  const isOlder = other.asked?.agent !== agent;
  const first = isOlder
    ? `If they are the same, provision ${name} again first: another version of machineadm recorded it. Otherwise write`
    : 'Write';
  return {
    reason: 'DocumentConflict',
    what: `${mine.field} (${mine.place}) contradicts ${theirs.field} (${theirs.place}) of the document ${name}, which was applied to this machine: ${why}`,
    remedy: `${first} the same in both documents, keep it in one of them, or undo the other with "machineadm reset --document ${name}".`,
    field: mine.field,
    certain: true,
  };
}

const records = new WeakMap<Claim, RecordedClaim>();

/** Of the claims that other documents have on record, `field` is a text. */
function claimOf(record: RecordedClaim): Claim {
  const { step, kind, path, names } = record;
  const claim = { step, kind, path, field: [], ...(names === undefined ? {} : { names: new RegExp(names) }) } as Claim;
  records.set(claim, record);
  return claim;
}

function recordOf(claim: Claim): RecordedClaim {
  const record = records.get(claim);
  if (record === undefined) throw new TypeError('a claim without its record');
  return record;
}

/** Secrets count: only the keyed fingerprint of the result leaves this file. */
function digestOf(value: unknown): string {
  return canonicalDigest(value, (secret) => ({ secret: secret.reveal() }));
}
