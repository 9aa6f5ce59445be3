import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RegistryModel } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import { registries } from '../../../../src/features/registries/index.ts';
import { CriError } from '../../../../src/host/cri/client.ts';
import { EMPTY_RECORD } from '../../../../src/step/index.ts';
import { containerdModel, registryEndpoint } from '../../../support/containerd-model.ts';
import { hostModel } from '../../../support/host-model.ts';
import { memoryHost } from '../../../support/memory-host.ts';
import { runStep } from '../../../support/run-step.ts';

const registry = (different: Partial<RegistryModel> = {}): RegistryModel => ({
  host: 'docker.io',
  server: registryEndpoint(undefined),
  fallback: true,
  mirrors: [registryEndpoint('https://m.example')],
  verify: 'busybox:1',
  ...different,
});
const model = (...list: readonly RegistryModel[]) => ({
  ...hostModel(),
  containerd: containerdModel({ registries: list }),
});

const failing = (text: string) =>
  memoryHost({
    pull: () => {
      throw new CriError('/run/containerd/containerd.sock', 'PullImage', 2, text);
    },
  });

describe('the proof of a registry', () => {
  test('nothing to prove without an image', async () => {
    const { changes } = await runStep(registries, memoryHost(), model(registry({ verify: undefined })));
    assert.deepEqual(changes, []);
  });

  test('one pull for each registry, once for what the document says of it', async () => {
    const host = memoryHost();
    const run = await runStep(
      registries,
      host,
      model(registry(), registry({ host: 'quay.io', verify: 'quay.io/a:1' })),
    );
    assert.deepEqual(host.log, ['pull busybox:1', 'pull quay.io/a:1']);
    assert.deepEqual(
      run.changes.map(({ id, scope }) => `${id} ${scope}`),
      ['registries/docker.io node', 'registries/quay.io node'],
    );
    assert.deepEqual(run.left, []);
    const record = { ...EMPTY_RECORD, notes: run.notes };
    const moved = registry({ mirrors: [registryEndpoint('https://other.example')] });
    const again = await runStep(registries, host, model(moved, registry({ host: 'quay.io', verify: 'quay.io/a:1' })), {
      record,
    });
    assert.deepEqual(
      again.changes.map(({ id }) => id),
      ['registries/docker.io'],
    );
  });

  // The words are those that the real ones are made of; test/slow/features/containerd-registries.test.ts hears them.
  const head = 'failed to do request: Head "https://m.example/v2/library/busybox/manifests/1": ';
  for (const [text, reason, retryable] of [
    [
      `${head}tls: failed to verify certificate: x509: certificate signed by unknown authority`,
      'ImageRegistryTLSUntrusted',
      false,
    ],
    [`${head}x509: certificate has expired or is not yet valid`, 'ImageRegistryTLSUntrusted', false],
    [`${head}x509: certificate is valid for a.example, not m.example`, 'ImageRegistryTLSUntrusted', false],
    [
      'failed to authorize: failed to fetch anonymous token: unexpected status: 401 Unauthorized',
      'ImagePullUnauthorized',
      false,
    ],
    ['unexpected status from HEAD request to https://m.example: 403 Forbidden', 'ImagePullUnauthorized', false],
    [`${head}http: server gave HTTP response to HTTPS client`, 'ImageRegistryPlainHTTP', false],
    [`${head}dial tcp: lookup m.example: no such host`, 'ImagePullDNSFailure', true],
    [
      `${head}dial tcp: lookup m.example on [::1]:53: read udp [::1]:46078->[::1]:53: read: connection refused`,
      'ImagePullDNSFailure',
      true,
    ],
    ['unexpected status: 429 Too Many Requests', 'ImagePullRateLimited', true],
    [`${head}dial tcp 10.0.0.1:443: connect: connection refused`, 'ImageRegistryUnreachable', true],
    [`${head}dial tcp 10.0.0.1:443: i/o timeout`, 'ImageRegistryUnreachable', true],
    ['failed to resolve reference "docker.io/library/busybox:1": not found', 'ImageNotFound', false],
    ['no match for platform in manifest', 'ImagePullFailed', true],
  ] as const satisfies readonly (readonly [string, Reason, boolean])[]) {
    test(`${reason}: ${text.slice(-60)}`, async () => {
      await assert.rejects(runStep(registries, failing(text), model(registry())), (error: unknown) => {
        assert.ok(error instanceof MachineadmError);
        assert.deepEqual([error.reason, error.exit, error.retryable], [reason, 'HostStepFailed', retryable]);
        assert.deepEqual(
          error.evidence.map((line) => line.text),
          [text, 'asked in turn: https://m.example, docker.io'],
        );
        return true;
      });
    });
  }

  test('what is no answer of the runtime is passed on as it is', async () => {
    const broken = memoryHost({
      pull: () => {
        throw new TypeError('a defect');
      },
    });
    await assert.rejects(runStep(registries, broken, model(registry())), /a defect/);
  });
});
