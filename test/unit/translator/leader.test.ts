import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Api, ApiError, type Request } from '@machineadm/translator/cluster/api.ts';
import { electLeader } from '@machineadm/translator/cluster/leader.ts';
import { waitUntil } from '../../support/wait-until.ts';

interface Spec {
  readonly holderIdentity?: string;
  readonly leaseTransitions?: number;
  readonly acquireTime?: string;
  readonly renewTime?: string;
  readonly leaseDurationSeconds?: number;
}

/** What a request wrote. */
function written(request: Request | undefined): { readonly metadata: object; readonly spec: Spec } {
  assert.ok(request !== undefined);
  return request.body as { metadata: object; spec: Spec };
}

const PATH = '/apis/coordination.k8s.io/v1/namespaces/system/leases';
const OPTIONS = { namespace: 'system', name: 'lease', identity: 'me', durationMs: 600_000, retryMs: 1 } as const;
const MICRO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

/** An API server with one lease. */
function apiServer(spec?: Spec) {
  const state = { spec, version: 1, fails: 0, reads: 0, writes: [] as Request[], conflicts: false };
  const api: Api = {
    certificateAuthority: undefined,
    watch: () => assert.fail('nothing is watched'),
    async request(request) {
      if (state.fails > 0) {
        state.fails -= 1;
        throw new ApiError(500, 'the server is ill');
      }
      if (request.method === undefined) {
        state.reads += 1;
        assert.equal(request.path, `${PATH}/lease`);
        if (state.spec === undefined) throw new ApiError(404, 'no lease');
        return { metadata: { resourceVersion: `${state.version}` }, spec: state.spec };
      }
      if (state.conflicts) throw new ApiError(409, 'another one wrote');
      state.writes.push(request);
      state.version += 1;
      state.spec = written(request).spec;
      return {};
    },
  };
  return { api, state };
}

/** An election of this replica, which notes when it leads and what it says. */
function elected(api: Api, over: Partial<typeof OPTIONS | { durationMs: number }> = {}, fails = false) {
  const end = new AbortController();
  const state = { terms: 0, leads: false, said: [] as string[] };
  const done = electLeader(
    api,
    { ...OPTIONS, ...over },
    async (signal) => {
      state.terms += 1;
      if (fails) throw new Error('a defect');
      state.leads = true;
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      state.leads = false;
    },
    end.signal,
    (level, message, fields) => state.said.push([level, message, ...Object.values(fields ?? {})].join(' ')),
  );
  return { state, end, done };
}

