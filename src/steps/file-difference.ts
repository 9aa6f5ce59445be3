import { createHash } from 'node:crypto';
import { formatMode } from '@machineadm/document/units.ts';
import type { NewFile, QueryHost } from '../host/seam/host.ts';

/** How the file on this machine differs from the one that is wanted, in words; undefined = it does not. */
export async function differenceOf(host: QueryHost, file: NewFile): Promise<string | undefined> {
  const stat = await host.stat(file.path);
  if (stat === undefined) return `create, ${formatMode(file.mode)}`;
  if (stat.type !== 'file') return `is a ${stat.type}`;
  const differences: string[] = [];
  if ((await host.sha256(file.path)) !== sha256(file.content)) differences.push('another content');
  if (stat.mode !== file.mode) differences.push(`mode ${formatMode(stat.mode)} -> ${formatMode(file.mode)}`);
  const [uid, gid] = [file.uid ?? 0, file.gid ?? 0];
  if (stat.uid !== uid || stat.gid !== gid) differences.push(`owner ${stat.uid}:${stat.gid} -> ${uid}:${gid}`);
  return differences.length === 0 ? undefined : differences.join(', ');
}

/** What a change does that `differenceOf` describes. */
export function actionOf(difference: string): 'add' | 'change' {
  return difference.startsWith('create') ? 'add' : 'change';
}

function sha256(content: Uint8Array | string): string {
  return createHash('sha256').update(content).digest('hex');
}
