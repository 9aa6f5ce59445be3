import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { attemptOf } from '../../../../src/kubernetes/kubeadm/attempt.ts';
import { type Inventory, takeInventory } from '../../../../src/kubernetes/kubeadm/inventory.ts';
import { findLeftovers } from '../../../../src/kubernetes/kubeadm/leftovers.ts';
import { decideRecovery, type EarlierRun } from '../../../../src/kubernetes/kubeadm/recovery.ts';
import { type ApiAnswer, kubeconfig, newAuthority, nodeObject, startApiServer } from '../../../support/api-server.ts';
import { fakeClock } from '../../../support/fake-clock.ts';
import { NO_ATTEMPT } from '../../../support/kubeadm-attempt.ts';
import { kubernetesModel } from '../../../support/kubernetes-model.ts';
import { type MemoryHost, memoryHost } from '../../../support/memory-host.ts';

const authority = newAuthority();
const client = authority.issue('system:node:node-1');
const NOTHING: ReadonlySet<string> = new Set();
const KUBELET_CONF = '/etc/kubernetes/kubelet.conf';
const ADMIN_CONF = '/etc/kubernetes/admin.conf';

/** What a join leaves once the kubelet has its certificate; `url` is where it leads. */
function joined(url: string): Record<string, string> {
  return { [KUBELET_CONF]: kubeconfig(url, authority.certificate, client), '/etc/kubernetes/pki/ca.crt': 'CA' };
}

/** What an init leaves once its control plane runs. */
function initialized(url: string): Record<string, string> {
  return {
    ...joined(url),
    [ADMIN_CONF]: kubeconfig(url, authority.certificate, authority.issue('kubernetes-admin')),
    '/etc/kubernetes/manifests/kube-apiserver.yaml': 'pod',
    '/var/lib/kubelet/config.yaml': 'config',
  };
}

async function decide(host: MemoryHost, past: Partial<EarlierRun>, patienceMs = 0) {
  const kubernetes = kubernetesModel();
  const leftovers = await findLeftovers(host, kubernetes, NOTHING);
  return await decideRecovery(
    host,
    {
      role: 'Worker',
      bootstrap: 'attempted',
      foreignLeftovers: false,
      leftovers,
      inventory: [],
      attempt: NO_ATTEMPT,
      nodeName: 'node-1',
      nodeNameGiven: false,
      machineId: '0123456789abcdef0123456789abcdef',
      ...past,
    },
    patienceMs,
  );
}

/** Decides with an API server that answers this to every question. */
async function decideWith(
  files: (url: string) => Record<string, string>,
  answer: ApiAnswer | undefined,
  past: Partial<EarlierRun>,
) {
  await using server = await startApiServer(authority, () => answer);
  return await decide(memoryHost({ files: files(server.url) }), past);
}

const DEAD = 'https://127.0.0.1:1';

describe('no file is removed', () => {
  test('once the bootstrap is done', async () => {
    const host = memoryHost({ files: initialized(DEAD) });
    assert.equal(await decide(host, { bootstrap: 'done', foreignLeftovers: true }), 'none');
  });

  test('without an attempt of machineadm: the owner of the files is not known', async () => {
    assert.equal(await decide(memoryHost({ files: initialized(DEAD) }), { bootstrap: 'none' }), 'none');
  });

  test('after an attempt that left nothing: kubeadm refused before it wrote', async () => {
    assert.equal(await decide(memoryHost(), {}), 'none');
  });
});

describe('a file from before the first attempt', () => {
  const PLACES = { certificatesDirectory: '/etc/kubernetes/pki' };
  const RESTORED = {
    '/etc/kubernetes/pki/ca.crt': 'of the image',
    '/etc/kubernetes/pki/ca.key': 'of the image',
    '/var/lib/etcd/member/snap/db': 'restored',
  };
  const inventoryOf = (files: Record<string, string>): Promise<Inventory> =>
    takeInventory(memoryHost({ files }), PLACES);

  test('is no reason for a reset', async () => {
    const inventory = await inventoryOf(RESTORED);
    for (const role of ['InitControlPlane', 'JoinControlPlane', 'Worker'] as const) {
      assert.equal(await decide(memoryHost({ files: RESTORED }), { role, inventory }), 'none');
    }
  });

  test('does not hide what the attempt left', async () => {
    const inventory = await inventoryOf(RESTORED);
    const files = { ...RESTORED, '/etc/kubernetes/pki/apiserver.crt': 'half' };
    assert.equal(await decide(memoryHost({ files }), { role: 'InitControlPlane', inventory }), 'reset');
  });

  test('also when it came after an attempt that failed in preflight, such as a restored snapshot, is no leftover', async () => {
    const host = memoryHost({ files: RESTORED });
    const past = { role: 'InitControlPlane', inventory: [] } as const;
    const failedIn = (phase: string, killed = false) => attemptOf([{ ended: { killed, phase } }]);
    assert.equal(await decide(host, { ...past, attempt: failedIn('preflight') }), 'none');
    assert.equal(await decide(host, { ...past, attempt: failedIn('configuration') }), 'none');
    assert.equal(await decide(host, { ...past, attempt: failedIn('certs') }), 'reset');
    assert.equal(await decide(host, { ...past, attempt: failedIn('preflight', true) }), 'reset', 'it may have gone on');
    assert.equal(await decide(host, { ...past, attempt: attemptOf([{ lastPhase: 'preflight' }]) }), 'reset');
  });
});

