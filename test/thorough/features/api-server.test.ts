import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ApiServerFilesModel, Argument, KubernetesModel, Model } from '@machineadm/document/model/index.ts';
import type { SecretValue } from '@machineadm/document/secrets/secret.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { apiServerComponent } from '@machineadm/kubeadm/api-server-component.ts';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { apiServer } from '../../../src/features/api-server/index.ts';
import type { CriContainer } from '../../../src/host/cri/queries.ts';
import { apiServerFiles } from '../../../src/kubernetes/api-server/files.ts';
import { TRANSACTION } from '../../../src/kubernetes/api-server/transaction.ts';
import { EMPTY_RECORD, type StepRecord } from '../../../src/step/index.ts';
import { kubeconfig, newAuthority, startApiServer } from '../../support/api-server.ts';
import { facts } from '../../support/facts.ts';
import { hostModel } from '../../support/host-model.ts';
import { inlineSecret, kubernetesModel, PLAIN_API_SERVER, revealInline } from '../../support/kubernetes-model.ts';
import { type MemoryHost, memoryHost } from '../../support/memory-host.ts';
import { planned, runStep } from '../../support/run-step.ts';

const MANIFEST = '/etc/kubernetes/manifests/kube-apiserver.yaml';
const ROOT = '/run/machineadm/api-server';
const POLICY = '/etc/kubernetes/audit-policy.yaml';
const DONE: StepRecord = { ...EMPTY_RECORD, bootstrap: 'done' };
const FACTS = facts({ kubeadm: parseVersion('v1.30.4') });
const KEY = Buffer.alloc(32, 7).toString('base64');

interface Asked extends Partial<ApiServerFilesModel> {
  readonly args?: readonly Argument[];
}

function kubernetesOf(asked: Asked): KubernetesModel {
  const { controlPlane } = kubernetesModel();
  const api = { ...PLAIN_API_SERVER, ...asked };
  const timeouts = { controlPlaneMs: 8_000 };
  return kubernetesModel({ version: 'v1.30.4', controlPlane: { ...controlPlane, apiServer: api }, timeouts });
}

const modelOf = (asked: Asked): Model => ({ ...hostModel(), kubernetes: kubernetesOf(asked) });
const audit = (level: string) => ({ policy: { rules: [{ level }] }, log: undefined, webhook: undefined });
const secretbox = (key: SecretValue) => ({
  resources: ['secrets'],
  providers: [{ kind: 'secretbox', keys: [{ name: 'key1', key }] } as const, { kind: 'identity' } as const],
});

interface ControlPlane extends AsyncDisposable {
  readonly host: MemoryHost;
  /** The command line of the API server that runs; undefined = none does. */
  running(): readonly string[] | undefined;
  /** What kubeadm recorded in the cluster, parsed. */
  recorded(): { apiServer?: { extraArgs?: Record<string, string> } } | undefined;
}

/**
 * A control plane in memory that runs with what `asked` says: kubeadm renders manifests, and the kubelet runs what lies in
 * the directory of manifests as a process, which answers over a real socket. What `--crash` is said to ends at once.
 *
 * @param refusals how often it refuses before it has read the roles of its cluster
 */
