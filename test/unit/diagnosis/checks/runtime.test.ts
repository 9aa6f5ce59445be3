import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { ownApiServer } from '../../../../src/diagnosis/checks/control-plane.ts';
import { checkRuntime } from '../../../../src/diagnosis/checks/runtime.ts';
import type { CriCondition, CriImage } from '../../../../src/host/cri/queries.ts';
import { type MemoryMachine, memoryHost } from '../../../support/memory-host.ts';

const SOCKET = 'unix:///run/c.sock';
const READY: CriCondition = { type: 'RuntimeReady', status: true, reason: '', message: '' };
const NO_NETWORK: CriCondition = { type: 'NetworkReady', status: false, reason: 'NoCNI', message: 'none' };
const IMAGE: CriImage = { id: 'i', tags: ['pause:3.10'], digests: ['pause@sha256:1'] };

interface Asked {
  readonly services?: MemoryMachine['services'];
  readonly runtimeName?: string;
  readonly runtimeVersion?: string;
  readonly conditions?: readonly CriCondition[];
  readonly images?: readonly string[];
  readonly willBeConfigured?: boolean;
  readonly kubelet?: string;
  readonly fails?: string;
}

async function found(asked: Asked) {
  const host = memoryHost({
    services: asked.services ?? { containerd: { active: true } },
    cri: {
      version: async () => {
        if (asked.fails !== undefined) throw new Error(asked.fails);
        return { runtimeName: asked.runtimeName ?? 'containerd', runtimeVersion: asked.runtimeVersion ?? 'v2.2.0' };
      },
      status: async () => asked.conditions ?? [READY, NO_NETWORK],
      images: async () => [IMAGE],
    },
  });
  const kubelet = asked.kubelet === undefined ? undefined : parseVersion(asked.kubelet);
  const findings = await checkRuntime(host, SOCKET, asked.images ?? [], asked.willBeConfigured === true, kubelet);
  for (const { title } of findings) assert.equal(title, 'container runtime');
  return findings.map(({ id, severity, text, ...more }) =>
    [id, severity, 'reason' in more ? more.reason : undefined, text].filter((part) => part !== undefined),
  );
}

const ANSWERS = ['runtime/cri', 'passed', `containerd v2.2.0 answers on ${SOCKET}`];

describe('a container runtime', () => {
  const table: readonly (readonly [string, Asked, readonly (readonly unknown[])[]])[] = [
    ['that answers is well, without a network and before its images', {}, [ANSWERS]],
    [
      'that is not installed is missing, whatever the document says',
      { services: {}, willBeConfigured: true },
      [['runtime/service', 'failed', 'ContainerRuntimeMissing', 'containerd is not installed']],
    ],
    [
      'that does not run is a failure',
      { services: { containerd: { active: false, detail: 'dead' } } },
      [['runtime/service', 'failed', 'ContainerRuntimeNotRunning', 'containerd does not run (dead)']],
    ],
    [
      'that does not run yet is a warning where the document configures it',
      { services: { containerd: { active: false, detail: 'dead' } }, willBeConfigured: true },
      [['runtime/service', 'warning', 'ContainerRuntimeNotRunning', 'containerd does not run (dead)']],
    ],
    [
      'that is not ready says why',
      {
        conditions: [
          { type: 'RuntimeReady', status: false, reason: 'A', message: 'one' },
          { type: 'RuntimeReady', status: false, reason: 'B', message: 'two' },
          NO_NETWORK,
        ],
        willBeConfigured: true,
      },
      [['runtime/cri', 'failed', 'ContainerRuntimeNotReady', 'the container runtime is not ready: A one; B two']],
    ],
    [
      'that does not answer is a failure',
      { fails: 'no answer' },
      [
        [
          'runtime/cri',
          'failed',
          'ContainerRuntimeNotReady',
          `containerd runs but does not answer CRI calls on ${SOCKET}: no answer`,
        ],
      ],
    ],
    [
      'that does not answer yet is a warning where the document configures it',
      { fails: 'no answer', willBeConfigured: true },
      [
        [
          'runtime/cri',
          'warning',
          'ContainerRuntimeNotReady',
          `containerd runs but does not answer CRI calls on ${SOCKET}: no answer`,
        ],
      ],
    ],
    [
      'that has all images says so, by tag and by digest',
      { images: ['pause:3.10', 'pause@sha256:1'] },
      [ANSWERS, ['runtime/images', 'passed', 'all 2 images are here']],
    ],
    [
      'that lacks images names them',
      { images: ['a:1', 'pause:3.10', 'b:1'] },
      [ANSWERS, ['runtime/images', 'warning', 'ImageMissing', '2 of 3 images are not here yet: a:1, b:1']],
    ],
    [
      'that is older than recommended is a warning',
      { runtimeVersion: 'v1.7.10', kubelet: 'v1.34.1' },
      [
        ['runtime/cri', 'passed', `containerd v1.7.10 answers on ${SOCKET}`],
        [
          'runtime/version',
          'warning',
          'ContainerRuntimeUnsupported',
          'containerd v1.7.10 is older than its maintainers recommend for Kubernetes 1.34, which is 1.7.28',
        ],
      ],
    ],
    ['that is as new as recommended is well', { kubelet: 'v1.34.1' }, [ANSWERS]],
    [
      'of another maker is not judged by its version',
      { runtimeName: 'cri-o', runtimeVersion: '1.0.0', kubelet: 'v1.34.1' },
      [['runtime/cri', 'passed', `cri-o 1.0.0 answers on ${SOCKET}`]],
    ],
  ];
  for (const [what, asked, expected] of table) test(what, async () => assert.deepEqual(await found(asked), expected));
});

describe("this machine's API server", () => {
  const MANIFEST = '/etc/kubernetes/manifests/kube-apiserver.yaml';
  for (const [what, manifest, expected] of [
    ['is none without its manifest', undefined, undefined],
    [
      'has the address and the port of its manifest',
      '- --advertise-address=192.0.2.1\n- --secure-port=16443\n',
      { name: '192.0.2.1', port: 16443 },
    ],
    ['has the default port', '- --advertise-address=192.0.2.1\n', { name: '192.0.2.1', port: 6443 }],
    ['is on the loopback without an address', '- --secure-port=1\n', { name: '127.0.0.1', port: 1 }],
  ] as const) {
    test(what, async () => {
      const host = memoryHost({ files: manifest === undefined ? {} : { [MANIFEST]: manifest } });
      assert.deepEqual(await ownApiServer(host), expected);
    });
  }
});
