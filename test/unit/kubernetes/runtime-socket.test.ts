import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { runtimeService, runtimeSockets, socketOfMachine } from '../../../src/host/linux/runtime-sockets.ts';
import { ambiguousRuntime, located, runtimeSocket } from '../../../src/kubernetes/runtime-socket.ts';
import { containerdModel } from '../../support/containerd-model.ts';
import { kubernetesModel } from '../../support/kubernetes-model.ts';
import { memoryHost } from '../../support/memory-host.ts';

const CONTAINERD = 'unix:///run/containerd/containerd.sock';
const CRIO = 'unix:///run/crio/crio.sock';
const facts = (...found: readonly string[]) => ({ platform: 'linux', runtimeSockets: found }) as const;

describe('the socket of the container runtime', () => {
  const undecided = {
    containerd: undefined,
    kubernetes: kubernetesModel({ role: 'Worker', node: { criSocket: undefined } }),
  };
  const chosen = (path: string) => ({
    ...undecided,
    kubernetes: { ...undecided.kubernetes, node: { ...undecided.kubernetes.node, criSocket: path } },
  });
  const own = { ...undecided, containerd: containerdModel({}) };

  for (const [what, model, found, expected] of [
    ['is that of the document', chosen('unix:///run/mine.sock'), [CRIO], 'unix:///run/mine.sock'],
    [
      'is where the containerd of the document listens',
      { ...own, containerd: containerdModel({ settings: { grpc: { address: '/run/x.sock' } } }) },
      [CRIO],
      '/run/x.sock',
    ],
    ['is that of the containerd which the document configures', own, [CRIO], CONTAINERD],
    ['is that of the one runtime of the machine', undecided, [CRIO], CRIO],
    ['is that of containerd on a machine without a runtime yet', undecided, [], CONTAINERD],
  ] as const) {
    test(what, () => {
      assert.equal(runtimeSocket(model, facts(...found)), expected);
      const here = located(model.kubernetes, model, facts(...found));
      assert.equal(here.node.criSocket, model.kubernetes.node.criSocket ?? expected);
      assert.equal(ambiguousRuntime(model, facts(...found)), undefined);
    });
  }

  test('is a pipe on Windows', () => {
    assert.equal(runtimeSocket(undecided, { platform: 'windows' }), 'npipe:////./pipe/containerd-containerd');
  });

  test('of several is nobody’s guess, unless the document decides', () => {
    assert.deepEqual(ambiguousRuntime(undecided, facts(CONTAINERD, CRIO)), [CONTAINERD, CRIO]);
    assert.equal(ambiguousRuntime(chosen(CRIO), facts(CONTAINERD, CRIO)), undefined);
    assert.equal(ambiguousRuntime(own, facts(CONTAINERD, CRIO)), undefined);
  });

  test('names the service', () => {
    assert.deepEqual([CONTAINERD, CRIO, 'unix:///var/run/cri-dockerd.sock', '/run/x.sock'].map(runtimeService), [
      'containerd',
      'crio',
      'cri-docker',
      'containerd',
    ]);
  });
});

describe('the runtimes of a machine', () => {
  for (const [what, files, programs, expected] of [
    [
      'one that runs counts more than one that is only installed',
      ['/run/crio/crio.sock'],
      ['containerd', 'crio'],
      [CRIO],
    ],
    ['none runs yet: the installed one', [], ['crio'], [CRIO]],
    ['both run', ['/run/crio/crio.sock', '/run/containerd/containerd.sock'], [], [CONTAINERD, CRIO]],
    ['none', [], [], []],
  ] as const) {
    test(what, async () => {
      const host = memoryHost({
        files: Object.fromEntries(files.map((path) => [path, ''])),
        programs: Object.fromEntries(programs.map((name) => [name, () => ({})])),
      });
      assert.deepEqual(await runtimeSockets(host), expected);
      assert.equal(await socketOfMachine(host, 'linux'), expected[0] ?? CONTAINERD);
    });
  }
});
