import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { admit, reasonToSkip, type Translator } from '@machineadm/translator/admission/handler.ts';
import { allowed, parseReview } from '@machineadm/translator/admission/review.ts';
import { ServedVersions } from '@machineadm/translator/cluster/related.ts';
import { markOf, storedState, TRANSLATED } from '@machineadm/translator/handover/mark.ts';
import { parseProfiles } from '@machineadm/translator/handover/profiles.ts';
import { parse } from 'yaml';
import { goldenUserData } from '../../support/capi.ts';
import { DIRECT_CONVERSIONS } from '../../support/direct-conversions.ts';
import { base64, ManagementCluster, PROVIDER, patched, patchOf, reviewOf } from '../../support/management-cluster.ts';
import { waitUntil } from '../../support/wait-until.ts';

const WORKER = goldenUserData('02-worker-registry-mirrors', 'join-worker');
const NAME = 'prod-a-md-0-aaaaa';
const PROFILES = parseProfiles("profiles: {reporting: {report: {server: 'https://management.example:6443'}}}");
const NEVER = new AbortController().signal;

function cluster(change: Parameters<ManagementCluster['addMachine']>[1] = {}) {
  const api = new ManagementCluster();
  api.addCluster();
  const machine = api.addMachine(NAME, change);
  return { api, machine, secret: machine.secret(WORKER) };
}

const parsed = (secret: object, change: object = {}) =>
  parseReview(reviewOf(secret, change)) ?? assert.fail('no review');

function admitBy(
  api: ManagementCluster,
  request: ReturnType<typeof parsed>,
  change: Partial<Translator> = {},
  deadline = NEVER,
) {
  const translator = {
    api,
    versions: new ServedVersions(api),
    profiles: async () => PROFILES,
    version: '0.1.0',
    conversions: DIRECT_CONVERSIONS,
    isCallerProven: true,
    providerUsers: [PROVIDER],
    ...change,
  };
  return admit(request, translator, deadline);
}

describe('parseReview', () => {
  for (const text of ['', '{', '[]', '{}', reviewOf({}, { uid: '' }), reviewOf({}, { operation: 'READ' })]) {
    test(`refuses ${text.slice(0, 30)}`, () => assert.equal(parseReview(text), undefined));
  }

  test('takes the Secret of a write, that before of an update, and who writes', () => {
    const { secret } = cluster();
    assert.deepEqual([parsed(secret).secret?.metadata.name, parsed(secret).user], [NAME, PROVIDER]);
    assert.equal(parsed(secret).before, undefined);
    assert.equal(parsed(secret, { operation: 'UPDATE', oldObject: secret }).before?.metadata.name, NAME);
    assert.equal(parsed(secret, { operation: 'DELETE' }).secret, undefined);
    assert.equal(parsed(secret, { dryRun: true }).isDryRun, true);
    assert.equal(parsed(secret, { userInfo: undefined }).user, '');
  });
});

describe('reasonToSkip', () => {
  const { secret } = cluster();
  const skips = (change: object, request: object = {}) =>
    reasonToSkip(parsed({ ...secret, ...change }, request), [PROVIDER]);

  test('is nothing for the bootstrap data of a provider', () => assert.equal(skips({}), undefined));

  test('is nothing for a value that was stored untranslated: writing it again heals it', () =>
    assert.equal(skips({}, { operation: 'UPDATE', oldObject: secret }), undefined));

  test('is nothing for user data that merely mentions machineadm provision', () => {
    const value = base64(
      '#cloud-config\nwrite_files: [{path: /etc/motd, content: "/usr/local/bin/machineadm provision"}]',
    );
    assert.equal(skips({ data: { value } }), undefined);
  });

  for (const [what, reason] of [
    [skips({ type: 'Opaque' }), 'no Secret of Cluster API'],
    [skips({ data: {} }), 'no user data'],
    [skips({}, { userInfo: { username: 'kubernetes-admin' } }), 'not written by the bootstrap provider'],
    [
      skips({ metadata: { ...secret.metadata, annotations: { [TRANSLATED]: markOf(secret.data.value ?? '') } } }),
      'translated already',
    ],
  ] as const) {
    test(reason, () => assert.equal(what, reason));
  }
});

