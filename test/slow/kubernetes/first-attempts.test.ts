import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import { reset } from '../../../src/commands/reset/run.ts';
import { agent, startAgent } from '../../support/agent.ts';
import { toYaml } from '../../support/documents.ts';
import { installStandIn, put, STATE, standInDocument } from '../../support/kubeadm-stand-in.ts';
import { inThrowAwayMachine } from '../../support/namespace.ts';
import { needs } from '../../support/needs.ts';
import { provision } from '../../support/provision.ts';
import { waitUntil } from '../../support/wait-until.ts';

const DOCUMENT = '/tmp/document.yaml';
const JOURNAL = '/var/lib/machineadm/journal';
const PROVISION = ['provision', '-d', DOCUMENT, '-o', 'json'] as const;

/** What an operator, an image or other software put there before the first attempt. */
const BEFORE: Readonly<Record<string, string>> = {
  '/etc/kubernetes/pki/ca.crt': "the company's CA",
  '/etc/kubernetes/pki/ca.key': "the company's key",
  '/etc/kubernetes/pki/etcd/ca.crt': 'CA of etcd',
  '/etc/kubernetes/pki/etcd/ca.key': 'key of etcd',
  '/etc/kubernetes/pki/front-proxy-ca.crt': 'CA of the front proxy',
  '/etc/kubernetes/pki/front-proxy-ca.key': 'key of the front proxy',
  '/etc/kubernetes/pki/sa.key': 'key of service accounts',
  '/etc/kubernetes/pki/sa.pub': 'public key of service accounts',
  '/etc/kubernetes/pki/vault/token': 'of other software',
  '/etc/kubernetes/manifests/agent.yaml': 'kind: Pod',
  '/var/lib/kubelet/seccomp/audit.json': '{}',
  '/var/lib/kubelet/credential-provider.yaml': 'kind: CredentialProviderConfig',
  '/var/lib/etcd/member/snap/db': 'restored snapshot',
  '/var/lib/etcd/member/wal/0000000000000000-0000000000000000.wal': 'restored log',
  '/var/lib/etcd/snapshot.db': 'the backup itself',
  '/var/lib/cni/networks/podman/10.88.0.2': 'an address that podman gave',
};
const PLACES = ['/etc/kubernetes', '/var/lib/kubelet', '/var/lib/etcd', '/var/lib/cni', '/var/lib/machineadm', STATE];

type Fingerprints = ReadonlyMap<string, string>;

/** Content, owner, mode, inode and time of every file that was there before. */
function fingerprints(): Fingerprints {
  return new Map(
    Object.keys(BEFORE).map((path) => {
      if (!existsSync(path)) return [path, 'gone'];
      const { mode, uid, gid, ino, mtimeMs } = lstatSync(path);
      const content = createHash('sha256').update(readFileSync(path)).digest('hex');
      return [path, `${content} ${mode.toString(8)} ${uid}:${gid} ${ino} ${mtimeMs}`];
    }),
  );
}

/** The files below the places of a node that were not there before. */
function made(): string[] {
  const below = (directory: string): string[] =>
    !existsSync(directory)
      ? []
      : readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
          const path = join(directory, entry.name);
          return entry.isDirectory() ? below(path) : [path];
        });
  const places = ['/etc/kubernetes', '/var/lib/kubelet', '/var/lib/etcd', '/var/lib/cni'];
  return places.flatMap(below).filter((path) => BEFORE[path] === undefined);
}

function lay(role: 'InitControlPlane' | 'JoinControlPlane' | 'Worker', overall = '5m', attempts = 1): void {
  const document = standInDocument('node-1', role, {
    bootstrapper: {
      kubeadm: {
        // A worker keeps the CA that is there.
        ignorePreflightErrors: ['DirAvailable--var-lib-etcd', 'FileAvailable--etc-kubernetes-pki-ca.crt'],
        retry: { attempts, backoff: '1s' },
      },
    },
    timeouts: { overall },
  });
  writeFileSync(DOCUMENT, toYaml(document));
  if (role === 'JoinControlPlane') put(`${STATE}/control-plane`, '');
}

const calls = (): string[] => readFileSync(`${STATE}/calls`, 'utf8').split('\n');
const records = (): string[] => readFileSync(JOURNAL, 'utf8').trimEnd().split('\n');

interface FirstAttempt {
  /** Phase and way to fail, as the stand-in takes them. */
  readonly fail: string;
  readonly role?: 'JoinControlPlane' | 'Worker';
  readonly reason: Reason;
  readonly exit?: number;
  readonly overall?: string;
  /** The next run starts kubeadm again without a reset: this one wrote nothing. */
  readonly wroteNothing?: true;
}

