import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { claimsOf, OWN_STEP } from '@machineadm/document/claims/index.ts';
import type { FileModel, HostModel, KubernetesModel, Model } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { BEFORE_MOUNTS } from '@machineadm/document/ownership/collisions.ts';
import { stringify } from 'yaml';
import type { QueryHost } from '../../../src/host/seam/host.ts';
import { apiServerPaths } from '../../../src/kubernetes/api-server/files.ts';
import { kubeadmConfigPath } from '../../../src/kubernetes/kubeadm/config.ts';
import { pkiFiles } from '../../../src/kubernetes/pki.ts';
import { staticPodPaths } from '../../../src/kubernetes/static-pods.ts';
import { ALL_STEPS, stepsFor } from '../../../src/pipeline/pipeline.ts';
import { type PreflightScope, preflight } from '../../../src/pipeline/preflight.ts';
import { EMPTY_RECORD } from '../../../src/step/index.ts';
import { loaded } from '../../support/document.ts';
import { WHOLE_DOCUMENT } from '../../support/drift-machine.ts';
import { facts } from '../../support/facts.ts';
import { fileModel, hostModel, userModel } from '../../support/host-model.ts';
import {
  inlineSecret,
  type KubernetesOverrides,
  kubernetesModel,
  PLAIN_API_SERVER,
} from '../../support/kubernetes-model.ts';
import { type MemoryMachine, memoryHost } from '../../support/memory-host.ts';

const pair = (key = true) => ({ certificate: 'c', key: key ? inlineSecret('k') : undefined });
const WEBHOOK = {
  server: 'https://10.0.0.9:8443/x',
  tlsServerName: undefined,
  certificateAuthority: undefined,
  clientCertificate: undefined,
  token: undefined,
};

/** A control plane that asks for every file that the table knows. */
function everything(different: KubernetesOverrides = {}): KubernetesModel {
  const { controlPlane } = kubernetesModel();
  return kubernetesModel({
    pki: {
      ca: pair(),
      etcd: pair(),
      frontProxy: pair(false),
      serviceAccount: { publicKey: 'p', key: inlineSecret('k') },
      apiserverEtcdClient: pair(),
    },
    controlPlane: {
      ...controlPlane,
      staticPods: [{ name: 'kube-vip', manifest: 'kind: Pod\n', adminKubeconfig: 'AsWritten' }],
      apiServer: {
        ...PLAIN_API_SERVER,
        audit: { policy: { rules: [{ level: 'None' }] }, log: undefined, webhook: { ...WEBHOOK, mode: undefined } },
        encryptionAtRest: { resources: ['secrets'], providers: [] },
        authentication: {
          webhook: { ...WEBHOOK, version: 'v1', cacheTTLMs: undefined },
          structured: { jwt: [], anonymous: undefined },
        },
        authorization: {
          kind: 'webhook',
          modes: ['Node', 'RBAC', 'Webhook'],
          webhook: { ...WEBHOOK, version: 'v1', authorizedTTLMs: undefined, unauthorizedTTLMs: undefined },
        },
        admission: undefined,
      },
    },
    ...different,
  });
}

function claimed(kubernetes: KubernetesModel, step: string): string[] {
  return claimsOf({ ...hostModel(), kubernetes })
    .filter((claim) => claim.step === step)
    .map(({ path }) => path)
    .sort();
}

describe('the table of paths', () => {
  test('knows the steps by their ids, and which of them write before file systems are mounted', async () => {
    const ids = ALL_STEPS.map(({ id }) => id);
    const { model } = await loaded(stringify(WHOLE_DOCUMENT));
    const steps = new Set(claimsOf(model).map(({ step }) => step));
    assert.deepEqual(
      [...steps].filter((step) => step !== OWN_STEP && !ids.includes(step)),
      [],
    );
    const before = ids.slice(0, ids.indexOf('mounts'));
    assert.deepEqual(
      [...BEFORE_MOUNTS].filter((step) => step !== OWN_STEP && !before.includes(step)),
      [],
    );
    assert.deepEqual(
      before.filter((step) => steps.has(step) && !BEFORE_MOUNTS.has(step)),
      [],
    );
  });

  const externalEtcd = {
    kind: 'external',
    endpoints: [],
    httpEndpoints: [],
    caFile: '/e/ca',
    certFile: '/e/crt',
    keyFile: '/e/key',
  } as const;
  for (const [what, kubernetes] of [
    ['a control plane', everything()],
    ['a control plane that joins', everything({ role: 'JoinControlPlane' })],
    ['a worker', everything({ role: 'Worker' })],
    ['an external etcd', everything({ controlPlane: { ...everything().controlPlane, etcd: externalEtcd } })],
  ] as const) {
    test(`has what the Kubernetes steps of ${what} write`, () => {
      const pki = pkiFiles({ kubernetes, secrets: () => '' }).map(({ path }) => path);
      assert.deepEqual(claimed(kubernetes, 'pki'), pki.toSorted());
      assert.deepEqual(claimed(kubernetes, 'control-plane-files'), [...apiServerPaths(kubernetes)].sort());
      assert.deepEqual(claimed(kubernetes, 'static-pods'), [...staticPodPaths(kubernetes)].sort());
      const command = kubernetes.role === 'InitControlPlane' ? 'init' : 'join';
      assert.ok(claimed(kubernetes, 'kubeadm-config').includes(kubeadmConfigPath(command)));
    });
  }

  test('has the kubeconfigs of structured authorizers', () => {
    const webhook = {
      ...WEBHOOK,
      version: 'v1',
      authorizedTTLMs: 1,
      unauthorizedTTLMs: 1,
      timeoutMs: 1,
      failurePolicy: 'Deny',
      matchConditions: [],
    } as const;
    const { controlPlane } = everything();
    const kubernetes = everything({
      controlPlane: {
        ...controlPlane,
        apiServer: {
          ...controlPlane.apiServer,
          authorization: {
            kind: 'structured',
            authorizers: [
              { type: 'Webhook', name: 'own', webhook },
              { type: 'RBAC', name: 'rbac', webhook: undefined },
            ],
          },
          admission: undefined,
        },
      },
    });
    assert.deepEqual(claimed(kubernetes, 'control-plane-files'), [...apiServerPaths(kubernetes)].sort());
  });
});

