import type { Finding } from '../../diagnostics/index.ts';
import type { Sections } from './sections.ts';

/** Passwords that nobody can log in with: an account is locked unless the document says otherwise. */
export function lintUsers({ host }: Sections): Finding[] {
  return (host?.users ?? []).flatMap(({ passwordHash, locked, absent }, index): Finding[] => {
    if (passwordHash === undefined || locked === false || absent === true) return [];
    if (passwordHash === '*' || passwordHash === '!') return [];
    const message = `no one can log in with the password of this account: it is locked${locked === true ? '' : ' by default'}`;
    const hint = 'add locked: false, or remove passwordHash';
    // At the user: behind the name of the field a report takes the text for a value, and hides it.
    return [{ path: ['host', 'users', index], message, hint }];
  });
}
