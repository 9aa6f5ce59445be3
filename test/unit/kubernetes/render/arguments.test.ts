import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { PodEnvironmentVariable } from '@machineadm/document/model/index.ts';
import { renderArguments, renderEnvironment } from '@machineadm/kubeadm/arguments.ts';
import { Problems } from '@machineadm/kubeadm/problems.ts';
import type { KubeadmTarget } from '@machineadm/kubeadm/version.ts';

const NEW: KubeadmTarget = { configVersion: 'v1beta4', minor: 34, name: 'kubeadm v1.34.1' };
const OLD: KubeadmTarget = { configVersion: 'v1beta3', minor: 30, name: 'kubeadm v1.30.9' };

describe('variables of a component', () => {
  const table: readonly PodEnvironmentVariable[] = [
    { name: 'A', value: 'b' },
    { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
    { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName', apiVersion: 'v1' } } },
    { name: 'CPUS', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } },
    { name: 'CPUS', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', containerName: 'etcd' } } },
    { name: 'CPUS', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '1m' } } },
  ];
  for (const variable of table) {
    test(`are rendered as they were written, without additions: ${JSON.stringify(variable)}`, () => {
      const problems = new Problems();
      assert.deepEqual(renderEnvironment([variable], 'env', NEW, problems), [variable]);
      problems.throwIfAny(NEW);
    });
  }

  test('that are not given are not rendered, for an old kubeadm either', () => {
    const problems = new Problems();
    assert.equal(renderEnvironment([], 'env', OLD, problems), undefined);
    problems.throwIfAny(OLD);
  });

  test('are a problem for a kubeadm that has no field for them', () => {
    const problems = new Problems();
    renderEnvironment([{ name: 'A', value: 'b' }], 'kubernetes.etcd.env', OLD, problems);
    assert.throws(() => problems.throwIfAny(OLD), {
      reason: 'NotExpressible',
      message: /cannot express a field of the document: kubernetes\.etcd\.env: kubeadm v1beta3 cannot set environment/,
      remedy: 'Use kubeadm 1.31 or newer, or remove kubernetes.etcd.env.',
    });
  });
});

describe('arguments of a component', () => {
  const twice = [
    { name: 'v', value: '1' },
    { name: 'a', value: '2' },
    { name: 'v', value: '3' },
    { name: 'v', value: '4' },
  ];

  test('are a list for a new kubeadm, repeated names and their order included', () => {
    const problems = new Problems();
    assert.deepEqual(renderArguments(twice, 'args', NEW, problems), twice);
    assert.equal(renderArguments([], 'args', NEW, problems), undefined);
    problems.throwIfAny(NEW);
  });

  test('are a map for an old one, where a repeated name is one problem', () => {
    const problems = new Problems();
    assert.deepEqual(renderArguments(twice.slice(1, 3), 'args', OLD, problems), { a: '2', v: '3' });
    problems.throwIfAny(OLD);
    renderArguments(twice, 'args', OLD, problems);
    assert.throws(() => problems.throwIfAny(OLD), /cannot express a field of the document: args: "v" is repeated/);
  });
});
