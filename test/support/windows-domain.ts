import type { ActiveDirectoryModel, DomainCredentials } from '@machineadm/document/model/index.ts';
import { Secret, type SecretValue } from '@machineadm/document/secrets/secret.ts';
import { type WindowsDomainOptions, windowsDomainStep } from '../../src/features/active-directory/windows/index.ts';
import { FIND_COMPUTER, JOIN_DOMAIN } from '../../src/host/windows/domain-scripts.ts';
import type { Step } from '../../src/step/index.ts';
import { membership } from './active-directory.ts';
import type { Recording, WindowsMachine } from './windows-machine.ts';

export const DOMAIN = 'corp.example.com';
export const PASSWORD = 'Passw0rd-of-the-joiner';
export const ONE_TIME_PASSWORD = 'One-time-0123456789';

const NLTEST = { composed: 'Microsoft Learn, nltest; the words are not translated' };

/** A document's domain, joined with the account `joiner` unless it says otherwise. */
export function domainModel(different: Partial<ActiveDirectoryModel> = {}): ActiveDirectoryModel {
  return membership({ domain: DOMAIN, credentials: accountCredentials(), ...different });
}

export function accountCredentials(): DomainCredentials {
  return { kind: 'account', user: 'joiner', password: secretValue('joinPassword', PASSWORD) };
}

export function oneTimeCredentials(): DomainCredentials {
  return { kind: 'oneTimePassword', password: secretValue('oneTime', ONE_TIME_PASSWORD) };
}

export function blobCredentials(text: string): DomainCredentials {
  return { kind: 'offlineBlob', blob: secretValue('blob', text) };
}

function secretValue(name: string, value: string): SecretValue {
  return { name, source: { kind: 'value', secret: new Secret(value) } };
}

/** The step, with a network in which these ports of a controller are closed, and no patience. */
export function domainStep(closed: readonly number[] = [], different: Partial<WindowsDomainOptions> = {}): Step {
  const step: unknown = windowsDomainStep({
    network: async () => ({
      addressOf: async () => '10.0.0.9',
      closedPorts: async (_address, ports) =>
        ports.filter((port) => closed.includes(port)).map((port) => ({ port, why: 'ETIMEDOUT' })),
    }),
    networkPatience: { withinMs: 0, everyMs: 1 },
    channelPatience: { withinMs: 0, everyMs: 1 },
    ...different,
  });
  return step as Step;
}

/** The locator finds a controller. */
export const FOUND: Recording = {
  program: 'nltest.exe',
  args: [`/dsgetdc:${DOMAIN}`, '/force'],
  stdout: [
    `           DC: \\\\DC1.${DOMAIN}`,
    '      Address: \\\\10.0.0.2',
    '     Dom Guid: 6ba8b6a1-4c9f-4c9a-8f0e-3f1c4f6f0001',
    `     Dom Name: ${DOMAIN}`,
    `  Forest Name: ${DOMAIN}`,
    ' Dc Site Name: Default-First-Site-Name',
    'Our Site Name: Default-First-Site-Name',
    '        Flags: PDC GC DS LDAP KDC TIMESERV WRITABLE DNS_DC DNS_DOMAIN DNS_FOREST CLOSE_SITE FULL_SECRET WS',
    'The command completed successfully',
    '',
  ].join('\r\n'),
  from: NLTEST,
};

/** It does not, for a reason of Win32. */
export function notFound(code: number, name: string): Recording {
  const stdout = `Getting DC name failed: Status = ${code} 0x${code.toString(16)} ${name}\r\n`;
  return { program: 'nltest.exe', args: [`/dsgetdc:${DOMAIN}`, '/force'], status: 1, stdout, from: NLTEST };
}

/** The clock of the controller is so many seconds ahead of ours. */
export function clock(seconds: number): Recording {
  const offset = `${seconds < 0 ? '-' : '+'}${Math.abs(seconds).toFixed(7).padStart(10, '0')}s`;
  return {
    program: 'w32tm.exe',
    args: ['/stripchart', `/computer:DC1.${DOMAIN}`, '/samples:1', '/dataonly'],
    stdout: [
      `Tracking DC1.${DOMAIN} [10.0.0.2:123].`,
      'Collecting 1 samples.',
      'The current time is 1/1/2026 12:00:00 AM.',
      `00:00:00, ${offset}`,
      '',
    ].join('\r\n'),
    from: { composed: 'Microsoft Learn, w32tm' },
  };
}

/** What the account that joins finds of this computer in the directory. */
export function findsAccount(account: string | null): Recording {
  return {
    script: FIND_COMPUTER,
    answer: { code: 0, account },
    from: { composed: 'System.DirectoryServices, Microsoft Learn' },
  };
}

/** Windows answers the join with a number; from the next boot on it is a member where that is 0. */
export function joins(code: number, request?: object): Recording {
  return {
    script: JOIN_DOMAIN,
    ...(request === undefined ? {} : { request }),
    answer: { code },
    effect: ({ state }) => {
      if (code === 0) state.atNextBoot.push(becomeMember);
    },
    from: { composed: 'Microsoft Learn, JoinDomainOrWorkgroup method of the Win32_ComputerSystem class' },
  };
}

export function becomeMember(state: WindowsMachine['state']): void {
  state.partOfDomain = true;
  state.domain = DOMAIN;
  state.isTrusted = true;
}

/** Netlogon's verdict about the channel. */
export function verified(code = 0, name = 'NERR_Success'): Recording {
  const hexadecimal = `0x${code.toString(16)}`;
  return {
    program: 'nltest.exe',
    args: [`/sc_verify:${DOMAIN}`],
    status: code === 0 ? 0 : 1,
    stdout:
      code === 0
        ? [
            'Flags: b0 HAS_IP  HAS_TIMESERV ',
            `Trusted DC Name \\\\DC1.${DOMAIN} `,
            'Trusted DC Connection Status Status = 0 0x0 NERR_Success',
            'Trust Verification Status = 0 0x0 NERR_Success',
            'The command completed successfully',
            '',
          ].join('\r\n')
        : `I_NetLogonControl failed: Status = ${code} ${hexadecimal} ${name}\r\n`,
    from: NLTEST,
  };
}

/** All that a join with an account that ends well meets. */
export function domainThatAccepts(): readonly Recording[] {
  return [FOUND, clock(0.01), findsAccount(null), joins(0), verified()];
}
