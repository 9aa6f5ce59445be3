import type { Finding } from '../../diagnostics.ts';
import type { Sections } from './sections.ts';

/** Passwords that nobody can log in with: an account is locked unless the document says otherwise. */
export function lintUsers({ host }: Sections): Finding[] {
  return (host?.users ?? []).flatMap(({ passwordHash, locked, absent }, index): Finding[] => {
    if (passwordHash === undefined || locked === false || absent === true) return [];
    if (passwordHash === '*' || passwordHash === '!') return [];
    const message = `no one can log in with this password: the account is locked${locked === true ? '' : ' by default'}`;
    const hint = 'add locked: false, or remove passwordHash';
    return [{ path: ['host', 'users', index, 'passwordHash'], message, hint }];
  });
}
