import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Api, ApiError, type Request, type WatchEvent } from '@machineadm/translator/cluster/api.ts';
import { ServedVersions } from '@machineadm/translator/cluster/related.ts';
import { REPORTED_TYPES } from '@machineadm/translator/reports/conditions.ts';
import { copyConditions } from '@machineadm/translator/reports/copier.ts';
import { newMetrics } from '@machineadm/translator/telemetry/metrics.ts';
import { waitUntil } from '../../support/wait-until.ts';

const MAPS = '/api/v1/namespaces/team/configmaps';
const MACHINES = '/apis/cluster.x-k8s.io/v1beta2/namespaces/team/machines';
const CONFIGS = '/apis/bootstrap.cluster.x-k8s.io/v1beta2/namespaces/team/kubeadmconfigs';
const ACCOUNTS = '/api/v1/namespaces/team/serviceaccounts';
const CONDITION = { type: REPORTED_TYPES[0], status: 'True', reason: 'Succeeded', message: 'done' } as const;

/** The reference to a Machine, as the translator sets it. */
function owner(machine: string, change: object = {}) {
  return { apiVersion: 'cluster.x-k8s.io/v1beta2', kind: 'Machine', name: machine, uid: `uid-${machine}`, ...change };
}

/** The account whose token may write the report of a machine. */
function account(machine: string, change: object = {}) {
  return { metadata: { name: `machineadm-report-${machine}`, ownerReferences: [owner(machine, change)] } };
}

function report(machine: string, more: object = {}, conditions: readonly object[] = [CONDITION]) {
  return {
    metadata: {
      name: `machineadm-report-${machine}`,
      resourceVersion: '7',
      ownerReferences: [owner(machine)],
      ...more,
    },
    data: { 'conditions.json': JSON.stringify(conditions) },
  };
}

function machine(name: string, config?: object) {
  return {
    apiVersion: 'cluster.x-k8s.io/v1beta2',
    kind: 'Machine',
    metadata: { name, namespace: 'team', uid: `uid-${name}` },
    spec: { bootstrap: { configRef: config } },
  };
}

const CONFIG = {
  apiVersion: 'bootstrap.cluster.x-k8s.io/v1beta2',
  kind: 'KubeadmConfig',
  metadata: { name: 'c', namespace: 'team', uid: 'uid-c' },
};

/** A management cluster with these objects, by path, and reports, by page. */
function cluster(objects: Readonly<Record<string, object>>, pages: readonly (readonly object[])[]) {
  const state = { patched: [] as Request[], lists: [] as Request[], watches: [] as object[], fails: 0 };
  let receive: ((event: WatchEvent) => void) | undefined;
  const api: Api = {
    certificateAuthority: undefined,
    async request(request) {
      const { path, method, query = {} } = request;
      if (/^\/apis\/[^/]+$/.test(path)) return { preferredVersion: { version: 'v1beta2' } };
      if (path === MAPS) {
        state.lists.push(request);
        const at = Number(query.continue ?? 0);
        const next = at + 1 < pages.length ? { continue: `${at + 1}` } : {};
        return { metadata: { resourceVersion: `${at + 5}`, ...next }, items: pages[at] ?? [] };
      }
      if (method === 'PATCH') {
        if (state.fails > 0) {
          state.fails -= 1;
          throw new ApiError(500, 'the server is ill');
        }
        state.patched.push(request);
        return {};
      }
      const found =
        objects[path] ?? (path.startsWith(`${ACCOUNTS}/`) ? account(path.split('-').at(-1) ?? '') : undefined);
      if (found === undefined) throw new ApiError(404, `no ${path}`);
      return found;
    },
    async watch(path, query, onEvent, signal) {
      assert.equal(path, MAPS);
      state.watches.push(query);
      receive = onEvent;
      await new Promise<void>((resolve) => {
        signal.addEventListener('abort', () => resolve());
        closers.push(resolve);
      });
    },
  };
  const closers: (() => void)[] = [];
  return { api, state, send: (event: WatchEvent) => receive?.(event), closeWatch: () => closers.pop()?.() };
}

