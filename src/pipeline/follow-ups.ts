import type { Host } from '../host/seam/host.ts';
import type { FollowUp } from '../steps/step.ts';

/**
 * Performs what a change owed and what its step does not perform by itself. Repeating one is harmless: a kill between it and
 * its record costs one more restart.
 */
export async function performFollowUp(host: Host, followUp: FollowUp): Promise<void> {
  if (followUp === 'update-ca-certificates') throw new Error(`${followUp} is performed by its step alone`);
  if (followUp === 'daemon-reload') await host.services.reload();
  else await host.services.restart(followUp.slice('restart:'.length));
}
