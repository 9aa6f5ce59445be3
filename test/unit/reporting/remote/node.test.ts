import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { NodeSinkModel } from '@machineadm/document/model/index.ts';
import { reportEvent } from '@machineadm/status/event.ts';
import { nodeSink } from '../../../../src/reporting/remote/node.ts';
import { kubeconfig, newAuthority } from '../../../support/api-server.ts';
import { deliveryContext } from '../../../support/delivery.ts';
import { startServer } from '../../../support/http-servers.ts';
import { memoryHost } from '../../../support/memory-host.ts';
import { at, statusAfter } from '../runs.ts';

const authority = newAuthority();
const kubelet = authority.issue('system:node:node-1');
const PATH = '/etc/kubernetes/kubelet.conf';
const MODEL: NodeSinkModel = {
  kind: 'Node',
  name: 'Node',
  events: ['concluded'],
  timeoutMs: 1_000,
  kubeconfig: undefined,
};
const EVENT = reportEvent(
  { kind: 'concluded', status: statusAfter({ kind: 'concluded', conclusion: { outcome: 'Succeeded', exitCode: 0 } }) },
  3,
  at(9),
);

describe('a report on its own Node', () => {
  test('is a patch of the status of the Node that the kubelet’s certificate names', async () => {
    const bodies: string[] = [];
    const identity = authority.issue('kube-apiserver', ['127.0.0.1']);
    await using server = await startServer((_, body) => {
      bodies.push(body);
      return { body: '{}' };
    }, identity);
    const host = memoryHost({ files: { [PATH]: kubeconfig(server.url, authority.certificate, kubelet) } });
    assert.deepEqual(await nodeSink(MODEL, host).deliver(EVENT, deliveryContext()), { kind: 'delivered' });
    assert.deepEqual(server.requests, ['PATCH /api/v1/nodes/node-1/status?fieldManager=machineadm&force=true']);
    const { metadata, status } = JSON.parse(bodies[0] ?? '');
    assert.deepEqual(status.conditions, [
      {
        type: 'machineadm.dev/BootstrapSucceeded',
        status: 'True',
        reason: 'Succeeded',
        message: '',
        lastTransitionTime: '2026-11-20T10:00:01Z',
        lastHeartbeatTime: '2026-11-20T10:00:09Z',
      },
    ]);
    assert.deepEqual(Object.keys(metadata.annotations), ['machineadm.dev/report']);
  });

  for (const [what, files, why] of [
    ['has joined no cluster', {}, /kubelet\.conf does not exist: this machine has joined no cluster yet/],
    ['has half a kubeconfig', { [PATH]: 'apiVersion: v1\nclusters: [' }, /not valid YAML/],
    [
      'is known to its cluster by no node’s name',
      { [PATH]: kubeconfig('https://127.0.0.1:1', authority.certificate, authority.issue('kubernetes-admin')) },
      /names no node/,
    ],
  ] as const) {
    test(`waits while the machine ${what}`, async () => {
      const result = await nodeSink(MODEL, memoryHost({ files })).deliver(EVENT, deliveryContext());
      assert.match(result.kind === 'retry' ? result.why : '', why);
    });
  }
});
