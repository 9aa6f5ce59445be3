import { type Api, isStatus } from '../cluster/api.ts';
import { type KubernetesObject, SecretObject } from '../cluster/objects.ts';
import { configOwner } from '../cluster/related.ts';
import { storedState } from '../handover/mark.ts';
import type { Judged } from '../reports/conditions.ts';
import { verdictOn } from './verdict.ts';

/** What the Secret at a path means for its KubeadmConfig; undefined = it is gone, or belongs to another one. */
export async function verdictAt(
  api: Api,
  path: string,
  config: KubernetesObject,
  signal: AbortSignal,
): Promise<Judged | undefined> {
  try {
    const secret = SecretObject.parse(await api.request({ path, signal }));
    return configOwner(secret)?.uid === config.metadata.uid ? verdictOn(storedState(secret)) : undefined;
  } catch (error) {
    if (isStatus(error, 403)) return verdictOn('unreadable');
    if (isStatus(error, 404)) return undefined;
    throw error;
  }
}