/** The copier of that cluster, until `stop`. */
function copying({ api }: ReturnType<typeof cluster>) {
  const end = new AbortController();
  const said: string[] = [];
  const done = copyConditions(
    api,
    new ServedVersions(api),
    { namespaces: ['team'], resyncMs: 3_600_000, retryMs: 1 },
    end.signal,
    (level, message, fields) => said.push([level, message, ...Object.values(fields ?? {})].join(' ')),
    newMetrics(),
  );
  const stop = async (): Promise<void> => {
    end.abort();
    await done;
  };
  return { said, stop };
}

const pathsOf = (patched: readonly Request[]): readonly string[] => patched.map(({ path }) => path);

describe('what machines report', () => {
  test('is copied to the Machine and its KubeadmConfig, from all pages, before it is watched', async () => {
    const made = cluster(
      {
        [`${MACHINES}/a`]: machine('a', { kind: 'KubeadmConfig', name: 'c' }),
        [`${MACHINES}/b`]: machine('b'),
        [`${CONFIGS}/c`]: CONFIG,
      },
      [[report('a')], [report('b')]],
    );
    const { said, stop } = copying(made);
    await waitUntil(() => made.state.watches.length === 1, 'the watch');
    await stop();
    assert.deepEqual(pathsOf(made.state.patched), [
      `${MACHINES}/a/status`,
      `${CONFIGS}/c/status`,
      `${MACHINES}/b/status`,
    ]);
    assert.deepEqual(
      made.state.lists.map(({ query }) => query),
      [
        { labelSelector: 'machineadm.dev/report=true', limit: '200' },
        { labelSelector: 'machineadm.dev/report=true', limit: '200', continue: '1' },
      ],
    );
    assert.deepEqual(made.state.watches, [
      { labelSelector: 'machineadm.dev/report=true', resourceVersion: '5', allowWatchBookmarks: 'true' },
    ]);
    assert.deepEqual(said, [
      'info conditions copied team machineadm-report-a',
      'info conditions copied team machineadm-report-b',
    ]);
    assert.equal(made.state.patched[0]?.query?.fieldManager, 'machineadm-conditions');
  });

  for (const [what, item, objects] of [
    ['that has no conditions', report('a', {}, []), { [`${MACHINES}/a`]: machine('a') }],
    [
      'in a ConfigMap of another name',
      { ...report('a'), metadata: { name: 'a' } },
      { [`${MACHINES}/a`]: machine('a'), [`${MACHINES}/`]: machine('') },
    ],
    ['of a Machine that is gone', report('a'), {}],
  ] as const) {
    test(`${what}: nothing is written, and no event is created`, async () => {
      const made = cluster(objects, [[item]]);
      const { said, stop } = copying(made);
      await waitUntil(() => made.state.watches.length === 1, 'the watch');
      await stop();
      assert.deepEqual([made.state.patched, said], [[], []]);
    });
  }

  for (const [what, item, config] of [
    [
      'whose owner is this Machine, among others',
      report('a', { ownerReferences: [{ apiVersion: 'v1', kind: 'Other', name: 'a', uid: 'x' }, owner('a')] }),
      undefined,
    ],
    ['whose Machine has the configuration of another provider', report('a'), { kind: 'TalosConfig', name: 'c' }],
    ['whose KubeadmConfig is gone', report('a'), { kind: 'KubeadmConfig', name: 'gone' }],
  ] as const) {
    test(`${what}: only the Machine is written to`, async () => {
      const made = cluster({ [`${MACHINES}/a`]: machine('a', config), [`${CONFIGS}/c`]: CONFIG }, [[item]]);
      const { said, stop } = copying(made);
      await waitUntil(() => made.state.watches.length === 1, 'the watch');
      await stop();
      assert.deepEqual(pathsOf(made.state.patched), [`${MACHINES}/a/status`]);
      assert.equal(said.length, 1);
    });
  }

  for (const [what, item, objects] of [
    ['without an owner', report('a', { ownerReferences: undefined }), {}],
    ['of an earlier Machine of this name', report('a', { ownerReferences: [owner('a', { uid: 'earlier' })] }), {}],
    ['of another Machine', report('a', { ownerReferences: [owner('b')] }), {}],
    ['of an owner of another group', report('a', { ownerReferences: [owner('a', { apiVersion: 'v1' })] }), {}],
    [
      'whose account belongs to another Machine',
      report('a'),
      { [`${ACCOUNTS}/machineadm-report-a`]: account('a', { uid: 'another' }) },
    ],
    ['whose account nobody owns', report('a'), { [`${ACCOUNTS}/machineadm-report-a`]: { metadata: { name: 'x' } } }],
  ] as const) {
    test(`of whoever may create ConfigMaps, ${what}, is no report: nothing is written, and it is said`, async () => {
      const made = cluster({ [`${MACHINES}/a`]: machine('a'), ...objects }, [[item]]);
      const { said, stop } = copying(made);
      await waitUntil(() => made.state.watches.length === 1, 'the watch');
      await stop();
      assert.deepEqual(made.state.patched, []);
      assert.match(said.join(), /^warn no report of its Machine: .*machineadm-report-a$/);
    });
  }

  test('is copied as it changes; what is deleted, or only marks a place, is not', async () => {
    const made = cluster({ [`${MACHINES}/a`]: machine('a') }, [[]]);
    const { stop } = copying(made);
    await waitUntil(() => made.state.watches.length === 1, 'the watch');
    for (const type of ['DELETED', 'BOOKMARK']) made.send({ type, object: report('a') });
    for (const type of ['ADDED', 'MODIFIED']) {
      const before = made.state.patched.length;
      made.send({ type, object: report('a', { resourceVersion: '9' }) });
      await waitUntil(() => made.state.patched.length > before, `${type} to be copied`);
    }
    made.closeWatch();
    await waitUntil(() => made.state.watches.length === 2, 'another watch');
    await stop();
    assert.equal(made.state.patched.length, 2);
    assert.equal(Reflect.get(made.state.watches[1] ?? {}, 'resourceVersion'), '9');
  });

  for (const [what, event] of [
    ['says that its version is too old', { type: 'ERROR', object: { metadata: { name: 'x' }, code: 410 } }],
    ['sends what nobody understands', { type: 'ADDED', object: 'nonsense' }],
  ] as const) {
    test(`is listed again where a watch ${what}`, async () => {
      const made = cluster({}, [[]]);
      const { stop } = copying(made);
      await waitUntil(() => made.state.watches.length === 1, 'the watch');
      made.send(event);
      made.closeWatch();
      await waitUntil(() => made.state.lists.length === 2, 'another list');
      await stop();
    });
  }

  test('that could not be written is written later', async () => {
    const made = cluster({ [`${MACHINES}/a`]: machine('a') }, [[report('a')]]);
    made.state.fails = 2;
    const { said, stop } = copying(made);
    await waitUntil(() => made.state.patched.length === 1, 'the conditions');
    await stop();
    const failed = 'warn conditions not copied team machineadm-report-a the server is ill';
    assert.deepEqual(said, [failed, failed, 'info conditions copied team machineadm-report-a']);
  });

  test('is listed again after the list failed, which is said', async () => {
    const made = cluster({}, [['no report' as unknown as object]]);
    const { said, stop } = copying(made);
    await waitUntil(() => made.state.lists.length > 1, 'another list');
    await stop();
    assert.match(said[0] ?? '', /^warn reports cannot be listed team /);
    assert.deepEqual(made.state.watches, []);
  });
});
