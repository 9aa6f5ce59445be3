import type { Limit } from '@machineadm/document/model.ts';
import { SERVICE_LIMITS_FILE, SESSION_LIMITS_FILE } from '@machineadm/document/ownership/paths.ts';
import { fileStep } from './file-step.ts';

/**
 * Limits of processes. systemd reads its defaults again with its units (systemd-system.conf(5)), and gives them to what it
 * starts from then on; pam_limits reads its files at each login.
 */
export const limits = fileStep({
  id: 'limits',
  settles: ['daemon-reload'],

  files({ host: { limits } }) {
    if (limits === undefined) return undefined;
    const { services, sessions } = limits;
    const defaults = services.map(({ name, ...limit }) => `DefaultLimit${name.toUpperCase()}=${forSystemd(limit)}\n`);
    const lines = sessions.flatMap(({ who, limits }) => limits.flatMap((limit) => forSessions(who, limit)));
    return [
      {
        path: SERVICE_LIMITS_FILE,
        content: services.length === 0 ? undefined : `# Written by machineadm.\n[Manager]\n${defaults.join('')}`,
        owes: ['daemon-reload'],
      },
      {
        path: SESSION_LIMITS_FILE,
        content: sessions.length === 0 ? undefined : `# Written by machineadm.\n${lines.join('')}`,
      },
    ];
  },
});

function forSystemd({ soft, hard }: Omit<Limit, 'name'>): string {
  const [from, to] = [soft, hard].map((amount) => (amount === 'Unlimited' ? 'infinity' : String(amount)));
  return from === to ? `${from}` : `${from}:${to}`;
}

function forSessions(who: string, { name, soft, hard }: Limit): string[] {
  const [from, to] = [soft, hard].map((amount) => (amount === 'Unlimited' ? 'unlimited' : String(amount)));
  return from === to
    ? [`${who} - ${name} ${from}\n`]
    : [`${who} soft ${name} ${from}\n`, `${who} hard ${name} ${to}\n`];
}
