import { MachineadmError } from '../document/errors.ts';
import type { Model } from '../document/model.ts';
import type { Facts } from '../host/facts.ts';
import type { QueryHost } from '../host/host.ts';
import type { Missing, Step } from '../steps/step.ts';
import { asRefusal } from './refusal.ts';

/** Refuses to begin on a machine or as a user that cannot do it. */
export function refuseUnlessRoot(facts: Pick<Facts, 'isRoot'> & Partial<Pick<Facts, 'platform'>>): void {
  if (facts.isRoot) return;
  if (facts.platform === 'windows') {
    throw new MachineadmError({
      reason: 'NotPrivilegedUser',
      summary: 'machineadm must run as the system or as an administrator with their rights in force',
      remedy: 'Run it from a console that was opened with "Run as administrator", or from a task of the system.',
    });
  }
  throw new MachineadmError({
    reason: 'NotPrivilegedUser',
    summary: 'machineadm must run as root: it reads and changes what only root may',
    remedy: 'Run it with sudo, or from a system unit. `validate`, `render` and `example` need no root.',
  });
}

const PLATFORM_NAMES = { linux: 'Linux', windows: 'Windows' } as const;

/** Refuses a document that is for another operating system than this machine's. */
function refuseOtherPlatform({ host }: Model, { platform }: Facts): void {
  if (host.platform === platform) return;
  const [wanted, found] = [PLATFORM_NAMES[host.platform], PLATFORM_NAMES[platform]];
  throw new MachineadmError({
    reason: 'UnsupportedOnPlatform',
    summary: `host.platform: the document is for ${wanted}, and this machine runs ${found}`,
    remedy: `Give this machine a document for ${found} (host: {platform: ${found}}).`,
    evidence: [{ source: 'host.platform', text: wanted }],
    exit: 'Refused',
  });
}

/** What the steps of this document will need and do not find. Asks only. */
export async function findMissing(
  steps: readonly Step[],
  host: QueryHost,
  model: Model,
  facts: Facts,
  scope: 'base' | 'all',
): Promise<readonly Missing[]> {
  const missing: Missing[] = [];
  for (const step of steps) {
    const desired = step.desired(model, facts);
    if (desired === undefined || step.preflight === undefined) continue;
    const found = await step.preflight(host, desired);
    missing.push(...found.filter((item) => scope === 'all' || item.scope !== 'node'));
  }
  return missing;
}

/** Asks all steps what they will need and reports everything that is missing at once, before anything is changed. */
export async function preflight(
  steps: readonly Step[],
  host: QueryHost,
  model: Model,
  facts: Facts,
  scope: 'base' | 'all',
): Promise<void> {
  refuseOtherPlatform(model, facts);
  const missing = await findMissing(steps, host, model, facts, scope).catch((error) => {
    throw asRefusal(error);
  });
  const [first, second] = missing;
  if (first === undefined) return;
  throw new MachineadmError({
    reason: second === undefined ? first.reason : 'PreflightFailed',
    summary:
      second === undefined
        ? first.what
        : `${missing.length} things are missing: ${missing.map(({ what }) => what).join('; ')}`,
    remedy: [...new Set(missing.map(({ remedy }) => remedy))].join(' '),
    evidence: missing.map(({ reason, what }) => ({ source: reason, text: what })),
    exit: 'Refused',
  });
}
