import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, test } from 'node:test';
import type { Model, ProxyModel } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import { Secret, type SecretValue } from '@machineadm/document/secrets/secret.ts';
import { proxy } from '../../../../src/features/proxy/index.ts';
import { EMPTY_RECORD } from '../../../../src/step/index.ts';
import { loaded } from '../../../support/document.ts';
import { facts } from '../../../support/facts.ts';
import { hostModel } from '../../../support/host-model.ts';
import { type MemoryMachine, memoryHost } from '../../../support/memory-host.ts';
import { planned, runStep } from '../../../support/run-step.ts';

const FILE = '/etc/machineadm/proxy.env';
const DROP_INS = ['containerd', 'kubelet'].map(
  (name) => `/etc/systemd/system/${name}.service.d/20-machineadm-proxy.conf`,
);
const [CONTAINERD = '', KUBELET = ''] = DROP_INS;
const URL = 'http://proxy.example:3128';
const SECRET_URL = "http://kr4y:p%40ss'w0rd$x@proxy.example:3128";

const literal = (text: string): SecretValue => ({
  name: 'host.proxy.http',
  source: { kind: 'value', secret: new Secret(text) },
});

function documentOf(different: Partial<ProxyModel> = {}, rest: Partial<Model> = {}): Model {
  const model: ProxyModel = {
    http: literal(URL),
    https: undefined,
    no: [],
    for: ['agent', 'containerd', 'kubelet'],
    ...different,
  };
  return { ...hostModel({ proxy: model }), ...rest };
}

const RUNNING: MemoryMachine = { services: { containerd: { active: true }, kubelet: { active: true } } };