describe('admit', () => {
  test('replaces the user data of a machine that opted in, and marks it', async () => {
    const { api, secret } = cluster();
    const { review, outcome } = await admitBy(api, parsed(secret));
    assert.equal(outcome.kind, 'Translated');
    assert.deepEqual(
      patchOf(review).map(({ op, path }) => [op, path]),
      [
        ['replace', '/data/value'],
        ['add', '/metadata/annotations'],
      ],
    );
    const stored = patched(secret, review);
    const { write_files: files, runcmd } = parse(Buffer.from(stored.data.value ?? '', 'base64').toString());
    assert.equal(files[0].path, '/etc/machineadm/bootstrap.yaml');
    assert.deepEqual(runcmd, ['/usr/local/bin/machineadm provision -d /etc/machineadm/bootstrap.yaml']);
    const state = storedState(stored);
    assert.ok(state.kind === 'Translated');
    assert.deepEqual([state.mark?.version, state.mark?.profile, state.mark?.notes], ['0.1.0', 'default', []]);
    assert.ok(state.mark?.codes.includes('HookContinues'));
  });

  test('keeps the annotations that a Secret has', async () => {
    const { api, secret } = cluster();
    const object = { ...secret, metadata: { ...secret.metadata, annotations: { a: 'b' } } };
    const stored = patched(object, (await admitBy(api, parsed(object))).review);
    const { annotations } = stored.metadata as { annotations?: Record<string, string> };
    assert.equal(annotations?.a, 'b');
    assert.equal(storedState(stored).kind, 'Translated');
  });

  test('reads what it must know, and writes nothing', async () => {
    const { api, secret } = cluster({ labels: {} });
    const { review, outcome } = await admitBy(api, parsed(secret));
    assert.deepEqual([review, outcome], [allowed('u1'), { kind: 'Untouched', why: 'not opted in' }]);
    assert.deepEqual(
      api.calls
        .flatMap((call) => (/^GET \/apis\/[^/]+$/.test(call) ? [] : [call.split('/').slice(-2).join('/')]))
        .sort(),
      ['clusters/prod-a', `kubeadmconfigs/${NAME}`, `machines/${NAME}`],
    );
    const other = new ManagementCluster();
    await admitBy(other, parsed({ ...secret, metadata: { name: 'm1' } }));
    assert.deepEqual(other.calls, []);
    const translated = cluster();
    await admitBy(translated.api, parsed(translated.secret));
    assert.deepEqual(translated.api.writes, []);
  });

  test('leaves a Secret alone where an API request fails before it is known that the machine opted in', async () => {
    const { api, secret } = cluster();
    api.failing.set('/kubeadmconfigs/', 500);
    const { review, outcome } = await admitBy(api, parsed(secret));
    assert.deepEqual(review, allowed('u1'));
    assert.equal(outcome.kind === 'Kept' ? outcome.error.reason : undefined, 'TranslationFailed');
  });

  test('stores with the Secret why it was kept', async () => {
    const { api, secret } = cluster({ annotations: { 'machineadm.dev/bootstrap-profile': 'x' } });
    const { review } = await admitBy(api, parsed(secret));
    const stored = patched(secret, review);
    assert.deepEqual(stored.data, secret.data);
    assert.deepEqual(storedState(stored), {
      kind: 'Kept',
      reason: 'OptionsInvalid',
      message: 'machineadm.dev/bootstrap-profile: there is no profile "x"',
    });
  });

  test('lets the Secret pass as it is when the time is over', async () => {
    const { api, secret } = cluster();
    const { review, outcome } = await admitBy(api, parsed(secret), {}, AbortSignal.abort());
    assert.deepEqual(review, allowed('u1'));
    assert.equal(outcome.kind === 'Kept' ? outcome.error.reason : undefined, 'TimedOut');
  });

  for (const [what, change] of [
    ['has its bootstrap data', { dataSecretName: NAME }],
    ['booted', { providerID: 'aws:///a/i-1' }],
  ] as const) {
    test(`translates nothing for a machine that ${what}, unless its Secret was translated before`, async () => {
      const { api, secret } = cluster(change);
      const update = { operation: 'UPDATE', oldObject: secret };
      assert.deepEqual((await admitBy(api, parsed(secret, update))).review, allowed('u1'));
      const first = cluster();
      const oldObject = patched(secret, (await admitBy(first.api, parsed(first.secret))).review);
      const { outcome } = await admitBy(api, parsed(secret, { operation: 'UPDATE', oldObject }));
      assert.equal(outcome.kind, 'Translated');
    });
  }

  test('translates each rotation of a MachinePool, without a report', async () => {
    const { api, secret } = cluster({
      kind: 'MachinePool',
      annotations: { 'machineadm.dev/bootstrap-profile': 'reporting' },
    });
    const state = storedState(patched(secret, (await admitBy(api, parsed(secret))).review));
    assert.ok(state.kind === 'Translated');
    assert.match(state.mark?.notes.join() ?? '', /MachinePool share one Secret/);
  });

  test('asks again for the version of Cluster API where the one before is no longer served', async () => {
    const { api, secret } = cluster();
    const versions = new ServedVersions(api);
    api.serves = 'v1beta1';
    await versions.of('bootstrap.cluster.x-k8s.io');
    api.serves = 'v1beta2';
    assert.equal((await admitBy(api, parsed(secret), { versions })).outcome.kind, 'Translated');
  });
});