describe('a disk copied from another machine', () => {
  test('is reset without a request to the cluster of its credentials', async () => {
    await using server = await startApiServer(authority, () => nodeObject());
    const host = memoryHost({ files: initialized(server.url) });
    assert.equal(await decide(host, { bootstrap: 'none', foreignLeftovers: true }), 'reset-offline');
    assert.deepEqual(server.requests, []);
  });

  test('with nothing but baked certificates is left alone', async () => {
    const host = memoryHost({ files: { '/etc/kubernetes/pki/ca.crt': 'baked into the image' } });
    assert.equal(await decide(host, { bootstrap: 'none', foreignLeftovers: true }), 'none');
  });
});

describe('an unfinished init', () => {
  const past = { role: 'InitControlPlane' } as const;

  test('is resumed once it has published its cluster: others may have joined', async () => {
    assert.equal(await decideWith(initialized, { kind: 'ConfigMap' }, past), 'resume');
  });

  test('is reset when its API server works but nothing was published', async () => {
    assert.equal(await decideWith(initialized, undefined, past), 'reset');
  });

  test('is reset when its API server can never have run', async () => {
    const { [ADMIN_CONF]: _gone, ...files } = initialized(DEAD);
    assert.equal(await decide(memoryHost({ files }), past), 'reset');
  });

  test('is reset when only certificates are there: the last one may be half written', async () => {
    assert.equal(await decide(memoryHost({ files: { '/etc/kubernetes/pki/ca.key': '' } }), past), 'reset');
  });

  test('whose API server does not answer is reset before the kubelet got its own credential, and resumed after', async () => {
    const files = initialized(DEAD);
    assert.equal(await decide(memoryHost({ files }), past), 'reset');
    const rotated = kubeconfig(DEAD, authority.certificate, {
      file: '/var/lib/kubelet/pki/kubelet-client-current.pem',
    });
    assert.equal(await decide(memoryHost({ files: { ...files, [KUBELET_CONF]: rotated } }), past), 'resume');
  });

  test('does not wait for an API server whose etcd never ran', async () => {
    const files = { ...initialized(DEAD), '/etc/kubernetes/manifests/etcd.yaml': 'pod' };
    using clock = fakeClock();
    assert.equal(await clock.until(decide(memoryHost({ files }), past, 60_000)), 'reset');
    assert.deepEqual(clock.pauses, []);
  });

  test('waits for an API server that comes up with the machine', async () => {
    let asked = 0;
    await using server = await startApiServer(authority, () => {
      asked += 1;
      return asked < 2 ? { status: 503 } : { kind: 'ConfigMap' };
    });
    assert.equal(await decide(memoryHost({ files: initialized(server.url) }), past, 10_000), 'resume');
  });
});

describe('an unfinished join of a worker', () => {
  test('is finished when its Node is this machine, also of the boot before', async () => {
    assert.equal(await decideWith(joined, nodeObject({ bootID: 'before' }), {}), 'finished');
  });

  test('is reset when its Node is another machine', async () => {
    assert.equal(await decideWith(joined, nodeObject({ machineID: 'f'.repeat(32) }), {}), 'reset');
  });

  test('is finished under the name in its certificate, that a hook or a cloud provider gave it', async () => {
    await using server = await startApiServer(authority, (path) =>
      path === '/api/v1/nodes/node-1' ? nodeObject() : undefined,
    );
    const host = memoryHost({ files: joined(server.url) });
    assert.equal(await decide(host, { nodeName: 'ip-10-0-0-1' }), 'finished');
    assert.equal(
      await decide(host, { nodeName: 'ip-10-0-0-1', nodeNameGiven: true }),
      'reset',
      'the document names it',
    );
  });

  test('is reset when it has no Node', async () => {
    assert.equal(await decideWith(joined, undefined, {}), 'reset');
  });

  test('is reset when it was killed in the TLS bootstrap', async () => {
    const files = (url: string) => ({ ...joined(url), '/etc/kubernetes/bootstrap-kubelet.conf': 'token' });
    assert.equal(await decideWith(files, nodeObject(), {}), 'reset');
  });

  test('is reset when only the CA was written: preflight would refuse it', async () => {
    assert.equal(await decide(memoryHost({ files: { '/etc/kubernetes/pki/ca.crt': 'CA' } }), {}), 'reset');
  });

  test('is reset when its credential is of no cluster any more', async () => {
    assert.equal(await decideWith(joined, { status: 401 }, {}), 'reset');
  });

  test('is refused, not reset, while the API server cannot be reached: it may have joined', async () => {
    await assert.rejects(decide(memoryHost({ files: joined(DEAD) }), {}), (error: unknown) => {
      assert.ok(error instanceof MachineadmError);
      assert.equal(error.reason, 'APIServerUnreachableFromKubelet');
      assert.equal(error.retryable, true);
      return true;
    });
  });
});