describe('the proxy', () => {
  test('is nothing to do for a document without one', () => {
    assert.equal(proxy.desired(hostModel(), facts()), undefined);
  });

  test('reaches the services through a file that only root reads, and a second run changes nothing', async () => {
    const host = memoryHost(RUNNING);
    const run = await runStep(proxy, host, documentOf());
    assert.deepEqual(
      run.changes.map(({ id, scope }) => [id, scope]),
      [
        ['proxy/variables', 'node'],
        ['proxy/containerd', 'node'],
        ['proxy/kubelet', 'node'],
      ],
    );
    assert.equal(run.changes[0]?.summary, `write ${FILE}, for containerd and kubelet`);
    const other = await planned(proxy, host, documentOf({ no: ['x.example'], for: ['containerd'] }));
    assert.equal(other[0]?.summary, `update ${FILE}, for containerd`);
    assert.equal((await host.stat(FILE))?.mode, 0o600);
    for (const path of DROP_INS) {
      assert.match(host.text(path) ?? '', /^\[Service\]\nEnvironmentFile=-\/etc\/machineadm\/proxy\.env$/m);
      assert.doesNotMatch(host.text(path) ?? '', /proxy\.example/);
    }
    assert.deepEqual(run.left, []);
    assert.deepEqual(await planned(proxy, host, documentOf()), []);
  });

  test('has both spellings of every variable, with equal values', async () => {
    const host = memoryHost();
    await runStep(proxy, host, documentOf({ https: literal('http://other.example:3129') }));
    const variables = new Map(
      (host.text(FILE) ?? '')
        .split('\n')
        .filter((line) => line.includes('='))
        .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    );
    assert.deepEqual([...variables.keys()].sort(), [
      'HTTPS_PROXY',
      'HTTP_PROXY',
      'NO_PROXY',
      'http_proxy',
      'https_proxy',
      'no_proxy',
    ]);
    for (const name of ['http_proxy', 'https_proxy', 'no_proxy']) {
      assert.equal(variables.get(name), variables.get(name.toUpperCase()));
    }
    assert.match(variables.get('NO_PROXY') ?? '', /169\.254\.169\.254.*10\.0\.0\.5/);
  });

  test('with a password of shell and unit characters is read by a shell as it is meant', async () => {
    const host = memoryHost();
    await runStep(proxy, host, documentOf({ http: literal(SECRET_URL) }));
    const script = `${host.text(FILE)}\nprintf %s "$HTTP_PROXY"`;
    const { stdout, status } = spawnSync('sh', ['-eu', '-c', script], { encoding: 'utf8' });
    assert.equal(status, 0);
    assert.equal(stdout, SECRET_URL.replace("'", '%27'));
  });

  test('restarts each running service once, and none that does not run', async () => {
    const host = memoryHost({ services: { containerd: { active: true }, kubelet: { active: false } } });
    const run = await runStep(proxy, host, documentOf());
    assert.deepEqual(
      host.log.filter((line) => line.startsWith('service ')),
      ['service reload', 'service restart containerd'],
    );
    assert.ok(run.changes.every(({ owes }) => !owes?.includes('restart:kubelet')));
  });

  test('restarts the services when only an entry of "no" changed, without reading units again', async () => {
    const host = memoryHost(RUNNING);
    await runStep(proxy, host, documentOf());
    host.log.length = 0;
    const run = await runStep(proxy, host, documentOf({ no: ['mirror.example'] }));
    assert.deepEqual(
      run.changes.map(({ id, owes }) => [id, owes]),
      [['proxy/variables', ['restart:containerd', 'restart:kubelet']]],
    );
    assert.ok(host.log.includes('service restart kubelet'));
    assert.ok(!host.log.includes('service reload'));
  });

  test('leaves the restart of containerd to the step that restarts it anyway', async () => {
    const { containerd } = (await loaded('containerRuntime: {containerd: {}}')).model;
    for (const model of [
      documentOf({}, { containerd }),
      { ...documentOf(), host: { ...documentOf().host, certificateAuthorities: [{ name: 'a', pem: '' }] } },
    ]) {
      const host = memoryHost(RUNNING);
      const run = await runStep(proxy, host, model);
      assert.ok(
        run.changes.some(({ owes }) => owes?.includes('restart:containerd')),
        'it is owed',
      );
      assert.ok(!host.log.includes('service restart containerd'), 'and settled later');
      assert.ok(host.log.includes('service restart kubelet'));
    }
  });

  test('settles a restart that a killed run owed, where the service still runs', async () => {
    const host = memoryHost(RUNNING);
    await runStep(proxy, host, documentOf());
    host.log.length = 0;
    const record = { ...EMPTY_RECORD, owed: new Set(['restart:kubelet'] as const) };
    await runStep(proxy, host, documentOf(), { record });
    assert.deepEqual(
      host.log.filter((line) => line.startsWith('service ')),
      ['service restart kubelet'],
    );
    host.setService('kubelet', { active: false });
    host.log.length = 0;
    await runStep(proxy, host, documentOf(), { record });
    assert.deepEqual(
      host.log.filter((line) => line.startsWith('service ')),
      [],
    );
  });

  test('is taken from a service that no longer has it, and the file with the last one', async () => {
    const host = memoryHost(RUNNING);
    await runStep(proxy, host, documentOf());
    const one = await runStep(proxy, host, documentOf({ for: ['kubelet'] }));
    assert.deepEqual(
      one.changes.map(({ id }) => id),
      ['proxy/containerd'],
    );
    assert.equal(host.text(CONTAINERD), undefined);
    assert.ok(host.text(KUBELET));
    const none = await runStep(proxy, host, documentOf({ for: ['agent'] }));
    assert.deepEqual(none.left, []);
    assert.equal(host.text(KUBELET), undefined);
    assert.equal(host.text(FILE), undefined);
  });

  test('is never part of an image', async () => {
    assert.deepEqual(await planned(proxy, memoryHost(), documentOf(), { scope: 'base' }), []);
  });

  test('for those who log in is a block of /etc/environment, whose other lines and mode stay', async () => {
    const before = { content: 'LANG=C\n', mode: 0o640 };
    const host = memoryHost({ files: { '/etc/environment': before } });
    const run = await runStep(proxy, host, documentOf({ for: ['environment'] }));
    assert.deepEqual(
      run.changes.map(({ id }) => id),
      ['proxy/environment'],
    );
    assert.match(host.text('/etc/environment') ?? '', /^LANG=C\n# BEGIN .*\nHTTP_PROXY=http:\/\/proxy\.example:3128\n/);
    assert.equal((await host.stat('/etc/environment'))?.mode, 0o640);
    await runStep(proxy, host, documentOf({ for: ['agent'] }));
    assert.equal(host.text('/etc/environment'), 'LANG=C\n');
  });
});

describe('on a machine with OpenRC', () => {
  test('the configuration of a service reads the file; what is in it already stays', async () => {
    const files = { '/etc/conf.d/containerd': 'rc_need=net\n' };
    const host = memoryHost({ ...RUNNING, files, serviceManager: 'openrc' });
    const run = await runStep(proxy, host, documentOf({ http: literal(SECRET_URL) }));
    const text = host.text('/etc/conf.d/containerd') ?? '';
    assert.match(text, /^rc_need=net\n# BEGIN machineadm: proxy\n/);
    assert.doesNotMatch(text, /w0rd/);
    assert.ok(host.text('/etc/conf.d/kubelet'));
    assert.deepEqual(run.left, []);
    await runStep(proxy, host, documentOf({ for: ['agent'] }));
    assert.equal(host.text('/etc/conf.d/containerd'), 'rc_need=net\n');
  });
});

describe('a proxy that cannot be used', () => {
  const fromEnvironment: SecretValue = { name: 'proxy', source: { kind: 'env', variable: 'PROXY' } };

  async function reasonsOf(model: Model, machine: MemoryMachine): Promise<readonly string[]> {
    const desired = proxy.desired(model, facts());
    assert.ok(desired);
    const missing = (await proxy.preflight?.(memoryHost(machine), desired)) ?? [];
    return missing.map(({ reason, what }) => `${reason}: ${what}`);
  }

  test('is ProxyInvalid before any change, and is not shown', async () => {
    const [told = ''] = await reasonsOf(documentOf({ http: fromEnvironment }), { env: { PROXY: 'socks5://h1dden:1' } });
    assert.match(told, /^ProxyInvalid: host\.proxy\.http/);
    assert.doesNotMatch(told, /h1dden/);
  });

  test('is ProxyInvalid where /etc/environment would show its credentials', async () => {
    const model = documentOf({ http: fromEnvironment, for: ['environment'] });
    const [told = ''] = await reasonsOf(model, { env: { PROXY: SECRET_URL } });
    assert.match(told, /^ProxyInvalid: .*environment/);
  });

  test('is SecretUnavailable where its secret is not there, unless an early hook may bring it', async () => {
    const model = documentOf({ http: fromEnvironment });
    assert.match((await reasonsOf(model, {}))[0] ?? '', /^SecretUnavailable: /);
    const early = { shell: 'sh', onError: 'Fail', timeoutMs: 1, commands: ['true'], frequency: 'Once' } as const;
    const hooked = { ...model, host: { ...model.host, hooks: { ...model.host.hooks, early } } };
    assert.deepEqual(await reasonsOf(hooked, {}), []);
    await assert.rejects(
      runStep(proxy, memoryHost(), hooked),
      (error) => error instanceof MachineadmError && error.reason === 'SecretUnavailable',
    );
  });

  test('never shows its credentials: not in a plan, not in what anybody prints later', async () => {
    const host = memoryHost(RUNNING);
    const changes = await planned(proxy, host, documentOf({ http: literal('http://kr4y:s3cr%65t99@proxy.example') }));
    assert.doesNotMatch(JSON.stringify(changes), /s3cr|kr4y/);
    assert.doesNotMatch(redact('407 for kr4y:s3cr%65t99 and s3cret99'), /s3cr/);
  });
});
