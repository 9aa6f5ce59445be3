import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { Secret } from '@machineadm/document/secrets/secret.ts';
import { parseJournalLine } from '@machineadm/failures/journal-entry.ts';
import { failureOf } from '@machineadm/failures/verdict.ts';
import { collect } from '../../../src/diagnosis/collect.ts';
import { type DiagnosisContext, diagnose, verdictOn } from '../../../src/diagnosis/index.ts';
import type { CriContainer } from '../../../src/host/cri/queries.ts';
import { type MemoryProgram, memoryHost } from '../../support/memory-host.ts';

const BEGAN = Date.parse('2026-11-20T10:00:00Z');
const CONTEXT: DiagnosisContext = {
  since: { realTimeMs: BEGAN },
  role: 'InitControlPlane',
  criSocket: 'unix:///run/containerd/containerd.sock',
  endpoint: 'api.prod.example:6443',
};

function kubeadmFailed(lines: readonly string[]): MachineadmError {
  return new MachineadmError({
    reason: 'BootstrapperFailed',
    summary: 'kubeadm init ended with status 1',
    remedy: 'Read what kubeadm printed.',
    transcript: lines.map((text) => ({ source: 'kubeadm', text })),
  });
}

/** A journalctl that has these messages of each unit. */
function journalctl(units: Readonly<Record<string, readonly string[]>>): MemoryProgram {
  return (command) => {
    const unit = command.args[command.args.indexOf('-u') + 1] ?? '';
    const entries = (units[unit] ?? []).map((MESSAGE) => JSON.stringify({ MESSAGE, SYSLOG_IDENTIFIER: 'kubelet' }));
    return { stdout: entries.join('\n') };
  };
}

const UNHEALTHY = [
  '[kubelet-start] Starting the kubelet',
  '[kubelet-check] The kubelet is not healthy after 4m0s',
  'error: error execution phase wait-control-plane: could not initialize a Kubernetes cluster',
];

const EXITED_ETCD: CriContainer = {
  id: '1',
  name: 'etcd',
  namespace: 'kube-system',
  attempt: 0,
  reason: 'Error',
  exitCode: 1,
  finishedAtMs: BEGAN + 5000,
  logPath: '/var/log/pods/kube-system_etcd-cp-1_x/etcd/0.log',
};

describe('a failure of kubeadm is explained', () => {
  test('by the journal of the kubelet, where kubeadm only saw the symptom', async () => {
    const host = memoryHost({
      programs: {
        journalctl: journalctl({
          'kubelet.service': ['"command failed" err="failed to run Kubelet: running with swap on is not supported"'],
        }),
      },
    });
    const failure = await diagnose(host, kubeadmFailed(UNHEALTHY), CONTEXT);
    assert.equal(failure.reason, 'SwapEnabled');
    assert.match(failure.summary, /^Swap is on .* kubeadm init ended with status 1\.$/);
    assert.deepEqual(failure.evidence[0], {
      source: 'journal of kubelet',
      text: '"command failed" err="failed to run Kubelet: running with swap on is not supported"',
    });
    assert.ok(failure.evidence.some((item) => item.source === 'kubeadm'));
    assert.match(failure.remedy, /host\.swap/);
  });

  test('by the last lines of an exited container', async () => {
    const etcd = EXITED_ETCD;
    const old = { ...etcd, id: '2', finishedAtMs: BEGAN - 1, logPath: '/var/log/pods/old/0.log' };
    const host = memoryHost({
      files: {
        [etcd.logPath]: '2026-11-20T10:00:05.0Z stderr F listen tcp 127.0.0.1:2381: bind: address already in use\n',
        [old.logPath]: '2026-11-20T09:00:05.0Z stderr F create wal error: no space left on device\n',
      },
      cri: { exitedContainers: async () => [etcd, old] },
    });
    const failure = await diagnose(host, kubeadmFailed(UNHEALTHY), CONTEXT);
    assert.equal(failure.reason, 'PortInUse');
    assert.equal(failure.evidence[0]?.source, 'log of container etcd');
  });

  test('by the line with which a Go program ends, however long the stacks after it', async () => {
    const line = (text: string) => `2026-11-20T10:00:05.0Z stderr F ${text}\n`;
    const stacks = Array.from({ length: 200 }, (_, at) => line(`r${at}     0x0`)).join('');
    const log = `${line('runtime/cgo: pthread_create failed: Resource temporarily unavailable')}${stacks}`;
    const etcd = { ...EXITED_ETCD, exitCode: 2 };
    const host = memoryHost({ files: { [etcd.logPath]: log }, cri: { exitedContainers: async () => [etcd] } });
    assert.equal((await diagnose(host, kubeadmFailed(UNHEALTHY), CONTEXT)).reason, 'ProcessLimitReached');
  });

  test('with the endpoint of the document, where it is about the endpoint', () => {
    const error = kubeadmFailed([]);
    const text =
      'error execution phase preflight: Get "https://api.prod.example:6443/api/v1/namespaces/kube-public/configmaps/cluster-info?timeout=10s": dial tcp 10.0.0.10:6443: connect: connection refused';
    const failure = failureOf(
      verdictOn(error, [{ source: 'kubeadm', origin: 'kubeadm', text }], 'api.prod.example:6443'),
    );
    assert.equal(failure.reason, 'APIEndpointConnectionRefused');
    assert.equal(failure.retryable, true);
    assert.deepEqual(failure.evidence[1], { source: 'document', text: 'the API endpoint is api.prod.example:6443' });
  });

  test("never by a name that nothing proves: kubeadm's own last error is the evidence", async () => {
    const failure = await diagnose(
      memoryHost(),
      kubeadmFailed([
        '[addons] Applied essential addon: CoreDNS',
        'error execution phase addon/kube-proxy: unable to create daemonset: the moon is in the wrong house',
        'To see the stack trace of this error execute with --v=5 or higher',
      ]),
      CONTEXT,
    );
    assert.equal(failure.reason, 'BootstrapperFailed');
    assert.deepEqual(failure.evidence, [
      {
        source: 'kubeadm',
        text: 'error execution phase addon/kube-proxy: unable to create daemonset: the moon is in the wrong house',
      },
    ]);
  });

  test('without a secret, wherever it was', async () => {
    const secret = new Secret('correct-horse-battery');
    const failure = await diagnose(
      memoryHost(),
      kubeadmFailed([
        `error execution phase preflight: the bootstrap token "${secret.reveal()}" was not of the form "x"`,
      ]),
      CONTEXT,
    );
    assert.equal(failure.reason, 'BootstrapTokenMalformed');
    assert.ok(!JSON.stringify(failure).includes(secret.reveal()));
  });

  test('in at most twelve lines of at most 500 characters', () => {
    const long = 'x'.repeat(4000);
    const lines = Array.from({ length: 40 }, (_, index) => `[ERROR Check${index}]: ${long}`);
    const failure = verdictOn(
      kubeadmFailed([]),
      [...lines, 'error: error execution phase preflight: preflight checks failed'].map((text) => ({
        source: 'kubeadm' as const,
        origin: 'kubeadm',
        text,
      })),
    );
    assert.ok(failure.evidence.length <= 12);
    for (const item of failure.evidence) assert.ok(item.text.length <= 501);
  });
});