describe('an unfinished join of a control plane', () => {
  const past = { role: 'JoinControlPlane' } as const;

  test('is finished only when its Node was marked, the last thing it does', async () => {
    const labels = { 'node-role.kubernetes.io/control-plane': '' };
    assert.equal(await decideWith(joined, nodeObject({ labels }), past), 'finished');
    assert.equal(await decideWith(joined, nodeObject(), past), 'reset');
  });

  test('is reset at once when its API server does not answer: that is its own, unfinished one', async () => {
    assert.equal(await decide(memoryHost({ files: joined(DEAD) }), past, 60_000), 'reset');
  });
});

describe('leftovers', () => {
  test('are kubeadm names only, and never what the document writes', async () => {
    const files = {
      '/etc/kubernetes/manifests/kube-vip.yaml': 'of a hook',
      '/etc/kubernetes/manifests/etcd.yaml': 'pod',
      '/etc/kubernetes/pki/ca.crt': 'of the document',
      '/etc/kubernetes/pki/sa.pub': 'generated',
      '/etc/kubernetes/audit-policy.yaml': 'baked',
      '/var/lib/etcd/member/snap/db': 'data',
    };
    const provided = new Set(['/etc/kubernetes/pki/ca.crt']);
    assert.deepEqual(await findLeftovers(memoryHost({ files }), kubernetesModel(), provided), {
      traces: ['/etc/kubernetes/manifests/etcd.yaml', '/var/lib/etcd/member'],
      certificates: ['/etc/kubernetes/pki/sa.pub'],
    });
  });

  test('an empty etcd directory is none', async () => {
    const host = memoryHost({ files: { '/var/lib/etcd': { type: 'directory' } } });
    const found = await findLeftovers(host, kubernetesModel(), NOTHING);
    assert.deepEqual(found, { traces: [], certificates: [] });
  });
});

describe('the records of attempts', () => {
  const ended = (phase: string, killed = false) => ({ ended: { phase, killed } });

  test('are empty if there was none', () => {
    const nothing = { etcdMemberAnnounced: false, nodeNameConflict: false, succeeded: false, interrupted: false };
    assert.deepEqual(attemptOf([]), { ...nothing, wroteNothing: false });
  });

  test('count together; of what each says in its own words, the last counts', () => {
    const first = {
      etcdPeerUrl: 'https://a:2380',
      etcdMemberId: '1',
      etcdHeldBefore: ['7', 8],
      etcdMemberAnnounced: true,
    };
    assert.deepEqual(
      attemptOf([
        { ...first, ...ended('preflight') },
        { etcdPeerUrl: 'https://b:2380', succeeded: true },
      ]),
      {
        etcdMemberAnnounced: true,
        nodeNameConflict: false,
        succeeded: true,
        interrupted: false,
        wroteNothing: false,
        etcdPeerUrl: 'https://b:2380',
        etcdMemberId: '1',
        etcdHeldBefore: ['7'],
      },
    );
    assert.equal(attemptOf([{ nodeNameConflict: true }]).nodeNameConflict, true);
  });

  test('show an interruption where one has no end and no success', () => {
    assert.equal(attemptOf([{}]).interrupted, true);
    assert.equal(attemptOf([ended('preflight'), {}]).interrupted, true);
    assert.equal(attemptOf([ended('preflight'), { succeeded: true }]).interrupted, false);
  });

  for (const [what, notes, nothing] of [
    ['it ended in preflight', [ended('preflight')], true],
    ['it refused its configuration', [ended('configuration')], true],
    ['it ended later', [ended('kubelet-start')], false],
    ['it was killed', [ended('preflight', true)], false],
    ['one of two ended later', [ended('preflight'), ended('certs')], false],
    ['its end is unknown', [{}], false],
  ] as const) {
    test(`say that kubeadm wrote ${nothing ? 'nothing' : 'something'} where ${what}`, () =>
      assert.equal(attemptOf(notes).wroteNothing, nothing));
  }
});
