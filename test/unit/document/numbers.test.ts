import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { formatDiagnostic } from '@machineadm/document/diagnostics/index.ts';
import { redactDeep } from '@machineadm/document/redaction/process-redactor.ts';
import { toPlain } from '@machineadm/document/trees/tree.ts';
import { VERBATIM_TAG } from '@machineadm/document/values/verbatim.ts';
import { v1alpha1 } from '@machineadm/document/versions/v1alpha1/index.ts';
import { writeDocument } from '@machineadm/kubeadm/yaml.ts';
import { stringify } from 'yaml';
import { load, loaded, problemsOf } from '../../support/document.ts';

const HEADER = 'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: n}\n';

async function sysctl(value: string): Promise<string | undefined> {
  const { model } = await loaded(`host: {sysctl: {kernel.shmmax: ${value}}}\n`);
  return model.host.sysctl[0]?.value;
}

describe('a number for the kernel', () => {
  for (const [written, expected] of [
    ['18446744073692774399', '18446744073692774399'],
    ['-9223372036854775808', '-9223372036854775808'],
    ['9007199254740993', '9007199254740993'],
    ['0x10', '16'],
    ['0o17', '15'],
    ['0xffffffffffffffff', '18446744073709551615'],
    ['+1', '1'],
    ['-0', '0'],
    ['007', '7'],
    ['"1 2  3"', '1 2  3'],
    ['"0.5"', '0.5'],
  ] as const) {
    test(`${written} is written as ${expected}`, async () => {
      assert.equal(await sysctl(written), expected);
    });
  }

  test('keeps its digits in JSON, too', async () => {
    const text =
      '{"apiVersion":"machineadm.dev/v1alpha1","kind":"MachineBootstrap","metadata":{"name":"n"},"host":{"sysctl":{"kernel.shmmax":18446744073692774399}}}';
    const result = await load(text);
    assert.ok(result.ok);
    assert.equal(result.document.model.host.sysctl[0]?.value, '18446744073692774399');
  });

  for (const written of [
    '1e21',
    '1.0',
    '.inf',
    '-.inf',
    '.nan',
    '0.5',
    '18446744073709551616',
    '-9223372036854775809',
  ]) {
    test(`${written} is refused where it stands`, async () => {
      assert.deepEqual(await problemsOf(`host: {sysctl: {kernel.shmmax: ${written}}}\n`), [
        'doc.yaml:4:32  host.sysctl["kernel.shmmax"]: expected a whole number of at most 64 bits, or a string (hint: write it in quotes)',
      ]);
    });
  }
});

describe('a number in a field of its own', () => {
  const groups = (gid: string) => problemsOf(`host: {groups: [{name: g, gid: ${gid}}]}\n`);
  test('is accepted in every equivalent form', async () => {
    for (const gid of ['1000', '0x3e8', '1e3', '1000.0', '+1000']) assert.deepEqual(await groups(gid), [], gid);
  });

  test('that does not fit is one problem, at its place', async () => {
    for (const gid of ['18446744073692774399', '.inf', '-.inf', '.nan', '1e999']) {
      assert.deepEqual(await groups(gid), [
        'doc.yaml:4:32  host.groups[0].gid: a number that is too large to be kept exactly, or not finite (hint: write it in quotes if it is a text)',
      ]);
    }
  });
});

describe('a number for another program', () => {
  const body =
    'kubernetes: {version: v1.37.0, role: InitControlPlane, node: {kubelet: {config: {a: 9007199254740993, b: 1e21, c: -0, d: 0x10, e: 1.5}}}}\n';

  test('reaches the kubelet with every digit', async () => {
    const { model } = await loaded(body);
    const config = model.kubernetes?.node.kubelet.config ?? {};
    assert.equal(writeDocument(config), 'a: 9007199254740993\nb: 1e21\nc: 0\nd: 16\ne: 1.5\n');
  });

  test('is shown and carried as it is written', async () => {
    const { tree, digest } = await loaded(body);
    const shown = stringify(redactDeep(toPlain(tree)), { customTags: [VERBATIM_TAG] });
    assert.match(shown, /a: 9007199254740993\n +b: 1e21\n +c: 0\n/);
    assert.match(JSON.stringify(toPlain(tree)), /"a":9007199254740993,"b":1e21,/);
    const again = await loaded(shown.slice(shown.indexOf('kubernetes:')));
    assert.equal(again.digest, digest);
  });

  test('of more than 64 bits is refused in the configuration of containerd', async () => {
    const problems = await load(`${HEADER}containerRuntime: {containerd: {settings: {a: [9223372036854775808]}}}\n`);
    assert.ok(!problems.ok);
    assert.match(
      problems.problems.map(formatDiagnostic).join('\n'),
      /^doc\.yaml:4:48 {2}.*settings\.a\[0\]: a number of more than 64 bits/,
    );
  });
});

describe('numbers in the format of other programs', () => {
  for (const path of [
    ['host', 'sysctl', 'vm.max_map_count'],
    ['containerRuntime', 'containerd', 'settings', 'x', 0],
    ['containerRuntime', 'containerd', 'runtimes', 2, 'options', 'x'],
    ['kubernetes', 'node', 'kubelet', 'config', 'maxPods'],
    ['kubernetes', 'addons', 'proxy', 'config', 'x'],
    ['kubernetes', 'bootstrapper', 'kubeadm', 'patches', 0, 'patch', 'x'],
    ['kubernetes', 'bootstrapper', 'kubeadm', 'extraDocuments', 0],
    ['kubernetes', 'controlPlane', 'apiServer', 'admission', 'config', 1, 'configuration', 'x'],
  ]) {
    test(`are kept as they are written in ${path.join('.')}, and not beside it`, () => {
      const names = ['sysctl', 'settings', 'options', 'config', 'patch', 'extraDocuments', 'configuration'];
      const field = path.findLastIndex((part) => names.includes(String(part)));
      assert.equal(v1alpha1.keepsNumber?.(path), true);
      assert.equal(v1alpha1.keepsNumber?.(path.slice(0, field + 1)), false);
      for (const [index, part] of path.slice(0, field + 1).entries())
        assert.equal(v1alpha1.keepsNumber?.(path.with(index, 'other')), typeof part === 'number', `${index}`);
    });
  }
});