describe('the token for a report', () => {
  const account = `/api/v1/namespaces/clusters/serviceaccounts/machineadm-report-${NAME}`;
  const reporting = () => {
    const made = cluster({ annotations: { 'machineadm.dev/bootstrap-profile': 'reporting' } });
    const owner = { apiVersion: 'cluster.x-k8s.io/v1beta2', kind: 'Machine', name: NAME, uid: made.machine.uid };
    return { ...made, owner };
  };
  const notesOf = async ({ api, secret }: ReturnType<typeof reporting>, request: object = {}, change = {}) => {
    const state = storedState(patched(secret, (await admitBy(api, parsed(secret, request), change)).review));
    assert.ok(state.kind === 'Translated');
    return state.mark?.notes.join() ?? '';
  };

  test('is requested for the account of this Machine, and nothing else is written', async () => {
    const made = reporting();
    made.api.put(account, { metadata: { name: `machineadm-report-${NAME}`, ownerReferences: [made.owner] } });
    assert.equal(await notesOf(made), '');
    assert.deepEqual(made.api.writes, []);
    assert.ok(made.api.calls.includes(`POST ${account}/token`));
  });

  for (const [what, owner, request, change, note] of [
    ['in a dry run', {}, { dryRun: true }, {}, /dry run/],
    ['for a caller without proof', {}, {}, { isCallerProven: false }, /does not prove/],
    ['of an account of another Machine', { uid: 'another' }, {}, {}, /does not belong to this Machine/],
    ['of an account of another kind of owner', { kind: 'Pod' }, {}, {}, /does not belong to this Machine/],
  ] as const) {
    test(`is not requested ${what}, and the machine is translated without`, async () => {
      const made = reporting();
      const ownerReferences = [{ ...made.owner, ...owner }];
      made.api.put(account, { metadata: { name: `machineadm-report-${NAME}`, ownerReferences } });
      assert.match(await notesOf(made, request, change), note);
      assert.ok(!made.api.calls.some((call) => call.endsWith('/token')));
    });
  }

  test('is left out where the account does not appear in time, or the API server refuses', async () => {
    const made = reporting();
    made.api.failing.set('/token', 403);
    const appears = waitUntil(() => made.api.calls.includes(`GET ${account}`), 'the first look').then(() =>
      made.api.put(account, { metadata: { name: 'x', ownerReferences: [made.owner] } }),
    );
    assert.match(await notesOf(made), /no report: POST .*refused/, 'it waits for the account');
    await appears;
  });
});
