import type { Limit } from '@machineadm/document/model/index.ts';
import { dropInPath } from '@machineadm/document/ownership/drop-ins.ts';
import { fileStep } from '../../owned-files/file-step.ts';

/**
 * Limits of processes. systemd reads its defaults again with its units (systemd-system.conf(5)), and gives them to what it
 * starts from then on; pam_limits reads its files at each login.
 */
export const limits = fileStep({
  id: 'limits',
  section: 'host.limits',
  settles: ['daemon-reload'],

  files(model) {
    const { limits } = model.host;
    if (limits === undefined) return undefined;
    const isBeside = model.ofImage !== true;
    const { services, sessions } = limits;
    const defaults = services.map(({ name, ...limit }) => `DefaultLimit${name.toUpperCase()}=${forSystemd(limit)}\n`);
    const lines = sessions.flatMap(({ who, limits }) => limits.flatMap((limit) => forSessions(who, limit)));
    return [
      {
        path: dropInPath('serviceLimits', model),
        content: services.length === 0 ? undefined : `# Written by machineadm.\n[Manager]\n${defaults.join('')}`,
        owes: ['daemon-reload'],
        ...(isBeside ? { beside: 'serviceLimits' as const } : {}),
      },
      {
        path: dropInPath('sessionLimits', model),
        content: sessions.length === 0 ? undefined : `# Written by machineadm.\n${lines.join('')}`,
        ...(isBeside ? { beside: 'sessionLimits' as const } : {}),
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
