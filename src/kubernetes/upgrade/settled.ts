import { setTimeout as pause } from 'node:timers/promises';
import { type Answer, type ApiCredential, type ApiRequest, askApiServer } from '../../host/cluster/api-server.ts';

/** Loading the rights takes about a second, and more on a busy machine. */
const PATIENCE_MS = 60_000;
const PAUSE_MS = 500;
const FORBIDDEN = 403;

/**
 * Like `askApiServer`, but waits for an API server that has just started: it serves before it has read the objects of
 * RBAC, and until then it refuses everyone outside of `system:masters` with 403. Every user may read `/version`
 * (ClusterRole `system:public-info-viewer`), so a 403 for that shows that the rights are not loaded yet.
 */
export async function askSettled(
  credential: ApiCredential,
  request: ApiRequest,
  patienceMs: number = PATIENCE_MS,
): Promise<Answer<unknown>> {
  const end = performance.now() + patienceMs;
  for (;;) {
    const answer = await askApiServer(credential, request);
    if (!isForbidden(answer) || performance.now() > end) return answer;
    const version = await askApiServer(credential, { path: '/version', signal: request.signal });
    // The rights may have been loaded between the two requests.
    if (!isForbidden(version)) return await askApiServer(credential, request);
    await pause(PAUSE_MS, undefined, { signal: request.signal });
  }
}

function isForbidden(answer: Answer<unknown>): boolean {
  return answer.kind === 'refused' && answer.status === FORBIDDEN;
}
