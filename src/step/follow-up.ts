import type { Host } from '../host/seam/host.ts';

/**
 * Work owed to a change: the service manager must re-read its units, the system's store of trusted certificates must be
 * recreated, or a service must restart on new inputs, or read them again.
 */
export type FollowUp = 'daemon-reload' | 'update-ca-certificates' | `restart:${string}` | `reload:${string}`;

/** Does `restart:SERVICE` for a service that runs: a stopped one reads its inputs when it starts. */
export async function restartIfActive(host: Host, followUp: FollowUp): Promise<void> {
  const service = followUp.slice('restart:'.length);
  if ((await host.service(service)).active) await host.services.restart(service);
}

/** Follow-ups that a document asks for by the full names of units. */
export const DOCUMENT_FOLLOW_UP = /^(?:reload|restart):.*\.[a-z]+$/;
