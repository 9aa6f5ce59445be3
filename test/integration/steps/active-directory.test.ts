import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { stringify } from 'yaml';
import type { Reason } from '../../../src/document/reasons.ts';
import type { RunStatus } from '../../../src/reporting/status.ts';
import { statusOf } from '../../support/agent.ts';
import { inNamespaces } from '../../support/namespace.ts';
import { BASE, DOMAIN, Domain, type DomainMachine, NODES, sambaRoot } from '../../support/samba-domain.ts';

const KEYTAB = '/etc/krb5.keytab';
const JOIN = 'active-directory/join';

/** Made outside of the namespaces, where the cache is kept. */
const samba = sambaRoot();

inNamespaces(import.meta.filename, () => {
  describe('a machine and a real domain controller', {
    skip: 'unavailable' in samba ? samba.unavailable : false,
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

    /** Asserts a join that works and is left alone, and returns the run that made it. */
    async function joins(machine: DomainMachine, activeDirectory: object): Promise<RunStatus> {
      const first = await provision(machine, activeDirectory);
      assert.equal(first.failure, undefined, JSON.stringify(first.failure));
      assert.ok(changesOf(first).includes(JOIN), `${changesOf(first)}`);
      const { mode, uid, gid } = statSync(machine.path(KEYTAB));
      assert.deepEqual([mode & 0o777, uid, gid], [0o600, 0, 0]);
      const principal = `${machine.name.toUpperCase()}$@${DOMAIN.toUpperCase()}`;
      assert.equal(machine.shell(`kinit -k -c MEMORY: '${principal}'`).status, 0);
      assert.equal(machine.shell(`adcli testjoin --domain=${DOMAIN}`).status, 0);
      const keys = readFileSync(machine.path(KEYTAB));
      assert.deepEqual(changesOf(await provision(machine, activeDirectory)), [], 'the second run changes nothing');
      assert.deepEqual(readFileSync(machine.path(KEYTAB)), keys);
      assert.deepEqual(leftovers(machine), []);
      return first;
    }

    /** What a join leaves where programs put their temporary files. */
    function leftovers(machine: DomainMachine): string[] {
      return (
        ['/tmp', '/var/tmp', '/run/machineadm/active-directory', '/var/lib/samba/private']
          .filter((path) => existsSync(machine.path(path)))
          .flatMap((path) => readdirSync(machine.path(path)).map((name) => `${path}/${name}`))
          // The checkout is mounted at its own path, which may lie there.
          .filter((path) => !import.meta.filename.startsWith(`${path}/`))
      );
    }

    async function fails(
      machine: DomainMachine,
      activeDirectory: object,
      reason: Reason,
      withinMs = 15_000,
      wrapper: readonly string[] = [],
    ): Promise<RunStatus> {
      const begun = performance.now();
      const status = await provision(machine, activeDirectory, wrapper);
      const { failure } = status;
      assert.deepEqual(
        [failure?.reason, failure?.step, status.exitCode],
        [reason, 'active-directory', 10],
        JSON.stringify(status, undefined, 1),
      );
      assert.ok(performance.now() - begun < withinMs, `within ${withinMs} ms`);
      assert.deepEqual(leftovers(machine), []);
      return status;
    }

    describe('joins', () => {
      test('with a delegated account, into its place, with keys for the services and of AES alone', async () => {
        const machine = domain.machine('a1');
        await joins(machine, delegated({ servicePrincipals: ['HTTP'] }));
        const keytab = machine.shell('klist -k -e').stdout;
        assert.match(keytab, new RegExp(`HTTP/a1\\.${DOMAIN}@`));
        assert.doesNotMatch(keytab, /arcfour/);
        const shown = machine.shell(
          `adcli show-computer --domain=${DOMAIN} --login-user=joiner --stdin-password a1`,
          domain.passwords.joiner,
        );
        assert.match(shown.stdout, new RegExp(`CN=A1,${NODES}`));
      });

      test('with the one-time password of a preset account', async () => {
        await joins(domain.machine('a2'), {
          domain: DOMAIN,
          credentials: { oneTimePassword: domain.preset('a2') },
        });
      });

      test('with an offline blob', async () => {
        await joins(domain.machine('a3'), { domain: DOMAIN, credentials: { offlineBlob: domain.blob('a3') } });
      });

      test('with keys for one more service, once the document names it', async () => {
        const machine = domain.machine('a1');
        const run = await provision(machine, delegated({ servicePrincipals: ['HTTP', 'nfs'] }));
        assert.deepEqual(changesOf(run), ['active-directory/services']);
        assert.match(machine.shell('klist -k').stdout, /nfs\/a1\./);
        assert.deepEqual(changesOf(await provision(machine, delegated({ servicePrincipals: ['HTTP', 'nfs'] }))), []);
      });

      test('ten at once', async () => {
        const machines = Array.from({ length: 10 }, (_, index) => domain.machine(`ten-${index}`));
        const runs = await Promise.all(machines.map((machine) => provision(machine, delegated())));
        assert.deepEqual(
          runs.map(({ failure }) => failure),
          machines.map(() => undefined),
        );
      });

      test('and no secret is seen in the arguments and environments of processes, in what is printed or left', async () => {
        const machine = domain.machine('quiet');
        const secrets = [domain.passwords.joiner];
        const seen = new Set<string>();
        const stop = new AbortController();
        const watching = watchProcesses(seen, stop.signal);
        const status = await joins(machine, delegated());
        stop.abort();
        await watching;
        assert.ok(
          [...seen].some((text) => text.includes('adcli\0join')),
          'the join was seen',
        );
        const texts = [
          ...seen,
          JSON.stringify(status),
          ...filesBelow(machine, ['/var/lib/machineadm', '/run', '/tmp', '/etc']),
        ];
        for (const secret of secrets) assert.ok(!texts.some((text) => text.includes(secret)));
      });
    });

    describe('stops', () => {
      const cases: readonly (readonly [string, () => object, Reason])[] = [
        [
          'a wrong password',
          () => delegated({ credentials: { user: 'joiner', password: 'not-the-Passw0rd' } }),
          'DomainCredentialsRejected',
        ],
        [
          'an unknown account',
          () => delegated({ credentials: { user: 'ghost', password: 'not-the-Passw0rd' } }),
          'DomainCredentialsRejected',
        ],
        ['a disabled account', () => as('disabled'), 'DomainAccountDisabled'],
        ['an expired password', () => as('expired'), 'DomainPasswordExpired'],
        ['an account without rights', () => as('plain'), 'DomainPermissionDenied'],
        [
          'an account without rights in that place',
          () => delegated({ computerOU: `OU=Locked,${BASE}` }),
          'DomainPermissionDenied',
        ],
        [
          'a place that does not exist',
          () => as('administrator', { computerOU: `OU=Nowhere,${BASE}` }),
          'OrganizationalUnitMissing',
        ],
        ['an unknown domain', () => delegated({ domain: 'nowhere.test', computerOU: undefined }), 'DomainNotFound'],
        [
          'a controller whose name is none',
          () => delegated({ domainController: `dc9.${DOMAIN}` }),
          'DomainNameServiceFailed',
        ],
        [
          'a one-time password without a preset account',
          () => ({ domain: DOMAIN, credentials: { oneTimePassword: 'One-Time-Passw0rd' } }),
          'ComputerAccountMissing',
        ],
        [
          'a keytab that cannot be written',
          () => delegated({ keytab: '/proc/krb5.keytab', accountReuse: true }),
          'KeytabNotWritten',
        ],
      ];
      for (const [name, membership, reason] of cases) {
        test(`${name}: ${reason}`, async () => {
          await fails(domain.machine('b1'), membership(), reason);
        });
      }

      test('a spent one-time password, and a wrong one: OneTimePasswordRejected', async () => {
        const oneTimePassword = domain.preset('b2');
        const wrong = { domain: DOMAIN, credentials: { oneTimePassword: 'One-Time-Passw0rd' } };
        await fails(domain.machine('b2'), wrong, 'OneTimePasswordRejected');
        const right = { domain: DOMAIN, credentials: { oneTimePassword } };
        await joins(domain.machine('b2'), right);
        await fails(domain.machine('b2', 'b2-twin'), right, 'OneTimePasswordRejected');
      });
    });
  });
});

/** What ps(1) would show of every process below here, until it is stopped. */
async function watchProcesses(seen: Set<string>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      for (const file of ['cmdline', 'environ']) {
        try {
          seen.add(readFileSync(`/proc/${pid}/${file}`, 'utf8'));
        } catch {
          // it has ended
        }
      }
    }
    await sleep(10);
  }
}

function filesBelow(machine: DomainMachine, directories: readonly string[]): string[] {
  return directories.flatMap((directory) =>
    readdirSync(machine.path(directory), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(`${entry.parentPath}/${entry.name}`, 'latin1')),
  );
}
