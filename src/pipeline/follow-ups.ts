import type { Host } from '../host/seam/host.ts';
import type { FollowUp } from '../step/index.ts';

/**
 * Performs the follow-ups of a change that its step does not perform itself. They can be repeated: a kill before the
 * record costs one more restart.
 */
export async function performFollowUp(host: Host, followUp: FollowUp): Promise<void> {
  if (followUp === 'update-ca-certificates') throw new Error(`${followUp} is performed by its step alone`);
  if (followUp === 'daemon-reload') await host.services.reload();
  else if (followUp.startsWith('reload:')) await host.services.reloadService(followUp.slice('reload:'.length));
  else await host.services.restart(followUp.slice('restart:'.length));
}