const FAILED: Readonly<Record<string, FirstAttempt>> = {
  'an image that cannot be pulled': { fail: 'preflight pull', reason: 'ImagePullFailed', wroteNothing: true },
  'a preflight check of kubeadm up to 1.33': {
    fail: 'preflight old',
    reason: 'BootstrapperFailed',
    wroteNothing: true,
  },
  'a preflight check of kubeadm since 1.34': {
    fail: 'preflight new',
    reason: 'BootstrapperFailed',
    wroteNothing: true,
  },
  'an argument that kubeadm does not know': {
    fail: 'configuration usage',
    reason: 'BootstrapperFailed',
    wroteNothing: true,
  },
  'a preflight check of a worker': {
    fail: 'preflight old',
    role: 'Worker',
    reason: 'APIEndpointConnectionRefused',
    wroteNothing: true,
  },
  'a kubeadm that was killed in preflight': {
    fail: 'preflight killed',
    reason: 'BootstrapperKilled',
    wroteNothing: true,
  },
  'a panic in preflight': { fail: 'preflight panic', reason: 'BootstrapperFailed', wroteNothing: true },
  'the phase certs': { fail: 'certs old', reason: 'BootstrapperFailed', wroteNothing: true },
  'a disk that is full in the middle of a key': { fail: 'half-a-key old', reason: 'DiskFull' },
  'the phase kubeconfig': { fail: 'kubeconfig new', reason: 'BootstrapperFailed' },
  'the phase etcd': { fail: 'etcd new', reason: 'BootstrapperFailed' },
  'the phase control-plane': { fail: 'control-plane old', reason: 'BootstrapperFailed' },
  'a kubeadm that was killed after it wrote its manifests': {
    fail: 'kubelet-start killed',
    reason: 'BootstrapperKilled',
  },
  'a kubelet that does not start': { fail: 'kubelet-started old', reason: 'BootstrapperFailed' },
  'a control plane that does not come up': {
    fail: 'wait-control-plane old',
    reason: 'ControlPlaneComponentNotHealthy',
  },
  'a configuration that cannot be uploaded': { fail: 'upload-config new', reason: 'BootstrapperFailed' },
  'a kubeadm that ends with 0 and says nothing': { fail: 'done silent', reason: 'BootstrapperFailed' },
  'a deadline': { fail: 'wait-control-plane hang', reason: 'DeadlinePassed', exit: 13, overall: '8s' },
  'a worker whose name another machine has': {
    fail: 'kubelet-start conflict',
    role: 'Worker',
    reason: 'NodeNameConflict',
  },
  'a control plane whose name another machine has': {
    fail: 'kubelet-start conflict',
    role: 'JoinControlPlane',
    reason: 'NodeNameConflict',
  },
  'the TLS bootstrap of a worker': {
    fail: 'kubelet-started old',
    role: 'Worker',
    reason: 'APIEndpointConnectionRefused',
  },
};

/** All of them is what MACHINEADM_E2E=all asks for: each kill is a process of its own. */
function killPoints(count: number, inventory: number): readonly number[] {
  const all = Array.from({ length: count }, (_, index) => index + 1);
  if (process.env.MACHINEADM_E2E === 'all') return all;
  return all.filter((nth) => nth === inventory || nth === inventory + 1 || nth === inventory + 3 || nth === count);
}

