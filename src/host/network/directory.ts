import { promises as dns, lookup as lookupName } from 'node:dns';
import { connect } from 'node:net';
import { promisify } from 'node:util';
import { type Evidence, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { errorCode, probeTcp } from './reachability.ts';

/** Network queries about a domain, made before a secret is sent there. Each has its own time limit. */
export interface DirectoryNetwork {
  /**
   * Host names of the domain's controllers, the preferred one first; [] where a name server answers that there are
   * none. Throws `DomainNameServiceFailed` without an answer.
   */
  controllers(domain: string): Promise<readonly string[]>;
  /** Addresses of a controller. Throws `DomainNameServiceFailed`. */
  addressOf(controller: string): Promise<string>;
  /** The ports that do not accept a TCP connection, with the reason. */
  closedPorts(address: string, ports: readonly number[]): Promise<readonly ClosedPort[]>;
  /** This machine's source address for a controller; undefined: there is no route. */
  ownAddress(controller: string): Promise<string | undefined>;
  /** The clock of a controller in milliseconds since the epoch; undefined without an answer. */
  clock(address: string): Promise<number | undefined>;
}

export interface ClosedPort {
  readonly port: number;
  /** `ECONNREFUSED`, `ETIMEDOUT`, … */
  readonly why: string;
}

const DNS_TIMEOUT_MS = 3_000;
const DNS_TRIES = 2;
const CONNECT_TIMEOUT_MS = 3_000;
const CLOCK_TIMEOUT_MS = 5_000;
const LDAP_PORT = 389;

/**
 * LDAP SearchRequest (RFC 4511 4.5.1), message 1: base object "" (the rootDSE, which needs no login), scope base, filter
 * (objectClass=*), attribute currentTime ([MS-ADTS] 3.1.1.3.2.3).
 */
const CURRENT_TIME = 'currentTime';
const CLOCK_REQUEST = Buffer.concat([
  Buffer.from('3032020101632d04000a01000a0100020100020105010100870b', 'hex'),
  Buffer.from('objectClass'),
  Buffer.from('300d040b', 'hex'),
  Buffer.from(CURRENT_TIME),
]);

/** A server without a forwarder refuses names outside its own zones. */
const ANSWERS_WITHOUT_RECORDS = ['ENOTFOUND', 'ENODATA', 'EREFUSED'];

/** The format of Samba's internal server (4.17) for EDNS answers is not accepted by c-ares. */
const UNREADABLE_ANSWERS = ['EFORMERR', 'EBADRESP'];

export const directoryNetwork: DirectoryNetwork = { controllers, addressOf, closedPorts, ownAddress, clock };

/** [MS-ADTS] 6.3.2.3: the SRV records of a domain's controllers. */
async function controllers(domain: string): Promise<readonly string[]> {
  const name = `_ldap._tcp.dc._msdcs.${domain}`;
  // Created for each call, because it reads resolv.conf at that time, which an earlier step may have written.
  const resolver = new dns.Resolver({ timeout: DNS_TIMEOUT_MS, tries: DNS_TRIES });
  try {
    const records = await resolver.resolveSrv(name);
    return records.sort((a, b) => a.priority - b.priority || b.weight - a.weight).map((record) => record.name);
  } catch (error) {
    const code = errorCode(error);
    if (ANSWERS_WITHOUT_RECORDS.includes(code)) return [];
    if (UNREADABLE_ANSWERS.includes(code)) return await domainItself(domain);
    const evidence = [{ source: `DNS ${name}`, text: code }];
    throw nameServiceFailed(domain, resolver.getServers(), evidence, error);
  }
}

/** [MS-ADTS] 6.3.2.2: each controller also registers its address under the domain's name. */
async function domainItself(domain: string): Promise<readonly string[]> {
  try {
    await promisify(lookupName)(domain);
    return [domain];
  } catch {
    return [];
  }
}

async function addressOf(controller: string): Promise<string> {
  try {
    return (await promisify(lookupName)(controller)).address;
  } catch (error) {
    const evidence = [{ source: `name of ${controller}`, text: errorCode(error) }];
    throw nameServiceFailed(controller, new dns.Resolver().getServers(), evidence, error);
  }
}

async function closedPorts(address: string, ports: readonly number[]): Promise<readonly ClosedPort[]> {
  const found = await Promise.all(
    ports.map(async (port) => ({ port, why: await probeTcp(address, port, CONNECT_TIMEOUT_MS) })),
  );
  return found.flatMap(({ port, why }) => (why === undefined ? [] : [{ port, why }]));
}

function ownAddress(controller: string): Promise<string | undefined> {
  return new Promise((done) => {
    const socket = connect({ host: controller, port: LDAP_PORT });
    const end = (address?: string): void => {
      socket.destroy();
      done(address);
    };
    socket.setTimeout(CONNECT_TIMEOUT_MS, () => end());
    socket.once('connect', () => end(socket.localAddress));
    socket.once('error', () => end());
  });
}

function clock(address: string): Promise<number | undefined> {
  return new Promise((done) => {
    const socket = connect({ host: address, port: LDAP_PORT });
    const pieces: Buffer[] = [];
    const end = (): void => {
      socket.destroy();
      done(readClock(Buffer.concat(pieces)));
    };
    socket.setTimeout(CLOCK_TIMEOUT_MS, end);
    socket.once('connect', () => socket.write(CLOCK_REQUEST));
    socket.on('data', (piece) => {
      pieces.push(piece);
      if (readClock(Buffer.concat(pieces)) !== undefined) end();
    });
    socket.once('error', end);
    socket.once('close', end);
  });
}

/** The GeneralizedTime (`20261120230000.0Z`) after the attribute's name in a response, in milliseconds. */
export function readClock(answer: Buffer): number | undefined {
  const text = answer.toString('latin1');
  const time = /currentTime[\s\S]{2,8}?(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(?:\.\d+)?Z/.exec(text);
  if (time === null) return undefined;
  const [year = 0, month = 1, ...rest] = time.slice(1).map(Number);
  return Date.UTC(year, month - 1, ...rest);
}

function nameServiceFailed(
  name: string,
  servers: readonly string[],
  evidence: readonly Evidence[],
  cause: unknown,
): MachineadmError {
  return new MachineadmError({
    reason: 'DomainNameServiceFailed',
    summary: `${name} could not be looked up: the name servers (${servers.join(', ')}) gave no answer.`,
    remedy: 'Check /etc/resolv.conf and that UDP and TCP port 53 of a name server can be reached, then run again.',
    evidence,
    retryable: true,
    cause,
  });
}
