/** In place of `src/host/index.ts`. */
import type { HostOptions } from '../../../src/host/index.ts';
import type { Facts } from '../../../src/host/seam/facts.ts';
import type { EndedOrphan, Host, QueryHost } from '../../../src/host/seam/host.ts';
import { queryOnly } from '../memory-host.ts';
import { currentMachine } from './current.ts';

export { requireLinux } from '../../../src/host/index.ts';

export function openQueryHost(): QueryHost {
  return queryOnly(currentMachine().host);
}

export function openHost(_options: HostOptions): Host {
  return currentMachine().host;
}

export async function gatherFacts(_host: QueryHost): Promise<Facts> {
  return currentMachine().facts;
}

export async function endOrphans(_host: Host, unfinishedRuns: ReadonlySet<string>): Promise<readonly EndedOrphan[]> {
  currentMachine().orphansOf.push(...unfinishedRuns);
  return [];
}

export function hasRunningCommands(): boolean {
  return false;
}
