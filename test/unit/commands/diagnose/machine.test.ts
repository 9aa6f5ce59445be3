import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { failureOf } from '@machineadm/failures/verdict.ts';
import { verdictOnMachine } from '../../../../src/commands/diagnose/machine.ts';
import { nodeCheckGroups, nodeChecks } from '../../../../src/commands/doctor/run.ts';
import { runCheckGroups } from '../../../../src/diagnosis/checks/finding.ts';
import { checkKubelet } from '../../../../src/diagnosis/checks/kubelet.ts';
import { parseServiceState } from '../../../../src/host/linux/systemd.ts';
import {
  kubeconfig,
  type NodeWish,
  newAuthority,
  nodeObject,
  startApiServer,
  startHealthz,
} from '../../../support/api-server.ts';
import { facts } from '../../../support/facts.ts';
import { type MemoryMachine, memoryHost } from '../../../support/memory-host.ts';
import { FAILURE, statusAfter } from '../../reporting/runs.ts';

const SELF = facts({ machineId: 'm1', hostname: 'node-1' });
const FAILED = statusAfter({ kind: 'concluded', conclusion: { outcome: 'Failed', exitCode: 11, failure: FAILURE } });
const SUCCEEDED = statusAfter(
  { kind: 'planned', steps: ['kubeadm', 'readiness'] },
  { kind: 'concluded', conclusion: { outcome: 'Succeeded', exitCode: 0 } },
);
const NODE: MemoryMachine = {
  files: {
    '/proc/stat': 'btime 1795168800\n',
    '/etc/kubernetes/kubelet.conf': 'clusters: []\n',
    '/var/lib/kubelet/config.yaml': 'healthzPort: 1\n',
  },
};

describe('the verdict on a machine', () => {
  test('after a run that failed is that of its status, for diagnose and for doctor', async () => {
    const verdict = await verdictOnMachine(memoryHost(NODE), SELF, FAILED);
    assert.ok(verdict !== undefined);
    const { step: _, ...failure } = FAILURE;
    assert.deepEqual(failureOf(verdict), failure);
    const [check] = nodeChecks(verdict, FAILED, 'attempted', false);
    assert.deepEqual([check?.severity, check?.reason], ['failed', FAILURE.reason]);
    assert.match(check?.text ?? '', /^the last run failed: Swap is on\./);
  });

  test('after a run that failed has the chain of causes of its status', async () => {
    const causes = ['SwapEnabled', 'KubeletNotHealthy'];
    const failed = statusAfter({
      kind: 'concluded',
      conclusion: { outcome: 'Failed', exitCode: 11, failure: { ...FAILURE, causes } },
    });
    assert.deepEqual((await verdictOnMachine(memoryHost(NODE), SELF, failed))?.causes, causes);
    assert.deepEqual(failed.failure?.causes, causes);
  });

  test('that an earlier run made a node, and that no longer works, is what a run would report now', async () => {
    const verdict = await verdictOnMachine(memoryHost(NODE), SELF, SUCCEEDED);
    assert.equal(verdict?.outcome, 'failure');
    assert.equal(verdict?.reason, 'KubeletNotHealthy');
    assert.equal(verdict?.retryable, true);
    assert.match(verdict?.summary ?? '', /^The kubelet is not healthy: http:\/\/127\.0\.0\.1:1\/healthz/);
    const [check] = nodeChecks(verdict, SUCCEEDED, 'broken node', true);
    assert.deepEqual([check?.severity, check?.reason], ['failed', 'KubeletNotHealthy']);
    assert.match(check?.remedy ?? '', /may succeed later/);
  });

  test('names the cause in the logs, as the run does', async () => {
    const journal = JSON.stringify({ MESSAGE: 'running with swap on is not supported', SYSLOG_IDENTIFIER: 'kubelet' });
    const host = memoryHost({
      ...NODE,
      programs: { journalctl: ({ args }) => ({ stdout: args.includes('kubelet.service') ? journal : '' }) },
    });
    assert.equal((await verdictOnMachine(host, SELF, SUCCEEDED))?.reason, 'SwapEnabled');
  });

  test('of a node whose kubelet was stopped is that, whatever the run printed that made it', async () => {
    const printed = JSON.stringify({
      MESSAGE: 'provision of node-1 succeeded in 1 m',
      SYSLOG_IDENTIFIER: 'machineadm',
    });
    const host = memoryHost({
      ...NODE,
      services: { kubelet: parseServiceState('LoadState=loaded\nActiveState=inactive\nResult=success\n', 0) },
      programs: { journalctl: ({ args }) => ({ stdout: args.includes('machineadm') ? printed : '' }) },
    });
    const verdict = await verdictOnMachine(host, SELF, SUCCEEDED);
    assert.deepEqual([verdict?.reason, verdict?.retryable], ['KubeletStopped', true]);
    assert.deepEqual(verdict?.causes, ['KubeletStopped', 'KubeletNotHealthy']);
    assert.deepEqual(
      (await checkKubelet(host, 0)).map(({ severity, reason }) => [severity, reason]),
      [['failed', 'KubeletStopped']],
    );
  });

  test('checks a node against its document, with the journal', async () => {
    const records = [
      { is: 'instance', version: 1, identity: { machineId: 'm1' } },
      { is: 'run', run: 'r', command: 'provision', agent: 'x', document: 'd', lasting: 'l', bootId: 'b', at: 'now' },
      { is: 'done', step: 'readiness', change: 'readiness/KubeletHealthy' },
    ];
    await using healthz = await startHealthz();
    const files = {
      ...NODE.files,
      '/var/lib/kubelet/config.yaml': `healthzPort: ${healthz.port}\n`,
      '/var/lib/machineadm/journal': records.map((record) => `${JSON.stringify(record)}\n`).join(''),
    };
    assert.equal((await verdictOnMachine(memoryHost({ files }), SELF, SUCCEEDED))?.outcome, 'success');
    const { '/var/lib/machineadm/journal': _, ...unknown } = files;
    assert.equal(
      (await verdictOnMachine(memoryHost({ files: unknown }), SELF, SUCCEEDED))?.reason,
      'NodeNotRegistered',
    );
  });

  test('is a success where the run made no node', async () => {
    const status = statusAfter({ kind: 'concluded', conclusion: { outcome: 'Succeeded', exitCode: 0 } });
    assert.equal((await verdictOnMachine(memoryHost(), SELF, status))?.outcome, 'success');
  });

  test('does not exist without an earlier run, nor from a status that was cloned with the disk', async () => {
    assert.equal(await verdictOnMachine(memoryHost(), SELF, undefined), undefined);
    assert.equal(await verdictOnMachine(memoryHost(), { ...SELF, machineId: 'other' }, FAILED), undefined);
  });

  test('is what the exit status of kubeadm says, where that is given', async () => {
    assert.equal((await verdictOnMachine(memoryHost(NODE), SELF, FAILED, 0))?.outcome, 'success');
    assert.equal((await verdictOnMachine(memoryHost(), SELF, undefined, 1))?.reason, 'Unknown');
  });
});

