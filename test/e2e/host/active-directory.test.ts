import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import type { RunStatus } from '@machineadm/status/status.ts';
import { stringify } from 'yaml';
import { readBlob } from '../../../src/features/active-directory/blob.ts';
import { statusOf } from '../../support/agent.ts';
import { inNamespaces } from '../../support/namespace.ts';
import { needs } from '../../support/needs.ts';
import { BASE, DOMAIN, Domain, type DomainMachine, NODES, REALM, sambaRoot } from '../../support/samba-domain.ts';

/** The other cases are run with MACHINEADM_E2E=all, as the longer ones of the lab are. */
const OTHERS = { skip: needs('MACHINEADM_E2E=all') };

const KEYTAB = '/etc/krb5.keytab';
const JOIN = 'active-directory/join';

/** Made outside of the namespaces, where the cache is kept. */
const samba = sambaRoot();

inNamespaces(import.meta.filename, () => {
  describe('a machine and a real domain controller', {
    skip: needs(samba),
  }, () => {
    let domain: Domain;
    before(async () => {
      domain = await Domain.start('root' in samba ? samba.root : '');
    });
    after(async () => await domain[Symbol.asyncDispose]());

    const delegated = (different: object = {}) => ({
      domain: DOMAIN,
      computerOU: NODES,
      credentials: { user: 'joiner', password: domain.passwords.joiner },
      // A slow machine is not what these tests are about.
      timeout: '5m',
      ...different,
    });

    const as = (user: 'plain' | 'disabled' | 'expired' | 'administrator', different: object = {}) =>
      delegated({ credentials: { user, password: domain.passwords[user] }, ...different });

    /** Lays a document that asks for this membership, and provisions. */
    async function provision(
      machine: DomainMachine,
      activeDirectory: object,
      wrapper: readonly string[] = [],
    ): Promise<RunStatus> {
      const document = {
        apiVersion: 'machineadm.dev/v1alpha1',
        kind: 'MachineBootstrap',
        metadata: { name: machine.name },
        host: { activeDirectory },
        reporting: { sinks: [] },
      };
      machine.write('/root/document.yaml', stringify(document));
      return statusOf(await machine.agent(['provision', '-d', '/root/document.yaml', '-o', 'json'], wrapper));
    }

    function changesOf(status: RunStatus): readonly string[] {
      return status.steps.flatMap(({ changes }) => changes);
    }

    /**
     * Asserts a join that works, is proven by the tools themselves, is left alone by a second run, and whose secrets are
     * nowhere to be seen meanwhile and afterwards.
     */
    async function joins(
      machine: DomainMachine,
      activeDirectory: object,
      { program = 'adcli\0join', secrets = [] }: { program?: string; secrets?: readonly string[] } = {},
    ): Promise<void> {
      const watch = new ProcessWatch();
      const work = machine.path('/run/machineadm/active-directory');
      const modes = new Set<number>();
      const watching = watch.until(() => {
        const stat = statSync(work, { throwIfNoEntry: false });
        if (stat !== undefined) modes.add(stat.mode & 0o7777);
      });
      const first = await provision(machine, activeDirectory);
      await watching.end();
      assert.equal(first.failure, undefined, JSON.stringify(first.failure));
      assert.ok(changesOf(first).includes(JOIN), `${changesOf(first)}`);
      assert.ok(
        watch.seen.some((text) => text.includes(program)),
        'the join was watched',
      );
      assert.deepEqual([...modes], [0o700]);
      const left = filesBelow(machine, ['/var/lib/machineadm', '/run', '/tmp', '/var/tmp', '/etc', '/var/lib/samba']);
      for (const text of [...watch.seen, JSON.stringify(first), ...left]) {
        for (const secret of secrets) assert.ok(!text.includes(secret), text.replaceAll('\0', ' ').slice(0, 300));
      }

      const { mode, uid, gid } = statSync(machine.path(KEYTAB));
      assert.deepEqual([mode & 0o777, uid, gid], [0o600, 0, 0]);
      const principal = `${machine.name.toUpperCase()}$@${REALM}`;
      assert.equal(machine.shell(`kinit -k -c MEMORY: '${principal}'`).status, 0);
      assert.equal(machine.shell(`adcli testjoin --domain=${DOMAIN}`).status, 0);
      const keys = readFileSync(machine.path(KEYTAB));
      assert.deepEqual(changesOf(await provision(machine, activeDirectory)), [], 'the second run changes nothing');
      assert.deepEqual(readFileSync(machine.path(KEYTAB)), keys);
      assert.deepEqual(leftovers(machine), []);
    }

    /** What a join leaves where programs put their temporary files. */
    function leftovers(machine: DomainMachine): string[] {
      return (
        ['/tmp', '/var/tmp', '/run/machineadm/active-directory', '/var/lib/samba/private']
          .filter((path) => existsSync(machine.path(path)))
          .flatMap((path) => readdirSync(machine.path(path)).map((name) => `${path}/${name}`))
          // Node is mounted at its own path, which may lie there.
          .filter((path) => !realpathSync(process.execPath).startsWith(`${path}/`))
      );
    }

    /** Asserts that a run ends with the reason, in the step, with exit code 10. What hangs ends for another reason, that of its time. */
    async function fails(
      machine: DomainMachine,
      activeDirectory: object,
      reason: Reason,
      wrapper: readonly string[] = [],
    ): Promise<RunStatus> {
      const status = await provision(machine, activeDirectory, wrapper);
      const { failure } = status;
      assert.deepEqual(
        [failure?.reason, failure?.step, status.exitCode],
        [reason, 'active-directory', 10],
        JSON.stringify(status, undefined, 1),
      );
      assert.deepEqual(leftovers(machine), []);
      return status;
    }

    describe('joins', () => {
      test('with a delegated account, into its place, with keys for the services and of AES alone', async () => {
        const machine = domain.machine('a1');
        const secrets = [domain.passwords.joiner];
        await joins(machine, delegated({ servicePrincipals: ['HTTP'] }), { secrets });
        const keytab = machine.shell('klist -k -e').stdout;
        assert.match(keytab, new RegExp(`HTTP/a1\\.${DOMAIN}@`));
        assert.doesNotMatch(keytab, /arcfour/);
        assert.match(domain.search('(sAMAccountName=A1$)', 'servicePrincipalName'), /CN=A1,OU=Nodes,[\s\S]*HTTP\/a1\./);
      });

      test('with the one-time password of a preset account, which cannot be used again', async () => {
        const oneTimePassword = domain.preset('a2');
        const right = { domain: DOMAIN, credentials: { oneTimePassword } };
        const wrong = { domain: DOMAIN, credentials: { oneTimePassword: 'One-Time-Passw0rd' } };
        await fails(domain.machine('a2'), wrong, 'OneTimePasswordRejected');
        await joins(domain.machine('a2'), right, { secrets: [oneTimePassword] });
        await fails(domain.machine('a2', 'a2-twin'), right, 'OneTimePasswordRejected');
      });

      test('with an offline blob', async () => {
        const offlineBlob = domain.blob('a3');
        const password = readBlob(offlineBlob)?.password.reveal();
        assert.ok(password !== undefined);
        const membership = { domain: DOMAIN, credentials: { offlineBlob } };
        const utf16 = Buffer.from(password, 'utf16le').toString('latin1');
        const secrets = [offlineBlob, password, utf16];
        await joins(domain.machine('a3'), membership, { program: 'net\0ads', secrets });
      });

      test('with keys for one more service, once the document names it', async () => {
        const machine = domain.machine('a1');
        const run = await provision(machine, delegated({ servicePrincipals: ['HTTP', 'nfs'] }));
        assert.deepEqual(changesOf(run), ['active-directory/services']);
        assert.match(machine.shell('klist -k').stdout, /nfs\/a1\./);
        assert.deepEqual(changesOf(await provision(machine, delegated({ servicePrincipals: ['HTTP', 'nfs'] }))), []);
      });

      test('with its address in the DNS of the domain, once the document asks for it', async () => {
        const registered = delegated({ servicePrincipals: ['HTTP', 'nfs'], registerAddress: true });
        const machine = domain.machine('a1');
        assert.deepEqual(changesOf(await provision(machine, registered)), ['directory-address/register']);
        assert.equal(machine.shell(`dig +short a1.${DOMAIN} A`).stdout, '10.98.0.2\n');
        assert.deepEqual(changesOf(await provision(machine, registered)), []);
        assert.deepEqual(leftovers(machine), []);
      });

      test('ten at once', async () => {
        const machines = Array.from({ length: 10 }, (_, index) => domain.machine(`ten-${index}`));
        const runs = await Promise.all(machines.map((machine) => provision(machine, delegated())));
        assert.deepEqual(
          runs.map(({ failure }) => failure),
          machines.map(() => undefined),
        );
      });
    });

    describe('leaves with a reset', () => {
      /** Joins, resets, and returns what the reset said. */
      async function joinedAndReset(machine: DomainMachine, different: object): Promise<string> {
        assert.equal((await provision(machine, delegated({ onReset: 'Leave', ...different }))).failure, undefined);
        const { status, stdout, stderr } = await machine.agent(['reset', '--yes']);
        assert.equal(status, 0, stderr);
        for (const path of [KEYTAB, '/etc/krb5.conf']) assert.ok(!existsSync(machine.path(path)), path);
        assert.deepEqual(leftovers(machine), []);
        return `${stdout}${stderr}`;
      }

      test('and deletes its account if it has that permission', async () => {
        const told = await joinedAndReset(domain.machine('l1'), { computerOU: `OU=Leaving,${BASE}` });
        assert.match(told, /delete L1 from corp\.example\.test/);
        assert.doesNotMatch(told, /the account L1 stays/);
        assert.equal(domain.search('(sAMAccountName=L1$)').includes('dn: CN=L1'), false);
      });

      test('and reports that its account stays if it lacks that permission', OTHERS, async () => {
        const told = await joinedAndReset(domain.machine('l2'), {});
        assert.match(told, /warning: the account L2 stays in corp\.example\.test/);
        assert.match(domain.search('(sAMAccountName=L2$)'), /dn: CN=L2/);
      });
    });

    describe('does not take the name of another machine', () => {
      test('whose account exists: ComputerAccountExists, and that machine stays a member', async () => {
        const { failure } = await fails(domain.machine('a1', 'a1-twin'), delegated(), 'ComputerAccountExists');
        assert.match(failure?.evidence[0]?.text ?? '', /A1\$.*a1\.corp/);
        assert.equal(domain.machine('a1').shell(`adcli testjoin --domain=${DOMAIN}`).status, 0);
      });

      test('unless the document allows it; the keys of the other machine are then stale: DomainJoinBroken, until it joins again', async () => {
        const first = domain.machine('a1');
        const twin = domain.machine('a1', 'a1-twin');
        assert.equal((await provision(twin, delegated({ accountReuse: true }))).failure, undefined);
        await fails(first, delegated(), 'DomainJoinBroken');
        await fails(first, { domain: DOMAIN, credentials: { oneTimePassword: 'x' } }, 'DomainJoinBroken');
        const again = delegated({ onBroken: 'Rejoin' });
        assert.deepEqual(changesOf(await provision(first, again)), [JOIN]);
        assert.deepEqual(changesOf(await provision(first, again)), []);
      });

      test('whose service principal it requests: ServicePrincipalConflict', async () => {
        const machine = domain.machine('a1', 'a1-other');
        await fails(machine, delegated({ computerName: 'OTHER' }), 'ServicePrincipalConflict');
      });

      test('by the truncation of a long name: ComputerNameInvalid, before any change', async () => {
        const machine = domain.machine('averyveryverylong-1');
        const { failure, exitCode, steps } = await provision(machine, delegated());
        assert.deepEqual([failure?.reason, exitCode], ['ComputerNameInvalid', 4]);
        assert.deepEqual(
          steps.flatMap(({ changes }) => changes),
          [],
        );
      });
    });

    describe('fails to join because of', { concurrency: 2 }, () => {
      const cases: readonly (readonly [string, () => object, Reason, object?])[] = [
        [
          'a wrong password',
          () => delegated({ credentials: { user: 'joiner', password: 'not-the-Passw0rd' } }),
          'DomainCredentialsRejected',
        ],
        [
          'an unknown account',
          () => delegated({ credentials: { user: 'ghost', password: 'not-the-Passw0rd' } }),
          'DomainCredentialsRejected',
          OTHERS,
        ],
        ['a disabled account', () => as('disabled'), 'DomainAccountDisabled'],
        ['an expired password', () => as('expired'), 'DomainPasswordExpired'],
        ['an account without rights', () => as('plain'), 'DomainPermissionDenied'],
        [
          'an account without rights in that place',
          () => delegated({ computerOU: `OU=Locked,${BASE}` }),
          'DomainPermissionDenied',
          OTHERS,
        ],
        [
          'a place that does not exist',
          () => as('administrator', { computerOU: `OU=Nowhere,${BASE}` }),
          'OrganizationalUnitMissing',
        ],
        [
          'a place that can hold no computer',
          () => as('administrator', { computerOU: `CN=plain,CN=Users,${BASE}` }),
          'OrganizationalUnitInvalid',
          OTHERS,
        ],
        ['an unknown domain', () => delegated({ domain: 'nowhere.test', computerOU: undefined }), 'DomainNotFound'],
        [
          'a controller whose name is none',
          () => delegated({ domainController: `dc9.${DOMAIN}` }),
          'DomainNameServiceFailed',
          OTHERS,
        ],
        [
          'a one-time password without a preset account',
          () => ({ domain: DOMAIN, credentials: { oneTimePassword: 'One-Time-Passw0rd' } }),
          'ComputerAccountMissing',
          OTHERS,
        ],
        [
          'a keytab that cannot be written',
          () => delegated({ keytab: '/proc/krb5.keytab', accountReuse: true }),
          'KeytabNotWritten',
          OTHERS,
        ],
      ];
      cases.forEach(([name, membership, reason, options = {}], index) => {
        test(`${name}: ${reason}`, options, async () => {
          await fails(domain.machine(`b${index}`), membership(), reason);
        });
      });

      for (const [name, server, options] of [
        ['refuses', '10.98.0.2', {}],
        ['is absent', '10.98.0.77', OTHERS],
      ] as const) {
        test(`a name server that ${name}: DomainNameServiceFailed`, options, async () => {
          const machine = domain.machine(`dns-${server.split('.')[3]}`);
          machine.write('/etc/resolv.conf', `nameserver ${server}\noptions timeout:1 attempts:2\n`);
          await fails(machine, delegated(), 'DomainNameServiceFailed');
        });
      }

      test('a blob that was cut off, or is of another computer: DomainJoinBlobInvalid', async () => {
        const blob = domain.blob('b20');
        const membership = (offlineBlob: string) => ({ domain: DOMAIN, credentials: { offlineBlob } });
        await fails(domain.machine('b20'), membership(blob.slice(0, -100)), 'DomainJoinBlobInvalid');
        const { failure } = await fails(domain.machine('b21'), membership(blob), 'DomainJoinBlobInvalid');
        assert.match(failure?.summary ?? '', /was made for the computer B20, and this is B21/i);
      });

      test('a clock that is 3 hours slow: DomainControllerClockSkew', async () => {
        const behind = ['env', 'FAKETIME_DONT_FAKE_MONOTONIC=1', 'faketime', '-f', '-3h'];
        const { failure } = await fails(domain.machine('skew'), delegated(), 'DomainControllerClockSkew', behind);
        assert.match(failure?.evidence[0]?.text ?? '', /this machine is 10[78]\d\d s behind /);
      });
    });

    describe('fails to join in a network', () => {
      for (const port of [464, 389, 88]) {
        test(`that drops TCP ${port}: DomainControllerUnreachable`, port === 464 ? {} : OTHERS, async () => {
          const { failure } = await domain.blocking(`tcp dport ${port} drop`, () =>
            fails(domain.machine('net'), delegated(), 'DomainControllerUnreachable'),
          );
          assert.deepEqual(failure?.evidence, [{ source: `connect 10.98.0.1:${port}`, text: 'ETIMEDOUT' }]);
          assert.equal(failure.retryable, true);
        });
      }

      test('that refuses everything but DNS: DomainControllerUnreachable', OTHERS, async () => {
        await domain.blocking('meta l4proto { tcp, udp } th dport != 53 reject with icmp type port-unreachable', () =>
          fails(domain.machine('net'), delegated(), 'DomainControllerUnreachable'),
        );
      });

      test(
        'that stops answering during the join: DomainJoinTimedOut, and no process of the tool remains',
        OTHERS,
        async () => {
          // The connection is made; what is longer than an empty packet does not arrive.
          const { failure } = await domain.blocking('tcp dport 389 meta length > 120 drop', () =>
            fails(domain.machine('net'), delegated({ timeout: '4s' }), 'DomainJoinTimedOut'),
          );
          assert.equal(failure?.retryable, true);
        },
      );

      test('until it is repaired, and then joins with the same document', OTHERS, async () => {
        await joins(domain.machine('net'), delegated());
      });
    });
  });
});