describe('an error keeps its reason if', () => {
  test('it names its cause already; the machine is not even inspected', async () => {
    const host = memoryHost();
    const error = new MachineadmError({ reason: 'HookFailed', summary: 'early hook 2 failed', remedy: 'Correct it.' });
    const failure = await diagnose(host, error, CONTEXT);
    assert.equal(failure.reason, 'HookFailed');
    assert.deepEqual(host.queries, []);
  });

  test('a deadline passed: the cause is reported in addition', () => {
    const error = new MachineadmError({
      reason: 'DeadlinePassed',
      summary: 'the run took too long',
      remedy: 'Raise it.',
    });
    const failure = verdictOn(error, [
      {
        source: 'containerd',
        origin: 'journal of containerd',
        text: 'failed to extract layer: no space left on device',
      },
    ]);
    assert.equal(failure.reason, 'DeadlinePassed');
    assert.match(failure.evidence[0]?.text ?? '', /no space left/);
    assert.match(failure.remedy, /file system .*Raise it/);
  });
});

describe('the collectors', () => {
  test('continue when one of them fails, and when containerd is down', async () => {
    const host = memoryHost({
      programs: { journalctl: journalctl({ 'containerd.service': ['containerd: failed to load TOML: x'] }) },
      cri: {
        exitedContainers: () => Promise.reject(new Error('connect ENOENT')),
      },
    });
    const lines = await collect(host, CONTEXT);
    assert.ok(lines.some((line) => line.text.includes('failed to load TOML')));
  });

  test('end at their deadline, with what the others found', async () => {
    const host = memoryHost({
      cri: { exitedContainers: () => new Promise(() => {}) },
      services: { kubelet: { active: true } },
    });
    const lines = await collect(host, { ...CONTEXT, deadlineMs: 100 });
    assert.ok(lines.some((line) => line.text.startsWith('kubelet.service: active')));
  });

  test('read from the journal only entries since the run began, and a bounded number of lines', async () => {
    const host = memoryHost({ programs: { journalctl: journalctl({}) } });
    await collect(host, CONTEXT);
    const kubelet = host.queries.find((query) => query.includes('-u kubelet.service')) ?? '';
    assert.match(kubelet, / --since @1795168800 -n 2000 /);
    await collect(host, { ...CONTEXT, since: { cursor: 's=1;i=2' } });
    assert.ok(host.queries.some((query) => query.includes('--after-cursor s=1;i=2')));
  });

  test('do not call a container runtime on a worker: it has no static pods', async () => {
    let asked = false;
    const exitedContainers = async (): Promise<readonly CriContainer[]> => {
      asked = true;
      return [];
    };
    await collect(memoryHost({ cri: { exitedContainers } }), { ...CONTEXT, role: 'Worker' });
    assert.equal(asked, false);
  });
});

describe('an entry of the journal', () => {
  test('may hold a message as bytes, where it is not UTF-8', () => {
    assert.equal(parseJournalLine('{"MESSAGE":[104,105],"SYSLOG_IDENTIFIER":"kubelet"}')?.message, 'hi');
  });
  test('may be cut: it is left out', () => assert.equal(parseJournalLine('{"MESSAGE":"half'), undefined));
  test('may have no message', () => assert.equal(parseJournalLine('{"MESSAGE":null}'), undefined));
});