inThrowAwayMachine(import.meta.filename, () => {
  const healthz = createServer((_request, response) => response.end('ok'));
  before(async () => {
    installStandIn();
    await new Promise<void>((resolve) => healthz.listen(10248, '127.0.0.1', resolve));
  });
  after(() => new Promise((resolve) => healthz.close(resolve)));

  let undisturbed: Fingerprints = new Map();
  beforeEach(() => {
    for (const path of PLACES) rmSync(path, { recursive: true, force: true });
    for (const [path, content] of Object.entries(BEFORE)) put(path, content);
    undisturbed = fingerprints();
  });
  const assertUntouched = (when: string): void => assert.deepEqual(fingerprints(), undisturbed, when);

  /** The run after: kubeadm comes to its end, and a reset by hand leaves what was there before, and nothing else. */
  async function finish(): Promise<readonly string[]> {
    const status = await provision(DOCUMENT);
    assertUntouched('after the second run');
    const bootstrapped = status.steps.find(({ id }) => id === 'kubeadm');
    assert.equal(bootstrapped?.state, 'Succeeded', JSON.stringify(status.failure));
    const changes = status.steps.flatMap((step) => step.changes ?? []);
    let planned: readonly string[] = [];
    await reset({
      leaveFiles: false,
      signal: new AbortController().signal,
      line: () => {},
      confirm: async (actions) => {
        planned = actions;
        return true;
      },
    });
    for (const path of ['/etc/kubernetes/pki/ca.key', '/var/lib/etcd/member']) {
      assert.ok(planned.includes(`keep ${path}: it was there before the bootstrap`), planned.join('\n'));
    }
    assertUntouched('after machineadm reset');
    assert.deepEqual(made(), []);
    return changes;
  }

  describe('a restored etcd, a CA of the company and files of others survive', () => {
    for (const [name, { fail, role = 'InitControlPlane', reason, exit = 11, overall, wroteNothing }] of Object.entries(
      FAILED,
    )) {
      test(name, async () => {
        lay(role, overall);
        put(`${STATE}/fail`, fail);
        const status = await provision(DOCUMENT);
        assert.deepEqual(
          [status.exitCode, status.failure?.step, status.failure?.reason],
          [exit, 'kubeadm', reason],
          status.failure?.summary,
        );
        assertUntouched('after the first run');
        lay(role);
        const changes = await finish();
        assert.equal(changes.includes('kubeadm-reset/reset'), wroteNothing !== true, changes.join(', '));
        assert.deepEqual(
          calls().filter((call) => call.startsWith('reset')),
          [],
          'kubeadm reset would have emptied whole directories',
        );
      });
    }

    test('another attempt of the same run', async () => {
      lay('InitControlPlane', '5m', 2);
      put(`${STATE}/fail`, 'preflight pull');
      const status = await provision(DOCUMENT);
      assert.equal(status.failedAttempts?.length, 1, JSON.stringify(status));
      assert.equal(status.steps.find(({ id }) => id === 'kubeadm')?.state, 'Succeeded');
      assertUntouched('after the run');
    });

    test('the end of the run while kubeadm runs', async () => {
      lay('InitControlPlane');
      put(`${STATE}/fail`, 'wait-control-plane hang');
      const stop = new AbortController();
      const first = provision(DOCUMENT, stop.signal);
      await waitUntil(() => existsSync(`${STATE}/hangs`), 'kubeadm hangs');
      stop.abort(new MachineadmError({ reason: 'Interrupted', summary: 'SIGTERM', remedy: 'Run it again.' }));
      const { exitCode, failure } = await first;
      assert.deepEqual([exitCode, failure?.step, failure?.reason], [14, 'kubeadm', 'Interrupted']);
      assertUntouched('after the first run');
      assert.ok((await finish()).includes('kubeadm-reset/reset'));
    });

    test('kill -9 while kubeadm runs', async () => {
      lay('InitControlPlane');
      put(`${STATE}/fail`, 'wait-control-plane hang');
      const first = startAgent(PROVISION);
      await waitUntil(() => existsSync(`${STATE}/hangs`), 'kubeadm hangs');
      first.kill('SIGKILL');
      assert.equal((await first.ended).signal, 'SIGKILL');
      assertUntouched('after the first run');
      assert.ok((await finish()).includes('kubeadm-reset/reset'));
    });

    test('a snapshot that is restored by hand after a first attempt failed in preflight', async () => {
      rmSync('/var/lib/etcd', { recursive: true });
      lay('InitControlPlane');
      put(`${STATE}/fail`, 'preflight pull');
      assert.equal((await provision(DOCUMENT)).exitCode, 11);
      for (const [path, content] of Object.entries(BEFORE)) if (path.startsWith('/var/lib/etcd')) put(path, content);
      undisturbed = fingerprints();
      put(`${STATE}/fail`, 'wait-control-plane old');
      assert.equal((await provision(DOCUMENT)).exitCode, 11);
      assertUntouched('after the second attempt');
      assert.ok((await finish()).includes('kubeadm-reset/reset'));
    });
  });

  describe('kill -9 at the journal records of a first attempt', () => {
    const strace = (nth: number) =>
      `strace -f -qq -o /dev/null -e trace=fdatasync -e inject=fdatasync:signal=SIGKILL:when=${nth}`.split(' ');

    test('takes nothing of what was there before', {
      skip: needs('strace'),
    }, async () => {
      lay('InitControlPlane');
      put(`${STATE}/fail`, 'wait-control-plane old');
      assert.equal((await provision(DOCUMENT)).exitCode, 11);
      const kinds = records().map((record) => JSON.parse(record).is as string);
      const inventory = kinds.indexOf('inventory');
      assert.ok(inventory > 0 && kinds.indexOf('started') > 0, kinds.join());
      const count = kinds.length - 1;
      for (const nth of killPoints(count, inventory)) {
        for (const path of PLACES) rmSync(path, { recursive: true, force: true });
        for (const [path, content] of Object.entries(BEFORE)) put(path, content);
        undisturbed = fingerprints();
        lay('InitControlPlane');
        put(`${STATE}/fail`, 'wait-control-plane old');
        await agent(PROVISION, { wrapper: strace(nth) });
        assertUntouched(`killed at record ${nth}: ${kinds[nth]}`);
        rmSync(`${STATE}/fail`, { force: true });
        const status = await provision(DOCUMENT);
        assert.equal(status.steps.find(({ id }) => id === 'kubeadm')?.state, 'Succeeded', `after record ${nth}`);
        assertUntouched(`after the run that followed record ${nth}: ${kinds[nth]}`);
      }
    });
  });

  describe('a journal without an inventory, of an older version', () => {
    test('keeps what cannot be recreated, and says so', async () => {
      lay('InitControlPlane');
      put(`${STATE}/fail`, 'wait-control-plane old');
      assert.equal((await provision(DOCUMENT)).exitCode, 11);
      const older = records().filter((record) => JSON.parse(record).is !== 'inventory');
      writeFileSync(JOURNAL, `${older.join('\n')}\n`);
      const plan = await agent(['plan', '-d', DOCUMENT]);
      assert.match(
        plan.stdout,
        /reset the node: remove what an earlier attempt left .*keep what was there before/,
        plan.stderr,
      );
      assert.ok((await finish()).includes('kubeadm-reset/reset'));
    });
  });
});
