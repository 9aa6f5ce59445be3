import type { Finding } from '../../diagnostics.ts';
import type { ActiveDirectorySection } from './active-directory.ts';
import { COMPUTER_NAME } from './active-directory.ts';
import type { Sections } from './sections.ts';

const PATH = ['host', 'activeDirectory'] as const;

/** What the fields of a domain say against each other, and against the host name of the document. */
export function checkActiveDirectory({ host }: Sections): Finding[] {
  const section = host?.activeDirectory;
  if (section === undefined) return [];
  return [...checkName(section, host?.hostname), ...checkUnit(section), ...checkOffline(section)];
}

/** A name that was cut would be that of every machine with the same beginning, and the last one to join has it. */
function checkName({ computerName }: ActiveDirectorySection, hostname: string | undefined): Finding[] {
  const [label] = hostname?.split('.') ?? [];
  if (computerName !== undefined || label === undefined || COMPUTER_NAME.test(label)) return [];
  return [
    {
      path: [...PATH, 'domain'],
      message: `the host name ${label} has ${label.length} characters, and a computer of a domain at most 15`,
      hint: 'give computerName, of its own for each machine',
      about: ['host', 'hostname'],
    },
  ];
}

function checkUnit({ computerOU, domain }: ActiveDirectorySection): Finding[] {
  if (computerOU === undefined) return [];
  const parts = computerOU.split(',').map((part) => part.trim().toLowerCase());
  const named = parts.filter((part) => part.startsWith('dc=')).map((part) => part.slice('dc='.length));
  if (named.join('.') === domain.toLowerCase()) return [];
  const suffix = domain
    .split('.')
    .map((label) => `DC=${label}`)
    .join(',');
  const message = 'a place in another domain than the one that is joined';
  return [{ path: [...PATH, 'computerOU'], message, hint: `it ends in "${suffix}"` }];
}

/** The blob was made for an account that is there, in its place. */
function checkOffline({ credentials, computerOU, accountReuse }: ActiveDirectorySection): Finding[] {
  if ('user' in credentials) return [];
  const why = 'offlineBlob' in credentials ? 'the blob was made for' : 'the one-time password belongs to';
  return [
    ...(computerOU === undefined ? [] : [['computerOU', 'place'] as const]),
    ...(accountReuse === undefined ? [] : [['accountReuse', 'account'] as const]),
  ].map(([key, what]) => ({
    path: [...PATH, key],
    message: `${why} an account that is there: its ${what} is not chosen here`,
    hint: 'remove it',
  }));
}
