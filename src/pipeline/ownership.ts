import { dirname } from 'node:path/posix';
import { claimsOf } from '@machineadm/document/claims/index.ts';
import { formatPath } from '@machineadm/document/diagnostics/index.ts';
import type { Model } from '@machineadm/document/model/index.ts';
import type { Claim } from '@machineadm/document/ownership/claim.ts';
import { type Collision, canonicalPath, collisionsOf } from '@machineadm/document/ownership/collisions.ts';
import type { Facts } from '../host/seam/facts.ts';
import type { QueryHost } from '../host/seam/host.ts';
import type { Step, UnmetRequirement } from '../step/index.ts';

/**
 * Paths that two parts of a document manage on this machine: because a directory is a link to another, or because the
 * machine decides where a step writes. Collisions within the document itself were refused when it was read.
 */
export async function findCollisions(
  steps: readonly Step[],
  { host, model, facts }: { readonly host: QueryHost; readonly model: Model; readonly facts: Facts },
): Promise<readonly { readonly step: Step; readonly missing: UnmetRequirement }[]> {
  if (model.host.platform !== 'linux') return [];
  const claims = [...claimsOf(model)];
  for (const step of steps) {
    const desired = step.owns === undefined ? undefined : step.desired(model, facts);
    if (desired === undefined) continue;
    for (const owned of (await step.owns?.(host, desired)) ?? []) {
      const isKnown = claims.some((claim) => claim.step === step.id && claim.path === owned.path);
      if (!isKnown) claims.push({ ...owned, step: step.id });
    }
  }
  const places = await placesOf(claims, host);
  return collisionsOf(claims, (claim) => places.get(claim) ?? claim.path).flatMap((collision) => {
    const { first, second } = collision;
    const step = steps.find(({ id }) => id === second.step) ?? steps.find(({ id }) => id === first.step);
    return step === undefined ? [] : [{ step, missing: toMissing(collision) }];
  });
}

/** The location of each claim on this machine. Directories are shared by many files, and each is resolved once. */
async function placesOf(claims: readonly Claim[], host: QueryHost): Promise<ReadonlyMap<Claim, string>> {
  const directories = new Map<string, string>();
  const places = new Map<Claim, string>();
  for (const claim of claims) {
    const path = canonicalPath(claim.path);
    const directory = dirname(path);
    const real = directories.get(directory) ?? dirname(await host.realPath(path));
    directories.set(directory, real);
    places.set(claim, `${real === '/' ? '' : real}/${path.slice(path.lastIndexOf('/') + 1)}`);
  }
  return places;
}

function toMissing({ first, second, how }: Collision): UnmetRequirement {
  const why =
    how === 'hidden by the mount' ? 'the mount would hide what is written before' : 'one would undo the other';
  return {
    reason: 'PathClaimedTwice',
    what: `${describeClaim(first)} and ${describeClaim(second)} are one place on this machine: ${why}`,
    remedy: `Remove one of the two from the document, or give it another path.`,
    ...(second.field.length === 0 ? {} : { field: formatPath(second.field) }),
    certain: true,
  };
}

function describeClaim({ path, field }: Claim): string {
  return field.length === 0 ? `${path} of machineadm itself` : `${path} (${formatPath(field)})`;
}
