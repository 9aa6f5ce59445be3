import { setTimeout as pause } from 'node:timers/promises';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import { textLines } from '@machineadm/document/text/printable.ts';
import type { DirectoryNetwork } from '../../../host/network/directory.ts';
import type { QueryHost } from '../../../host/seam/host.ts';
import type { Execution } from '../../../step/index.ts';
import { compareClocks, type FoundController, findController, readClockOffset, readController } from './commands.ts';
import { windowsJoinFailure } from './failures.ts';
import type { ChannelPatience } from './join.ts';
import type { WindowsMembership } from './membership.ts';

/** Kerberos, the RPC endpoint mapper, LDAP, SMB, and changing a password. */
const PORTS = [88, 135, 389, 445, 464] as const;
/** Kerberos refuses more by default ([MS-KILE] 3.1.5). */
const CLOCK_LIMIT_S = 300;
const CLOCK_WARNING_S = 60;

/**
 * Makes sure that a controller answers and that its clock is ours, before a secret is sent there. Throws
 * `DomainNotFound`, `DomainNameServiceFailed`, `DomainControllerUnreachable`, `DomainControllerClockSkew`.
 */
export async function reachWindowsController(
  host: QueryHost,
  network: Pick<DirectoryNetwork, 'addressOf' | 'closedPorts'>,
  desired: WindowsMembership,
  { waitingFor, warn }: Pick<Execution, 'waitingFor' | 'warn'>,
): Promise<FoundController> {
  waitingFor(`the controllers of ${desired.domain}`);
  const located = await locate(host, desired);
  const controller =
    desired.domainController === undefined
      ? located
      : { name: desired.domainController, address: await network.addressOf(desired.domainController) };
  const closed = await network.closedPorts(controller.address, PORTS);
  if (closed.length > 0) throw unreachable(controller, closed);
  const offset = readClockOffset(await host.query(compareClocks(controller.name)));
  if (offset === undefined) warn(`${controller.name} does not report its time, so the clocks were not compared`);
  else checkClock(controller.name, offset, warn);
  return controller;
}

/** How long the network has to come up. */
export const NETWORK_PATIENCE: ChannelPatience = { withinMs: 120_000, everyMs: 5_000 };
/** What a network says that is not up yet: a task at boot is started before it. */
const NOT_UP_YET: ReadonlySet<Reason> = new Set<Reason>([
  'DomainNotFound',
  'DomainNameServiceFailed',
  'DomainControllerUnreachable',
]);

/** The same, asked again for a while where the network may not be up yet: nothing of it costs a try of a password. */
export async function awaitWindowsController(
  reach: () => Promise<FoundController>,
  { withinMs, everyMs }: ChannelPatience,
  signal: AbortSignal,
): Promise<FoundController> {
  const end = performance.now() + withinMs;
  for (;;) {
    try {
      return await reach();
    } catch (error) {
      const mayPass = error instanceof MachineadmError && NOT_UP_YET.has(error.reason);
      if (!mayPass || performance.now() >= end) throw error;
    }
    await pause(everyMs, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}

async function locate(host: QueryHost, { domain, credentials }: WindowsMembership): Promise<FoundController> {
  const result = await host.query(findController(domain));
  const found = readController(result);
  if (typeof found === 'object') return found;
  const lines = textLines(result.stdout, result.stderr);
  const evidence = lines.slice(-2).map((text) => ({ source: `nltest /dsgetdc:${domain}`, text: text.trim() }));
  throw windowsJoinFailure('nltest.exe', found, credentials.kind, evidence);
}

function checkClock(controller: string, offsetS: number, warn: (message: string) => void): void {
  const seconds = Math.round(Math.abs(offsetS));
  const text = `this machine is ${seconds} s ${offsetS > 0 ? 'behind' : 'ahead of'} ${controller}`;
  if (seconds <= CLOCK_LIMIT_S) {
    if (seconds > CLOCK_WARNING_S) warn(`${text}: Kerberos works up to ${CLOCK_LIMIT_S} s`);
    return;
  }
  throw new MachineadmError({
    reason: 'DomainControllerClockSkew',
    summary: `The clocks of this machine and of its domain are ${seconds} s apart, and Kerberos allows ${CLOCK_LIMIT_S}.`,
    remedy: 'Set the clock before the join (host.time with the time servers of the domain), then run again.',
    evidence: [{ source: `w32tm /stripchart /computer:${controller}`, text }],
    retryable: true,
  });
}

function unreachable(
  { name, address }: FoundController,
  closed: readonly { readonly port: number; readonly why: string }[],
): MachineadmError {
  return new MachineadmError({
    reason: 'DomainControllerUnreachable',
    summary: `The domain controller ${name} (${address}) cannot be reached on TCP ${closed.map(({ port }) => port).join(', ')}.`,
    remedy: `Check that it runs, and open TCP ${PORTS.join(', ')} and the dynamic RPC ports from this machine to it; then run again.`,
    evidence: closed.map(({ port, why }) => ({ source: `connect ${address}:${port}`, text: why })),
    retryable: true,
  });
}
