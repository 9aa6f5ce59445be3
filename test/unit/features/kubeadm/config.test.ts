import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import type { Model } from '@machineadm/document/model/index.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { kubeadmConfig } from '../../../../src/features/kubeadm/config.ts';
import { EMPTY_RECORD } from '../../../../src/step/index.ts';
import { facts } from '../../../support/facts.ts';
import { hostModel } from '../../../support/host-model.ts';
import { inlineSecret, kubernetesModel } from '../../../support/kubernetes-model.ts';
import { type MemoryProgram, memoryHost } from '../../../support/memory-host.ts';
import { bench, told } from '../../../support/step-bench.ts';

const TOKEN = 'abcdef.0123456789abcdef';
const CONFIG = '/run/kubeadm/kubeadm-join-config.yaml';
const CHANGE = `kubeadm-config/${CONFIG}`;

function worker(token = TOKEN): Model {
  const join = {
    discovery: {
      token: inlineSecret(token, 'joinToken'),
      endpoint: '10.0.0.1:6443',
      caCertHashes: [`sha256:${'a'.repeat(64)}`],
      unsafeSkipCAVerification: false,
    },
    tlsBootstrapToken: undefined,
    caCertPath: '/etc/kubernetes/pki/ca.crt',
  };
  return { ...hostModel(), kubernetes: kubernetesModel({ role: 'Worker', join }) };
}

const ACCEPTS: MemoryProgram = () => ({ stdout: 'ok\n' });

describe('the configuration of kubeadm', () => {
  test('is checked by kubeadm before it takes its place, and belongs to root alone', async () => {
    const judged: string[] = [];
    const kubeadm: MemoryProgram = ({ args }, machine) => {
      const candidate = args.at(-1)?.slice('--config='.length) ?? '';
      judged.push(args.slice(0, -1).join(' '), machine.text(candidate) ?? '');
      return {};
    };
    const host = memoryHost({ programs: { kubeadm } });
    const step = bench(kubeadmConfig, host, worker());
    await step.apply();
    assert.equal(judged[0], 'config validate');
    assert.equal(judged[1], host.text(CONFIG));
    assert.match(host.text(CONFIG) ?? '', /token: "?abcdef\.0123456789abcdef"?/);
    assert.equal((await host.stat(CONFIG))?.mode, 0o600);
    assert.deepEqual(await host.list('/run/kubeadm'), ['kubeadm-join-config.yaml']);
    assert.deepEqual(await step.plan(), []);
  });

  test('is shown without a secret', async () => {
    const [change] = await bench(kubeadmConfig, memoryHost(), worker()).plan();
    assert.match(change?.diff ?? '', /^\+ *token: .*\[redacted\]/m);
    assert.match(change?.diff ?? '', /^\+kind: JoinConfiguration/m);
    assert.doesNotMatch(JSON.stringify(change?.diff), /0123456789abcdef/);
  });

  test('of an earlier document is shown without its secrets either', async () => {
    const files = { [CONFIG]: 'token: zyxwvu.fedcba9876543210\n' };
    const [change] = await bench(kubeadmConfig, memoryHost({ files }), worker()).plan();
    assert.match(change?.diff ?? '', /^-token: \[redacted\]/m);
  });

  test('that kubeadm refuses never takes its place', async () => {
    const stderr = 'error: strict decoding error: unknown field "spec.x"\n';
    const host = memoryHost({ programs: { kubeadm: () => ({ status: 1, stderr }) } });
    await assert.rejects(bench(kubeadmConfig, host, worker()).apply(), {
      reason: 'KubeadmConfigInvalid',
      message: /unknown field "spec\.x"/,
    });
    assert.deepEqual(await host.list('/run/kubeadm'), []);
  });

  test('is not checked by a kubeadm that cannot', async () => {
    const host = memoryHost({ programs: { kubeadm: () => ({ status: 1 }) } });
    await bench(kubeadmConfig, host, worker(), { kubeadm: parseVersion('v1.25.16') }).apply();
    assert.match(host.text(CONFIG) ?? '', /kubeadm\.k8s\.io\/v1beta3/);
  });

  test('is left alone once the machine is bootstrapped', async () => {
    assert.deepEqual(await bench(kubeadmConfig, memoryHost(), worker()).plan({ bootstrap: 'done' }), []);
  });

  test('of init goes to the file of init', async () => {
    const host = memoryHost({ programs: { kubeadm: ACCEPTS } });
    await bench(kubeadmConfig, host, { ...hostModel(), kubernetes: kubernetesModel() }).apply();
    assert.match(host.text('/run/kubeadm/kubeadm.yaml') ?? '', /kind: InitConfiguration/);
  });
});

