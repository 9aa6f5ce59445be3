import { gatherFacts, openQueryHost } from '../host/index.ts';
import { page } from '../reporting/page/index.ts';
import type { Reported } from '../reporting/status-file.ts';
import { titleOfStep } from './titles.ts';

/** The page of a run, with what can be found out of the machine by queries. Changes nothing. */
export async function statusPage(status: Reported, agentVersion: string): Promise<string> {
  // A page without them is better than none: a damaged machine may not answer.
  const facts = await gatherFacts(openQueryHost()).catch(() => undefined);
  return page({ status, facts, agentVersion, madeAt: new Date(), titleOf: titleOfStep() });
}
