import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { gatherFacts, openHost, openQueryHost } from '../../../../src/host/index.ts';
import { parseOsRelease } from '../../../../src/host/machine/linux-facts.ts';
import type { Host, QueryHost } from '../../../../src/host/seam/host.ts';
import { facts as exampleFacts } from '../../../support/facts.ts';
import { memoryHost } from '../../../support/memory-host.ts';

type Mutation = Exclude<keyof Host, keyof QueryHost>;

/** Every method that changes something; the compiler refuses this list when one is missing. */
const MUTATIONS: Readonly<Record<Mutation, true>> = {
  writeFile: true,
  writeLink: true,
  linkFile: true,
  removeFile: true,
  removeDirectory: true,
  makeDirectory: true,
  chmod: true,
  chown: true,
  writeKernelFile: true,
  sync: true,
  run: true,
  http: true,
  pullImage: true,
  removePods: true,
  probePod: true,
  services: true,
};

describe('the read-only host', () => {
  test('has no method that changes anything, and can be given none', () => {
    const host = openQueryHost();
    for (const mutation of Object.keys(MUTATIONS)) assert.equal(mutation in host, false, mutation);
    assert.equal(Object.isFrozen(host), true);
    assert.equal(Object.getPrototypeOf(host), Object.prototype);
  });

  test('runs what is on the closed list, and nothing else', async () => {
    const host = openQueryHost();
    const { status, stdout } = await host.query({ program: 'getent', args: ['passwd', 'root'] });
    assert.equal(status, 0);
    assert.match(stdout, /^root:/);
    await assert.rejects(host.query({ program: 'touch', args: ['/x'] }), { reason: 'InternalError' });
    await assert.rejects(memoryHost().query({ program: 'touch', args: ['/x'] }), { reason: 'InternalError' });
  });

  test('answers 127 for a program that is not installed, as the one in memory does', async () => {
    const installed = await openQueryHost().which('kubeadm');
    if (installed === undefined) {
      const result = await openQueryHost().query({ program: 'kubeadm', args: ['version', '-o', 'short'] });
      assert.equal(result.status, 127);
    }
    assert.equal((await memoryHost().query({ program: 'kubelet', args: ['--version'] })).status, 127);
  });

  test('knows users and groups by name and number', async () => {
    const host = openQueryHost();
    assert.deepEqual([await host.userId('root'), await host.groupId('root')], [0, 0]);
    assert.equal(await host.userId('12345'), 12345);
    assert.equal(await host.userId('machineadm-nonesuch'), undefined);
    assert.equal(await host.groupId('--help'), undefined);
    assert.equal(await host.groupId(''), undefined);
  });
});

describe('the host that may change the machine', () => {
  test('has every method of both', () => {
    const host = openHost({ runId: 'run-1' });
    for (const method of [...Object.keys(MUTATIONS), ...Object.keys(openQueryHost())]) {
      assert.equal(method in host, true, method);
    }
  });

  test('marks supervised commands with its run', async () => {
    const result = await openHost({ runId: 'run-1' }).run({ program: 'env', args: [], supervised: true });
    assert.match(result.stdout, /^MACHINEADM_RUN=run-1$/m);
  });
});

describe('facts', () => {
  test('versions come from what the programs print, and are undefined where there is none', async () => {
    const host = memoryHost({
      files: { '/etc/os-release': 'NAME="Debian"\nID=debian\nVERSION_ID="12"\n' },
      programs: {
        containerd: () => ({ stdout: 'containerd github.com/containerd/containerd v1.7.27 05044ec\n' }),
        kubeadm: () => ({ stdout: 'v1.35.2\n' }),
        kubelet: () => ({ status: 1, stdout: 'Kubernetes v1.35.2' }),
      },
    });
    const facts = await gatherFacts(host);
    assert.deepEqual(facts.os, { id: 'debian', version: '12' });
    assert.deepEqual([facts.containerd?.minor, facts.kubeadm?.text, facts.kubelet], [7, 'v1.35.2', undefined]);
    assert.deepEqual(host.log, []);
    assert.deepEqual(
      Object.keys(facts).sort(),
      Object.keys(exampleFacts({ interfaces: [], addresses: [], runtimeSockets: [] })).sort(),
    );
  });

  test('os-release is read with its quotes and defaults', () => {
    assert.deepEqual(parseOsRelease("ID='flatcar'\nVERSION_ID=3815.2.0\n"), { id: 'flatcar', version: '3815.2.0' });
    assert.deepEqual(parseOsRelease('ID=arch\n'), { id: 'arch', version: '' });
    assert.deepEqual(parseOsRelease(''), { id: 'linux', version: '' });
  });
});