describe('hooks and the configuration', () => {
  async function written() {
    const host = memoryHost({ programs: { kubeadm: ACCEPTS } });
    const step = bench(kubeadmConfig, host, worker());
    const { notes } = await step.apply();
    return { host, step, notes: new Map([[CHANGE, notes[0]]]) };
  }

  test('what a hook edited stays for the next run of an unfinished bootstrap', async () => {
    const { host, step, notes } = await written();
    host.put(CONFIG, { content: `${host.text(CONFIG)}# edited\n`, mode: 0o600 });
    assert.deepEqual(await step.plan({ bootstrap: 'attempted', notes }), []);
  });

  test('a document that changed replaces it, and the hooks run again', async () => {
    const { host, notes } = await written();
    host.put(CONFIG, { content: `${host.text(CONFIG)}# edited\n`, mode: 0o600 });
    const changed = bench(kubeadmConfig, host, worker('bbbbbb.0123456789abcdef'));
    const [change] = await changed.plan({ bootstrap: 'attempted', notes });
    assert.equal(change?.id, CHANGE);
    assert.deepEqual(change?.undoes, ['hooks-before-bootstrap']);
  });

  test('a reboot takes it away, edits included: it is written anew', async () => {
    const { host, step, notes } = await written();
    host.take(CONFIG);
    assert.equal((await step.plan({ bootstrap: 'attempted', notes })).length, 1);
  });

  test('the note holds a digest and no secret', async () => {
    const { host, notes } = await written();
    const sha256 = createHash('sha256')
      .update(host.text(CONFIG) ?? '')
      .digest('hex');
    assert.deepEqual(notes.get(CHANGE), { sha256 });
  });
});

describe('kubeadm that hooks install', () => {
  const GROUP = { shell: 'sh', onError: 'Fail', timeoutMs: 1000, frequency: 'Once', commands: ['true'] } as const;
  const hooks = { early: undefined, beforeBootstrap: GROUP, afterBootstrap: undefined };
  const model = (): Model => ({ ...worker(), host: { ...worker().host, hooks } });
  const without = { kubeadm: undefined };

  test('is taken to be of the version of the document, so that the hooks find a configuration to edit', async () => {
    const host = memoryHost();
    const step = bench(kubeadmConfig, host, model(), without);
    const [change] = await step.plan();
    assert.equal(change?.knownAfter, 'hooks-before-bootstrap');
    await step.apply();
    assert.match(host.text(CONFIG) ?? '', /kind: JoinConfiguration/);
    assert.deepEqual(
      host.log.filter((line) => line.startsWith('run ')),
      [],
      'there is no kubeadm that could validate it',
    );
  });

  test('is not expected where there are no hooks: the plan shows the configuration, and the run is refused', async () => {
    const [change, ...more] = await bench(kubeadmConfig, memoryHost(), worker(), without).plan();
    assert.deepEqual([change?.id, change?.knownAfter, more], [`kubeadm-config/${CONFIG}`, undefined, []]);
  });

  for (const [what, edit, renewed] of [
    ['is rewritten for the kubeadm found', (text: string) => text, true],
    ['stays as the hooks edited it', (text: string) => `${text}# edited\n`, false],
  ] as const) {
    test(`of another version: the configuration ${what}, is validated, and lasts`, async () => {
      const host = memoryHost({ programs: { kubeadm: ACCEPTS } });
      const old = bench(kubeadmConfig, host, model(), { kubeadm: parseVersion('v1.30.4') });
      const [change] = await old.plan();
      const { notes: remembered } = await old.apply();
      const notes = new Map(remembered.map((note) => [change?.id ?? '', note]));
      const before = edit(host.text(CONFIG) ?? '');
      await host.writeFile({ path: CONFIG, content: before, mode: 0o600 });
      const found = facts({ kubeadm: parseVersion('v1.35.2') });
      const execution = told();
      const desired = kubeadmConfig.desired(model(), found);
      assert.ok(desired !== undefined);
      const now = await kubeadmConfig.afterHooks?.renew?.(host, desired, { ...EMPTY_RECORD, notes }, execution);
      const text = host.text(CONFIG) ?? '';
      assert.match(before, /kubeadm\.k8s\.io\/v1beta3/);
      assert.match(text, renewed ? /kubeadm\.k8s\.io\/v1beta4/ : /v1beta3[\s\S]*# edited/);
      assert.equal(execution.warnings.length, renewed ? 0 : 1);
      assert.ok(host.log.some((line) => line.startsWith('run kubeadm config validate')));
      const record = { ...EMPTY_RECORD, notes: new Map([...notes, ...(now ?? [])]) };
      const again = await kubeadmConfig.inspect(host, desired, record);
      assert.deepEqual(kubeadmConfig.plan(desired, again), []);
    });
  }
});
