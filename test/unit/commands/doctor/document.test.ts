import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exampleDocument } from '@machineadm/document/versions/example.ts';
import { machineCheckGroups } from '../../../../src/commands/doctor/machine-checks.ts';
import { loaded } from '../../../support/document.ts';
import { facts } from '../../../support/facts.ts';
import { type MemoryMachine, memoryHost } from '../../../support/memory-host.ts';

async function looksOf(yaml: string): Promise<ReturnType<typeof machineCheckGroups>> {
  return machineCheckGroups(memoryHost(), facts(), await loaded(yaml), undefined);
}

test('a document that only prepares a host needs no container runtime, and no ports of a node', async () => {
  const { runtime, ports, placeholders } = await looksOf('host: {hostname: n}\n');
  assert.deepEqual([await runtime?.(), await ports?.(), await placeholders?.()], [[], [], []]);
  const node = await looksOf('kubernetes: {version: v1.35.2, role: InitControlPlane}\n');
  assert.equal((await node.runtime?.())?.[0]?.title, 'container runtime');
});

test('a placeholder endpoint of the example is reported as its field, and another is not', async () => {
  for (const [role, field] of [
    ['InitControlPlane', 'kubernetes.cluster.controlPlaneEndpoint'],
    ['Worker', 'kubernetes.join.discovery.token.endpoint'],
  ] as const) {
    const text = exampleDocument(role);
    const body = text.slice(text.indexOf('host:'));
    const [found, ...more] = (await (await looksOf(body)).placeholders?.()) ?? [];
    assert.deepEqual([found?.severity, found?.id, more], ['warning', `document/placeholder/${field}`, []]);
    assert.equal(found?.field, field);
    assert.ok((found?.position?.line ?? 0) > 1);
    assert.match(found?.remedy ?? '', new RegExp(`^Set ${field} to`));
    const replaced = await looksOf(body.replaceAll('10.0.0.10:6443', 'api.example.com:6443'));
    assert.deepEqual(await replaced.placeholders?.(), []);
  }
});

test('kernel settings, modules and hooks that will fail are failures, with their places in the document', async () => {
  const yaml =
    'host:\n  sysctl: {net.bridge.no_such_key: "1"}\n  kernelModules: [nosuch]\n  hooks: {afterBootstrap: {commands: ["fi"]}}\n';
  const programs: MemoryMachine['programs'] = {
    sh: () => ({ status: 2, stderr: 'sh: 1: Syntax error: "fi" unexpected\n' }),
    modprobe: () => ({ status: 1 }),
  };
  const host = memoryHost({ programs });
  const found = (await machineCheckGroups(host, facts(), await loaded(yaml), undefined).document?.()) ?? [];
  const failed = found.filter(({ severity }) => severity === 'failed');
  assert.deepEqual(
    failed.map(({ id, position }) => `${id} ${position?.line}`),
    ['document/ModuleMissing 6', 'document/SysctlUnknown 5', 'document/HookSyntaxInvalid 7'],
  );
  assert.ok(failed.every(({ remedy, field }) => remedy !== undefined && field !== undefined));
  assert.deepEqual(host.log, []);
});
