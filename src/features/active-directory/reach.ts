import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { lastLine } from '@machineadm/document/text/printable.ts';
import type { DirectoryNetwork } from '../../host/network/directory.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import type { Execution } from '../../step/index.ts';
import type { DomainMembership } from './membership.ts';

/** LDAP, Kerberos, and changing a password (RFC 3244): without the last, an account is only half created. */
const NEEDED_PORTS = [389, 88, 464] as const;
/** SMB: group policies, and the offline join. */
const SMB_PORT = 445;

/** Kerberos refuses larger differences by default ([MS-KILE] 3.1.5; krb5.conf(5) clockskew). */
const CLOCK_LIMIT_MS = 300_000;
const CLOCK_WARNING_MS = 60_000;
/** adcli waits for LDAP over TCP indefinitely; a reachable server takes less than a second. */
const INFO_TIMEOUT_MS = 10_000;

/**
 * The controller to join with, after checking that it answers and that the clocks agree: problems that adcli does not
 * distinguish (one message for every DNS error), never ends on (a silent port 389), or ignores (a wrong clock). Throws
 * `DomainNotFound`, `DomainNameServiceFailed`, `DomainControllerUnreachable`, `DomainControllerClockSkew`.
 */
export async function reachController(
  host: QueryHost,
  network: DirectoryNetwork,
  desired: DomainMembership,
  { waitingFor, warn }: Pick<Execution, 'waitingFor' | 'warn'>,
): Promise<string> {
  waitingFor(`the controllers of ${desired.domain}`);
  const controller = desired.domainController ?? (await chosenController(host, network, desired.domain));
  const address = await network.addressOf(controller);
  const closed = await network.closedPorts(address, [...NEEDED_PORTS, SMB_PORT]);
  const needed = closed.filter(({ port }) => port !== SMB_PORT || desired.credentials.kind === 'offlineBlob');
  if (needed.length > 0) throw unreachable(controller, address, needed);
  if (closed.length > 0)
    warn(`${controller} does not accept TCP ${SMB_PORT}: the join does not need it, but group policies do`);
  checkClock(controller, await network.clock(address), warn);
  return controller;
}

/** The controller of this machine's site, as adcli finds it over UDP; otherwise the first one in DNS. */
async function chosenController(host: QueryHost, network: DirectoryNetwork, domain: string): Promise<string> {
  const [first] = await network.controllers(domain);
  const info = await host.query({ program: 'adcli', args: ['info', `--domain=${domain}`], timeoutMs: INFO_TIMEOUT_MS });
  const chosen = info.status === 0 ? /^domain-controller = (\S+)$/m.exec(info.stdout)?.[1] : undefined;
  const controller = chosen ?? first;
  if (controller !== undefined) return controller;
  throw new MachineadmError({
    reason: 'DomainNotFound',
    summary: `The name servers of this machine have no record of a controller of the domain ${domain}.`,
    remedy: "Check host.activeDirectory.domain, and that /etc/resolv.conf names the domain's own DNS servers.",
    evidence: [
      { source: 'DNS', text: `no SRV records of _ldap._tcp.dc._msdcs.${domain}` },
      { source: 'adcli info', text: lastLine(info.stderr) },
    ],
  });
}

function checkClock(controller: string, theirs: number | undefined, warn: (message: string) => void): void {
  if (theirs === undefined) {
    warn(`${controller} does not report its time, so the clocks were not compared`);
    return;
  }
  const skewMs = Date.now() - theirs;
  const seconds = Math.round(Math.abs(skewMs) / 1000);
  const text = `this machine is ${seconds} s ${skewMs < 0 ? 'behind' : 'ahead of'} ${controller}`;
  if (Math.abs(skewMs) <= CLOCK_LIMIT_MS) {
    if (Math.abs(skewMs) > CLOCK_WARNING_MS) warn(`${text}: Kerberos works up to 300 s`);
    return;
  }
  throw new MachineadmError({
    reason: 'DomainControllerClockSkew',
    summary: `The clocks of this machine and of its domain are ${seconds} s apart, and Kerberos allows 300.`,
    remedy: 'Set the clock before the join (host.time with the time servers of the domain), then run again.',
    evidence: [{ source: `currentTime of ${controller}`, text }],
    retryable: true,
  });
}

function unreachable(
  controller: string,
  address: string,
  closed: readonly { readonly port: number; readonly why: string }[],
): MachineadmError {
  const ports = closed.map(({ port }) => port).join(', ');
  return new MachineadmError({
    reason: 'DomainControllerUnreachable',
    summary: `The domain controller ${controller} (${address}) cannot be reached on TCP ${ports}.`,
    remedy: 'Check that it runs, and open TCP 88, 389, 464 and 445 from this machine to it; then run again.',
    evidence: closed.map(({ port, why }) => ({ source: `connect ${address}:${port}`, text: why })),
    retryable: true,
  });
}
