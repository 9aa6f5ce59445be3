import { stepTitle } from '@machineadm/document/ownership/step-ids.ts';
import { page } from '@machineadm/status/page/index.ts';
import type { Reported } from '@machineadm/status/summary.ts';
import { gatherFacts, openQueryHost } from '../../host/index.ts';

/** The page of a run, with additional facts from queries. Read-only. */
export async function statusPage(status: Reported, agentVersion: string): Promise<string> {
  // The page is useful without them: a damaged machine may not answer.
  const facts = await gatherFacts(openQueryHost()).catch(() => undefined);
  return page({ status, facts, agentVersion, madeAt: new Date(), titleOf: stepTitle });
}