function file(path: string, append = false): FileModel {
  return fileModel(path, 'x', { append });
}

function asked(host: QueryHost, model: Model): PreflightScope {
  return { host, model, facts: facts(), scope: 'all', record: () => EMPTY_RECORD };
}

describe('a path that only the machine shows to have two owners', () => {
  async function refused(host: Partial<HostModel>, machine: MemoryMachine): Promise<string | undefined> {
    const model = hostModel(host);
    const steps = stepsFor('all', 'linux').filter(({ id }) => ['time', 'users', 'swap', 'files'].includes(id));
    try {
      await preflight(steps, asked(memoryHost(machine), model));
      return undefined;
    } catch (error) {
      assert.ok(error instanceof MachineadmError, String(error));
      assert.deepEqual([error.reason, error.exit], ['PathClaimedTwice', 'Refused']);
      return error.message;
    }
  }

  test('two files, where a directory is a link to another', async () => {
    const files = [file('/lib/systemd/system/a.service'), file('/usr/lib/systemd/system/a.service')];
    const message = await refused({ files }, { files: { '/lib': { type: 'symlink', content: '/usr/lib' } } });
    assert.equal(
      message,
      '/lib/systemd/system/a.service (host.files[0].path) and /usr/lib/systemd/system/a.service (host.files[1].path) are one place on this machine: one would undo the other',
    );
    // As on Alpine.
    assert.equal(await refused({ files }, { files: { '/lib': { type: 'directory' } } }), undefined);
  });

  test('a file and what a step manages, behind a link', async () => {
    const machine = { files: { '/srv/link': { type: 'symlink', content: '/etc' } as const } };
    const message = await refused({ swap: 'Disabled', files: [file('/srv/link/fstab')] }, machine);
    assert.match(
      message ?? '',
      /^\/etc\/fstab \(host\.swap\) and \/srv\/link\/fstab \(host\.files\[0\]\.path\) are one/,
    );
  });

  test('the keys of a user whose home the machine decides', async () => {
    const passwd = 'root:x:0:0:root:/root:/bin/sh\nada:x:1000:1000::/srv/homes/ada:/bin/sh\n';
    const machine: MemoryMachine = {
      files: {
        '/etc/passwd': passwd,
        '/etc/shadow': 'ada:!:1::::::\n',
        '/etc/group': 'ada:x:1000:\n',
        '/srv/homes/ada': { type: 'directory' },
      },
      users: { ada: 1000 },
      groups: { ada: 1000 },
      programs: { useradd: () => ({}), usermod: () => ({}), setpriv: () => ({}), sh: () => ({}) },
    };
    const ada = userModel({ sshAuthorizedKeys: ['ssh-ed25519 AAAA ada'] });
    const message = await refused({ users: [ada], files: [file('/srv/homes/ada/.ssh/authorized_keys')] }, machine);
    assert.match(message ?? '', /\/srv\/homes\/ada\/\.ssh\/authorized_keys \(host\.users\[0\]\.sshAuthorizedKeys\)/);
  });

  test('a file in the directory of the time service that is installed', async () => {
    const machine: MemoryMachine = {
      files: {
        '/etc/chrony/chrony.conf': 'confdir /etc/chrony/conf.d\n',
        '/etc/chrony/conf.d': { type: 'directory' },
      },
      services: { chrony: { active: true, enabled: true } },
    };
    const time = { enabled: true, servers: ['ntp.example'], synchronized: undefined };
    const path = '/etc/chrony/conf.d/90-machineadm.conf';
    const message = await refused({ time, files: [file(path)] }, machine);
    assert.match(message ?? '', new RegExp(`${path} \\(host\\.time\\.servers\\)`));
    assert.equal(await refused({ time, files: [file('/etc/chrony/conf.d/own.conf')] }, machine), undefined);
  });

  test('each directory is asked about once, however many files are in it', async () => {
    const files = Array.from({ length: 1000 }, (_, index) => file(`/etc/many/${index}`));
    const host = memoryHost();
    let calls = 0;
    const counting = {
      ...host,
      realPath: (path: string) => {
        calls += 1;
        return host.realPath(path);
      },
    };
    await preflight([], asked(counting, hostModel({ files })));
    assert.ok(calls < 20, String(calls));
  });
});