describe('doctor on a node', () => {
  const examined = async (wish: NodeWish) => {
    const authority = newAuthority();
    await using healthz = await startHealthz();
    await using server = await startApiServer(authority, () =>
      nodeObject({ machineID: SELF.machineId, bootID: SELF.bootId, ...wish }),
    );
    const host = memoryHost({
      files: {
        '/var/lib/kubelet/config.yaml': `healthzPort: ${healthz.port}\n`,
        '/etc/kubernetes/kubelet.conf': kubeconfig(
          server.url,
          authority.certificate,
          authority.issue('system:node:node-1'),
        ),
      },
      services: { kubelet: { active: true, enabled: true } },
    });
    const checks = await runCheckGroups(nodeCheckGroups(host, SELF), 10_000);
    return checks.map(({ id, severity, reason }) => [id, severity, reason]);
  };

  test('asks whether its kubelet runs and its Node is Ready; without a pod network that is a warning', async () => {
    const kubelet = ['node/kubelet', 'passed', undefined];
    assert.deepEqual(await examined({ ready: 'True' }), [kubelet, ['node/ready', 'passed', undefined]]);
    const message = 'NetworkReady=false reason:NetworkPluginNotReady message: cni config uninitialized';
    assert.deepEqual(await examined({ ready: 'False', message }), [kubelet, ['node/ready', 'warning', 'NodeNotReady']]);
    assert.deepEqual(await examined({ ready: 'False', message: 'PLEG is not healthy' }), [
      kubelet,
      ['node/ready', 'failed', 'NodeNotReady'],
    ]);
  });

  test('is not checked where the machine is no node', async () => {
    assert.deepEqual(await runCheckGroups(nodeCheckGroups(memoryHost(), SELF), 10_000), []);
  });
});
