import type { Finding } from '../../diagnostics.ts';
import type { HostSection } from './host.ts';

/** Mistakes in `host.hooks` across fields. */
export function checkHooks(hooks: HostSection['hooks']): Finding[] {
  const findings: Finding[] = [];
  for (const [phase, group] of Object.entries(hooks ?? {})) {
    if (group === undefined) continue;
    const path = ['host', 'hooks', phase];
    for (const name of Object.keys(group.secrets ?? {})) {
      if (!Object.hasOwn(group.environment ?? {}, name)) continue;
      const hint = 'rename one of them';
      findings.push({ path: [...path, 'secrets', name], message: `environment sets "${name}", too`, hint });
    }
    if ('frequency' in group && group.frequency === 'Always' && group.secrets !== undefined) {
      findings.push({
        path: [...path, 'secrets'],
        message: 'a hook of every boot has no secrets: the document is not there when the machine boots',
        hint: 'read the secret in the command, or use frequency: Once',
      });
    }
  }
  return findings;
}