/** What ps(1) would show to root of every process below here: arguments and environments. */
class ProcessWatch {
  readonly #seen = new Set<string>();
  readonly #known = new Map<string, string>();

  get seen(): readonly string[] {
    return [...this.#seen];
  }

  /** Looks every few milliseconds, and does `also`, until it is ended. */
  until(also: () => void): { end(): Promise<void> } {
    const stop = new AbortController();
    const watching = this.#watch(stop.signal, also);
    return {
      end: async () => {
        stop.abort();
        await watching;
      },
    };
  }

  async #watch(signal: AbortSignal, also: () => void): Promise<void> {
    while (!signal.aborted) {
      also();
      for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) this.#look(pid);
      await sleep(15);
    }
  }

  /** An environment is another one when a program has taken the process over, which has other arguments, too. */
  #look(pid: string): void {
    try {
      const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      if (this.#known.get(pid) === line) return;
      this.#seen.add(line).add(readFileSync(`/proc/${pid}/environ`, 'utf8'));
      this.#known.set(pid, line);
    } catch {
      // it has ended
    }
  }
}

function filesBelow(machine: DomainMachine, directories: readonly string[]): string[] {
  return directories.flatMap((directory) =>
    readdirSync(machine.path(directory), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(`${entry.parentPath}/${entry.name}`, 'latin1')),
  );
}
