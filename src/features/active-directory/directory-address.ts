import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { lastLine } from '@machineadm/document/text/printable.ts';
import { member, text } from '@machineadm/document/values/untyped.ts';
import type { DirectoryNetwork } from '../../host/network/directory.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { type FeatureStep, STAYS } from '../../step/feature-step.ts';
import type { Change, UnmetRequirement } from '../../step/index.ts';
import { computerPrincipal, type DomainMembership, membershipOf } from './membership.ts';
import { TOOL_ENVIRONMENT, withWorkDirectory } from './work-directory.ts';

const REGISTER = 'directory-address/register';
const TIMEOUT_MS = 30_000;
const TIME_TO_LIVE_S = 1200;
/** Options of dig(1): it prints only the data and gives up by itself. */
const ASKING = ['+short', '+time=3', '+tries=2'];

export interface AddressActual {
  /** The address from which this machine reaches its domain; undefined: it does not reach it. */
  readonly address: string | undefined;
  readonly isRegistered: boolean;
}

export interface AddressPayload {
  readonly desired: DomainMembership;
}

const PROGRAMS = { nsupdate: 'bind9-dnsutils', dig: 'bind9-dnsutils', kinit: 'krb5-user' };

/**
 * The address of the machine in the DNS of its domain, where the document asks for it: a dynamic update (RFC 2136), signed
 * with the computer's own Kerberos ticket (RFC 3645), to the primary server of the zone, and read back from it.
 */
export function directoryAddressStep(
  network: () => Promise<Pick<DirectoryNetwork, 'controllers' | 'ownAddress'>>,
): FeatureStep<DomainMembership, AddressActual, AddressPayload> {
  return {
    id: 'directory-address',
    section: 'host.activeDirectory',
    isRequested: STAYS,
    leaves: 'the address of this machine in the DNS of the domain: delete it there',

    desired(model, facts) {
      // Windows registers its address itself.
      const membership = facts.platform === 'linux' ? membershipOf(model, facts) : undefined;
      return membership?.registersAddress === true ? membership : undefined;
    },

    async preflight(host) {
      const missing: UnmetRequirement[] = [];
      for (const [program, name] of Object.entries(PROGRAMS)) {
        if ((await host.which(program)) !== undefined) continue;
        missing.push({
          reason: 'ActiveDirectoryToolMissing',
          what: `${program} is not installed, for host.activeDirectory.registerAddress`,
          remedy: `Install it in the image (Debian: ${name}).`,
          scope: 'node',
        });
      }
      return missing;
    },

    async inspect(host, desired, record) {
      const address = await ownAddress(await network(), desired);
      if (address === undefined) return { address, isRegistered: false };
      // Other servers learn of the update from this server.
      const told = text(member(record.notes.get(REGISTER), 'server'));
      const isRegistered =
        (told !== undefined && (await hasAddress(host, desired.fqdn, address, [`@${told}`]))) ||
        (await hasAddress(host, desired.fqdn, address, []));
      return { address, isRegistered };
    },

    plan(desired, { address, isRegistered }): readonly Change<AddressPayload>[] {
      if (isRegistered) return [];
      return [
        {
          id: REGISTER,
          summary: `register ${address ?? 'the address of this machine'} for ${desired.fqdn}`,
          scope: 'node',
          ineffective: 'DomainAddressNotRegistered',
          payload: { desired },
        },
      ];
    },

    async apply(host, { payload: { desired } }, { signal, remember }) {
      const address = await ownAddress(await network(), desired);
      if (address === undefined) throw notRegistered(desired, 'no server', 'connect', 'no controller can be reached');
      const server = await primaryServer(host, desired);
      remember({ server });
      await withWorkDirectory(host, async () => {
        const run = (program: string, args: readonly string[], input = '') =>
          host.run({ program, args, input, env: TOOL_ENVIRONMENT, timeoutMs: TIMEOUT_MS, signal });
        const ticket = await run('kinit', ['-k', '-t', desired.keytab, computerPrincipal(desired)]);
        if (ticket.status !== 0) throw notRegistered(desired, server, 'kinit', ticket.stderr);
        const update = await run('nsupdate', ['-g'], updateOf(desired.fqdn, address, server));
        // Samba's own server makes the change, and then signs its answer in a way that nsupdate refuses (status 2).
        if (await hasAddress(host, desired.fqdn, address, [`@${server}`])) return;
        throw notRegistered(desired, server, 'nsupdate', update.stderr);
      });
    },
  };
}

export const directoryAddress: FeatureStep<DomainMembership, AddressActual, AddressPayload> = directoryAddressStep(
  async () => (await import('../../host/network/directory.ts')).directoryNetwork,
);

/** The address from which the machine reaches a domain controller; undefined: it reaches none. */
async function ownAddress(
  network: Pick<DirectoryNetwork, 'controllers' | 'ownAddress'>,
  { domain, domainController }: DomainMembership,
): Promise<string | undefined> {
  // A failing lookup does not stop a plan.
  const named = domainController === undefined ? await network.controllers(domain).catch(() => []) : [domainController];
  for (const controller of named) {
    const address = await network.ownAddress(controller);
    if (address !== undefined) return address;
  }
  return undefined;
}

/** nsupdate(1): this machine's addresses of the kind are replaced by this one. */
function updateOf(fqdn: string, address: string, server: string): string {
  const type = typeOf(address);
  return [
    `server ${server}`,
    `update delete ${fqdn}. ${type}`,
    `update add ${fqdn}. ${TIME_TO_LIVE_S} ${type} ${address}`,
    'send',
    '',
  ].join('\n');
}

function typeOf(address: string): 'A' | 'AAAA' {
  return address.includes(':') ? 'AAAA' : 'A';
}

async function hasAddress(host: QueryHost, fqdn: string, address: string, server: readonly string[]): Promise<boolean> {
  const args = [...ASKING, ...server, `${fqdn}.`, typeOf(address)];
  const { status, stdout } = await host.query({ program: 'dig', args });
  return status === 0 && stdout.split('\n').includes(address);
}

/** The server that the zone itself names as the one that takes updates (RFC 2136 4.3). */
async function primaryServer(host: QueryHost, desired: DomainMembership): Promise<string> {
  const { stdout } = await host.query({ program: 'dig', args: [...ASKING, `${desired.domain}.`, 'SOA'] });
  const [primary = ''] = stdout.split(/\s/);
  if (/^[A-Za-z0-9.-]+\.$/.test(primary)) return primary.slice(0, -1);
  throw notRegistered(desired, 'its name servers', 'dig', `${desired.domain} has no SOA record`);
}

function notRegistered(
  { fqdn, domain }: DomainMembership,
  server: string,
  source: string,
  said: string,
): MachineadmError {
  return new MachineadmError({
    reason: 'DomainAddressNotRegistered',
    summary: `The address of ${fqdn} could not be registered in the DNS of ${domain}: ${server} does not have it.`,
    remedy:
      'Allow secure dynamic updates of the zone, and make sure that no other computer owns the record. Or register the address in another way, without registerAddress.',
    evidence: [{ source, text: lastLine(said) }],
    retryable: true,
  });
}