async function controlPlane(asked: Asked, refusals = 0): Promise<ControlPlane> {
  const authority = newAuthority();
  let up = false;
  let left = refusals;
  const cluster = stringify({
    apiVersion: 'kubeadm.k8s.io/v1beta3',
    kind: 'ClusterConfiguration',
    apiServer: {
      extraArgs: Object.fromEntries(
        apiServerComponent(kubernetesOf(asked).controlPlane.apiServer).args.map(({ name, value }) => [name, value]),
      ),
    },
  });
  const server = await startApiServer(authority, (path) => {
    if (path === '/readyz') return up ? { ok: true } : { status: 500 };
    if (path.endsWith('/kubeadm-config') && left-- > 0) return { status: 403 };
    if (path.endsWith('/kubeadm-config')) return { data: { ClusterConfiguration: cluster } };
    return undefined;
  });
  const endpoint = server.url.slice('https://'.length);
  const manifestOf = (args: Readonly<Record<string, string>>, volumes: readonly { name: string; hostPath: string }[]) =>
    stringify({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { annotations: { 'kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint': endpoint } },
      spec: {
        containers: [
          { command: ['kube-apiserver', ...Object.entries(args).map(([name, value]) => `--${name}=${value}`)] },
        ],
        volumes: volumes.map(({ name, hostPath }) => ({ name, hostPath: { path: hostPath } })),
      },
    });

  let pid = 100;
  let recorded: string | undefined;
  const exited: CriContainer[] = [];
  const kubelet = (host: MemoryHost, manifest: string) => {
    host.take(`/proc/${pid}/cmdline`);
    host.take(`/proc/${pid}/stat`);
    pid += 1;
    const command: string[] = parse(manifest).spec.containers[0].command;
    up = !command.some((word) => word.startsWith('--crash='));
    if (up) {
      host.put(`/proc/${pid}/cmdline`, `${command.join('\0')}\0`);
      host.put(
        `/proc/${pid}/stat`,
        `${pid} (kube-apiserver) S ${Array.from({ length: 18 }, () => 0).join(' ')} ${pid} 0`,
      );
      return;
    }
    host.put(
      '/var/log/pods/api/0.log',
      '2026-11-20T22:00:00Z stderr F Error: unknown flag: --crash\n2026-11-20T22:00:00Z stderr F Usage:\n',
    );
    for (const id of ['a', 'b', 'c']) {
      exited.push({
        ...{
          id,
          name: 'kube-apiserver',
          namespace: 'kube-system',
          attempt: 0,
          reason: 'Error',
          exitCode: 1,
        },
        ...{ finishedAtMs: Date.now() + 1, logPath: '/var/log/pods/api/0.log' },
      });
    }
  };

  const host = memoryHost({
    files: {
      '/etc/kubernetes/kubelet.conf': kubeconfig(server.url, authority.certificate, authority.issue('system:node:cp1')),
      '/proc/1/cmdline': 'init\0',
    },
    programs: {
      kubeadm: ({ args }, machine) => {
        const file = args.find((word) => word.startsWith('--config='))?.slice('--config='.length) ?? '';
        if (args.includes('upload-config')) recorded = machine.text(file);
        if (!args.includes('control-plane')) return {};
        assert.ok(args.includes(`--rootfs=${ROOT}`), args.join(' '));
        const [configuration] = parseAllDocuments(machine.text(`${ROOT}${file}`) ?? '');
        const { extraArgs = {}, extraVolumes = [] } = configuration?.toJS().apiServer ?? {};
        if (extraArgs.refused !== undefined) return { status: 1, stderr: 'error: kubeadm will not have it\n' };
        machine.put(`${ROOT}${MANIFEST}`, manifestOf(extraArgs, extraVolumes));
        return {};
      },
    },
    cri: { exitedContainers: async () => exited },
  });
  const write = host.writeFile.bind(host);
  host.writeFile = async (file) => {
    await write(file);
    if (file.path === MANIFEST) kubelet(host, String(host.text(MANIFEST)));
  };
  const kubernetes = kubernetesOf(asked);
  const { args, volumes } = apiServerComponent(kubernetes.controlPlane.apiServer);
  for (const { path, content, mode } of apiServerFiles(kubernetes, revealInline)) host.put(path, { content, mode });
  const first = manifestOf(Object.fromEntries(args.map(({ name, value }) => [name, value])), volumes);
  host.put(MANIFEST, { content: first, mode: 0o600 });
  kubelet(host, first);
  return {
    host,
    running: () => (up ? host.text(`/proc/${pid}/cmdline`)?.split('\0').slice(0, -1) : undefined),
    recorded: () => (recorded === undefined ? undefined : parseAllDocuments(recorded)[0]?.toJS()),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** The record after a first run of the step with this document. */
async function afterFirstRun({ host }: ControlPlane, model: Model): Promise<StepRecord> {
  const run = await runStep(apiServer, host, model, { facts: FACTS, record: DONE });
  assert.deepEqual(run.left, []);
  return { ...DONE, notes: run.notes };
}

const withFacts = (record: StepRecord) => ({ facts: FACTS, record });

describe('the API server of a control plane', { concurrency: true }, () => {
  test('is none of a worker, nor of a program of its own', () => {
    assert.equal(
      apiServer.desired({ ...hostModel(), kubernetes: kubernetesModel({ role: 'Worker' }) }, FACTS),
      undefined,
    );
  });

  test('is planned before kubeadm has made it', async () => {
    const [change] = await planned(apiServer, memoryHost(), modelOf({ audit: audit('None') }), { facts: FACTS });
    assert.deepEqual([change?.id, change?.knownAfter], ['api-server/configuration', 'kubeadm']);
  });

  test('is proved to serve after kubeadm, and then nothing is left to do', async () => {
    const model = modelOf({ audit: audit('None') });
    await using machine = await controlPlane({ audit: audit('None') });
    const record = await afterFirstRun(machine, model);
    assert.deepEqual(machine.host.log, [], 'nothing was changed for that');
    assert.deepEqual(await planned(apiServer, machine.host, model, withFacts(record)), []);
  });

  test('that does not serve fails the run', async () => {
    const asked = { args: [{ name: 'crash', value: '1' }] };
    await using machine = await controlPlane(asked);
    await assert.rejects(afterFirstRun(machine, modelOf(asked)), {
      reason: 'ControlPlaneComponentNotHealthy',
      exit: 'BootstrapperFailed',
    });
  });

  test('gets another configuration when the document changes, files before the manifest', async () => {
    await using machine = await controlPlane({ audit: audit('None') });
    const record = await afterFirstRun(machine, modelOf({ audit: audit('None') }));
    const changed = modelOf({ audit: audit('Metadata'), args: [{ name: 'profiling', value: 'false' }] });
    const [change] = await planned(apiServer, machine.host, changed, withFacts(record));
    assert.equal(
      change?.summary,
      'give the API server another configuration: the argument profiling is new; /etc/kubernetes/audit-policy.yaml: another content',
    );
    const run = await runStep(apiServer, machine.host, changed, withFacts(record));
    assert.deepEqual(run.left, []);
    assert.ok(machine.running()?.includes('--profiling=false'));
    const { log } = machine.host;
    const writes = log.filter((line) => line.startsWith('write /etc') || line.startsWith('remove /etc'));
    assert.deepEqual(writes, [
      `write ${TRANSACTION} 0600 0:0`,
      `write ${POLICY} 0600 0:0`,
      `write ${MANIFEST} 0600 0:0`,
      `remove ${TRANSACTION}`,
    ]);
    assert.equal(machine.recorded()?.apiServer?.extraArgs?.profiling, 'false', 'upgrades will keep it');
  });

  test('loses what the document asks for no more, and its files', async () => {
    await using machine = await controlPlane({ audit: audit('None'), args: [{ name: 'v', value: '2' }] });
    const record = await afterFirstRun(machine, modelOf({ audit: audit('None'), args: [{ name: 'v', value: '2' }] }));
    const run = await runStep(apiServer, machine.host, modelOf({}), withFacts(record));
    assert.deepEqual(run.left, []);
    assert.deepEqual(machine.running(), ['kube-apiserver']);
    assert.equal(machine.host.text(POLICY), undefined);
  });

  test('is given an argument though the document never set one before', async () => {
    await using machine = await controlPlane({});
    const record = await afterFirstRun(machine, modelOf({}));
    await runStep(apiServer, machine.host, modelOf({ args: [{ name: 'v', value: '4' }] }), withFacts(record));
    assert.ok(machine.running()?.includes('--v=4'));
  });

  test('that has just started, and refuses until it knows its roles, is asked again', async () => {
    await using machine = await controlPlane({}, 2);
    const record = await afterFirstRun(machine, modelOf({}));
    await runStep(apiServer, machine.host, modelOf({ args: [{ name: 'v', value: '4' }] }), withFacts(record));
    assert.ok(machine.running()?.includes('--v=4'));
  });

  test('that does not start is restored, and the last lines of its container are reported', async () => {
    await using machine = await controlPlane({ audit: audit('None') });
    const record = await afterFirstRun(machine, modelOf({ audit: audit('None') }));
    const before = [machine.host.text(POLICY), machine.host.text(MANIFEST)];
    const wrong = modelOf({ audit: audit('Metadata'), args: [{ name: 'crash', value: '1' }] });
    await assert.rejects(runStep(apiServer, machine.host, wrong, withFacts(record)), (error) => {
      assert.ok(error instanceof Error && 'reason' in error && 'evidence' in error);
      assert.equal(error.reason, 'APIServerNotReconfigured');
      assert.match(JSON.stringify(error.evidence), /unknown flag: --crash/);
      assert.match(error.message, /ended 3 times.*previous configuration is restored, and the API server serves/);
      return true;
    });
    assert.deepEqual([machine.host.text(POLICY), machine.host.text(MANIFEST)], before);
    assert.ok(machine.running());
    assert.equal(machine.host.text(TRANSACTION), undefined);
    const good = modelOf({ audit: audit('None') });
    assert.deepEqual(await planned(apiServer, machine.host, good, withFacts(record)), [], 'nothing is left of it');
  });

  test('that a killed run left half changed is finished by the next, from what was kept', async () => {
    await using machine = await controlPlane({ audit: audit('None') });
    const { host } = machine;
    const record = await afterFirstRun(machine, modelOf({ audit: audit('None') }));
    const killed = modelOf({ audit: audit('Request'), args: [{ name: 'crash', value: '1' }] });
    const write = host.writeFile.bind(host);
    host.writeFile = async (file) => {
      await write(file);
      if (file.path === MANIFEST) throw new Error('killed');
    };
    const restored = host.removeFile.bind(host);
    await assert.rejects(runStep(apiServer, host, killed, withFacts(record)), /killed/);
    host.writeFile = write;
    host.removeFile = restored;
    // A kill leaves no time to put anything back: the files of the killed run are here again.
    host.put(POLICY, { content: 'of the killed run', mode: 0o600 });
    assert.notEqual(host.text(TRANSACTION), undefined);

    const good = modelOf({ audit: audit('None') });
    const interrupted = { ...record, interrupted: new Set(['api-server/configuration']) };
    const run = await runStep(apiServer, host, good, withFacts(interrupted));
    assert.deepEqual(run.left, []);
    assert.match(host.text(POLICY) ?? '', /level: None/);
    assert.ok(machine.running());
    assert.equal(host.text(TRANSACTION), undefined);
  });

  test('that a killed run left half changed is put back where the next document is refused', async () => {
    await using machine = await controlPlane({ audit: audit('None') });
    const { host } = machine;
    const record = await afterFirstRun(machine, modelOf({ audit: audit('None') }));
    const before = host.text(MANIFEST) ?? '';
    const cluster = 'apiVersion: kubeadm.k8s.io/v1beta3';
    const kept = { files: [{ path: MANIFEST, content: before, mode: 0o600 }], cluster, processes: [] };
    host.put(TRANSACTION, { content: JSON.stringify(kept), mode: 0o600 });
    host.put(MANIFEST, { content: before.replace('kube-apiserver', 'kube-apiserver-broken'), mode: 0o600 });
    const interrupted = { ...record, interrupted: new Set(['api-server/configuration']) };
    const refused = modelOf({ args: [{ name: 'refused', value: '1' }] });
    await assert.rejects(runStep(apiServer, host, refused, withFacts(interrupted)), { reason: 'KubeadmConfigInvalid' });
    assert.equal(host.text(MANIFEST), before);
  });

  test('does not take what another machine kept for its own', async () => {
    await using machine = await controlPlane({ audit: audit('None') });
    const { host } = machine;
    const model = modelOf({ audit: audit('None') });
    const record = await afterFirstRun(machine, model);
    host.put(TRANSACTION, { content: '{"files": [], "cluster": "of another", "processes": []}', mode: 0o600 });
    assert.deepEqual(await planned(apiServer, host, model, withFacts(record)), []);
    await runStep(apiServer, host, modelOf({ audit: audit('Metadata') }), withFacts(record));
    assert.equal(host.text(TRANSACTION), undefined);
    assert.ok(!JSON.stringify(machine.recorded()).includes('of another'));
  });

  test('is not touched where kubeadm refuses', async () => {
    await using machine = await controlPlane({});
    const record = await afterFirstRun(machine, modelOf({}));
    const wrong = modelOf({ args: [{ name: 'refused', value: '1' }] });
    await assert.rejects(runStep(apiServer, machine.host, wrong, withFacts(record)), {
      reason: 'KubeadmConfigInvalid',
    });
    assert.deepEqual(
      machine.host.log.filter((line) => line.startsWith('write /etc')),
      [],
    );
  });

  test('keeps the key that what is in etcd is written with', async () => {
    const encrypted = { encryptionAtRest: secretbox(inlineSecret(KEY)) };
    await using machine = await controlPlane(encrypted);
    const record = await afterFirstRun(machine, modelOf(encrypted));
    await assert.rejects(runStep(apiServer, machine.host, modelOf({}), withFacts(record)), {
      reason: 'EncryptionKeyNeeded',
    });
    assert.deepEqual(
      machine.host.log.filter((line) => line.startsWith('write /etc')),
      [],
    );
  });

  test('needs its secrets no more while the document stays the same', async () => {
    const late: SecretValue = { name: 'secrets.key', source: { kind: 'file', path: '/run/secrets/key' } };
    await using machine = await controlPlane({ encryptionAtRest: secretbox(inlineSecret(KEY)) });
    machine.host.put('/run/secrets/key', KEY);
    const model = modelOf({ encryptionAtRest: secretbox(late) });
    const record = await afterFirstRun(machine, model);
    machine.host.take('/run/secrets/key');
    assert.deepEqual(await planned(apiServer, machine.host, model, withFacts(record)), []);
  });

  test('is corrected if a file was changed by hand', async () => {
    await using machine = await controlPlane({ audit: audit('None') });
    const model = modelOf({ audit: audit('None') });
    const record = await afterFirstRun(machine, model);
    machine.host.put(POLICY, { content: 'by hand', mode: 0o644 });
    const run = await runStep(apiServer, machine.host, model, withFacts(record));
    assert.deepEqual([run.changes.length, run.left], [1, []]);
    assert.match(machine.host.text(POLICY) ?? '', /level: None/);
  });
});