describe('the election of a leader', () => {
  test('makes the lease, leads, renews it, and gives it up at the end', async () => {
    const { api, state } = apiServer();
    const election = elected(api);
    await waitUntil(() => election.state.leads && state.writes.length > 1, 'a renewal');
    const [made, renewed] = state.writes;
    assert.deepEqual(
      [made?.method, made?.path, renewed?.method, renewed?.path],
      ['POST', PATH, 'PUT', `${PATH}/lease`],
    );
    const { metadata, spec } = written(made);
    assert.deepEqual(metadata, { name: 'lease', namespace: 'system' });
    assert.deepEqual([spec.holderIdentity, spec.leaseDurationSeconds, spec.leaseTransitions], ['me', 600, 0]);
    assert.match(spec.renewTime ?? '', MICRO_TIME);
    assert.equal(spec.acquireTime, spec.renewTime);
    const again = written(renewed);
    assert.deepEqual(again.metadata, { name: 'lease', namespace: 'system', resourceVersion: '2' });
    assert.deepEqual([again.spec.acquireTime, again.spec.leaseTransitions], [spec.acquireTime, 0]);
    election.end.abort();
    await election.done;
    assert.equal(election.state.leads, false);
    assert.deepEqual([state.spec?.holderIdentity, state.spec?.leaseDurationSeconds], ['', 1]);
    assert.equal(state.spec?.acquireTime, spec.acquireTime);
    assert.deepEqual(election.state.said, ['info leader me', 'info no longer leader me']);
  });

  test('waits while another replica holds the lease, and leaves it alone at the end', async () => {
    const { api, state } = apiServer({ holderIdentity: 'other', renewTime: 'a' });
    const election = elected(api);
    await waitUntil(() => state.reads > 3, 'some attempts');
    election.end.abort();
    await election.done;
    assert.deepEqual([election.state.terms, state.writes], [0, []]);
  });

  test('takes over a lease that is not renewed', async () => {
    const { api, state } = apiServer({ holderIdentity: 'other', leaseTransitions: 4, acquireTime: 'before' });
    const election = elected(api, { durationMs: 0 });
    await waitUntil(() => election.state.leads, 'to lead');
    const { spec } = written(state.writes[0]);
    assert.deepEqual([spec.holderIdentity, spec.leaseTransitions, spec.leaseDurationSeconds], ['me', 5, 1]);
    assert.match(spec.acquireTime ?? '', MICRO_TIME);
    election.end.abort();
    await election.done;
  });

  test('takes a lease at once that was given up', async () => {
    const { api, state } = apiServer({ holderIdentity: '', leaseTransitions: 1 });
    const election = elected(api);
    await waitUntil(() => election.state.leads, 'to lead');
    assert.equal(written(state.writes[0]).spec.leaseTransitions, 2);
    election.end.abort();
    await election.done;
  });

  test('continues with its own lease after a restart', async () => {
    const { api, state } = apiServer({ holderIdentity: 'me', leaseTransitions: 3, acquireTime: 'before' });
    const election = elected(api);
    await waitUntil(() => election.state.leads, 'to lead');
    const { spec } = written(state.writes[0]);
    assert.deepEqual([spec.acquireTime, spec.leaseTransitions], ['before', 3]);
    election.end.abort();
    await election.done;
  });

  test('stops leading when another replica has the lease, and leads again when it is released', async () => {
    const { api, state } = apiServer();
    const election = elected(api);
    await waitUntil(() => election.state.leads, 'to lead');
    state.spec = { holderIdentity: 'other' };
    await waitUntil(() => !election.state.leads, 'not to lead');
    state.spec = { holderIdentity: '' };
    await waitUntil(() => election.state.terms === 2 && election.state.leads, 'to lead again');
    election.end.abort();
    await election.done;
  });

  test('does not lead where another replica was faster', async () => {
    const { api, state } = apiServer();
    state.conflicts = true;
    const election = elected(api);
    await waitUntil(() => state.reads > 3, 'some attempts');
    assert.equal(election.state.terms, 0);
    election.end.abort();
    await election.done;
    assert.deepEqual(election.state.said, []);
  });

  test('continues to lead while the server fails for a moment', async () => {
    const { api, state } = apiServer();
    const election = elected(api);
    await waitUntil(() => election.state.leads, 'to lead');
    state.fails = 2;
    const writes = state.writes.length;
    await waitUntil(() => state.writes.length > writes + 1, 'another renewal');
    assert.equal(election.state.terms, 1);
    assert.ok(election.state.said.includes('warn lease the server is ill'), election.state.said.join('; '));
    election.end.abort();
    await election.done;
  });

  test('stops leading if the lease could not be renewed in time', async () => {
    const { api, state } = apiServer();
    const election = elected(api, { durationMs: 1 });
    await waitUntil(() => election.state.leads, 'to lead');
    state.fails = Number.POSITIVE_INFINITY;
    await waitUntil(() => !election.state.leads, 'not to lead');
    election.end.abort();
    await election.done;
  });

  test('says that what it leads has ended with an error', async () => {
    const { api } = apiServer();
    const election = elected(api, {}, true);
    await waitUntil(() => election.state.said.length > 1, 'the error');
    assert.deepEqual(election.state.said, ['info leader me', 'error leading ended a defect']);
    election.end.abort();
    await election.done;
  });
});
