import type { Command, CommandResult, Query } from '../../../host/seam/host.ts';
import { SYSTEM_ROOT } from '../../../host/windows/paths.ts';

/** Flags of JoinDomainOrWorkgroup (Microsoft Learn, "JoinDomainOrWorkgroup method of the Win32_ComputerSystem class"). */
const JOIN = 0x1;
const CREATE_ACCOUNT = 0x2;
const UNSECURE = 0x40;
const MACHINE_PASSWORD_PASSED = 0x80;

/** What JOIN_DOMAIN is given. */
export interface JoinRequest {
  /** The domain; or `DOMAIN\CONTROLLER`, which names the controller to use. */
  readonly name: string;
  readonly password: string;
  readonly user: string | null;
  readonly organizationalUnit: string | null;
  readonly options: number;
}

interface Target {
  readonly domain: string;
  readonly domainController: string | undefined;
}

/** With an account that may make computers, given as a user principal name, which no NetBIOS name of the domain is needed for. */
export function accountJoin(
  target: Target & { readonly computerOU: string | undefined },
  user: string,
  password: string,
): JoinRequest {
  return {
    name: nameOf(target),
    password,
    user: principalOf(user, target.domain),
    organizationalUnit: target.computerOU ?? null,
    options: JOIN | CREATE_ACCOUNT,
  };
}

/**
 * With the one-time password of an existing account: without a login ("unsecure"), the password is that of the
 * computer.
 */
export function oneTimeJoin(target: Target, password: string): JoinRequest {
  const options = JOIN | UNSECURE | MACHINE_PASSWORD_PASSED;
  return { name: nameOf(target), password, user: null, organizationalUnit: null, options };
}

export function principalOf(user: string, domain: string): string {
  return `${user}@${domain}`;
}

function nameOf({ domain, domainController }: Target): string {
  return domainController === undefined ? domain : `${domain}\\${domainController}`;
}

/** Takes the computer's password out of a blob, for the next boot, and needs no network (Microsoft Learn, djoin). */
export function offlineJoin(file: string, timeoutMs: number): Command {
  return {
    program: 'djoin.exe',
    args: ['/requestodj', '/loadfile', file, '/windowspath', SYSTEM_ROOT, '/localos'],
    timeoutMs,
  };
}

/** Finds a controller again instead of using the cached one (Microsoft Learn, nltest). */
export function findController(domain: string): Query {
  return { program: 'nltest.exe', args: [`/dsgetdc:${domain}`, '/force'] };
}

/** The controller that the locator found. */
export interface FoundController {
  readonly name: string;
  readonly address: string;
}

/**
 * What `nltest /dsgetdc` found, or the Win32 number of why not; undefined for an answer that is neither. The words of
 * nltest are not translated.
 */
export function readController({ status, stdout, stderr }: CommandResult): FoundController | number | undefined {
  const name = /^[ \t]*DC: \\\\(\S+)\s*$/m.exec(stdout)?.[1];
  const address = /^[ \t]*Address: \\\\(\S+)\s*$/m.exec(stdout)?.[1];
  if (status === 0 && name !== undefined && address !== undefined) return { name, address };
  return statusIn(`${stdout}\n${stderr}`);
}

/** May repair a broken secure channel, so it is not a query. */
export function verifyChannel(domain: string): Command {
  return { program: 'nltest.exe', args: [`/sc_verify:${domain}`], timeoutMs: 60_000 };
}

/** 0 where the channel was verified in both directions, else the Win32 number of why not; undefined for no answer. */
export function readVerification({ status, stdout, stderr }: CommandResult): number | undefined {
  const said = `${stdout}\n${stderr}`;
  const failed = [...said.matchAll(/Status = (\d+) 0x[0-9a-f]+/gi)]
    .map(([, code]) => Number(code))
    .find((code) => code > 0);
  if (failed !== undefined) return failed;
  const isVerified = /Trust Verification Status = 0 0x0 NERR_Success/.test(stdout);
  return status === 0 && isVerified ? 0 : undefined;
}

/** Asks the clock of a controller once, over NTP (Microsoft Learn, w32tm). */
export function compareClocks(controller: string): Query {
  return {
    program: 'w32tm.exe',
    args: ['/stripchart', `/computer:${controller}`, '/samples:1', '/dataonly'],
  };
}

/** How many seconds this clock is behind the controller's; undefined where the controller did not report its time. */
export function readClockOffset({ stdout }: CommandResult): number | undefined {
  const offset = /,\s*([+-]\d+[.,]\d+)s\s*$/m.exec(stdout)?.[1];
  return offset === undefined ? undefined : Number(offset.replace(',', '.'));
}

function statusIn(said: string): number | undefined {
  const code = /Status = (\d+) 0x[0-9a-f]+/i.exec(said)?.[1];
  return code === undefined ? undefined : Number(code);
}
