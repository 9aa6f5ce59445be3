import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { TomlTable } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import { stringify } from 'smol-toml';
import { assertEffective, checkConfiguration } from '../../../../src/features/containerd/effective.ts';
import { memoryHost } from '../../../support/memory-host.ts';

const CRI = 'io.containerd.grpc.v1.cri';

const failsWith =
  (reason: Reason, summary: RegExp, evidence = /./) =>
  (error: unknown) => {
    assert.ok(error instanceof MachineadmError, String(error));
    assert.equal(error.reason, reason);
    assert.match(error.message, summary);
    if (error.evidence.length > 0) assert.match(error.evidence.map(({ text }) => text).join('\n'), evidence);
    assert.notEqual(error.remedy, '');
    return true;
  };

/** A containerd that answers `config dump` like this; `input` tells what it was given. */
function dumping(answer: { status?: number; stdout?: string; stderr?: string; timedOut?: boolean }) {
  const given: unknown[] = [];
  const host = memoryHost({
    programs: {
      containerd(command) {
        given.push(command.input);
        return answer;
      },
    },
  });
  return { host, given };
}

const check = (tree: TomlTable, answer: Parameters<typeof dumping>[0], text = stringify(tree)) =>
  checkConfiguration(dumping(answer).host, tree, text);

describe('a configuration compared with what containerd makes of it', () => {
  test('is handed over on standard input, so that nothing is written for a plan', async () => {
    const { host, given } = dumping({
      stdout: 'oom_score = 5\nimports = ["/dev/stdin", "/etc/containerd/conf.d/a.toml"]\n',
    });
    const { dropIns, effective } = await checkConfiguration(host, { oom_score: 5 }, 'oom_score = 5\n');
    assert.deepEqual(dropIns, ['/etc/containerd/conf.d/a.toml']);
    assert.equal(effective.oom_score, 5);
    assert.deepEqual(given, ['oom_score = 5\n']);
    assert.deepEqual(host.queries, ['containerd -c /dev/stdin config dump']);
    assert.deepEqual(host.log, []);
  });

  for (const [version, stderr] of [
    ['1.6', 'containerd: failed to load TOML: /dev/stdin: (2, 2): unexpected token unclosed table key'],
    ['2.1', 'containerd: failed to unmarshal TOML at row 2 column 2: toml: expected "]" to close table name'],
  ] as const) {
    test(`${version}: a syntax error is reported with row, column and the line`, async () => {
      await assert.rejects(
        check({ a: 1 }, { status: 1, stderr }, 'a = 1\n[bad\n'),
        failsWith('ContainerdConfigSyntax', /row 2, column 2/, version === '1.6' ? /\n\[bad/ : /row 2 column 2/),
      );
    });
  }

  test('a refusal quotes no line of a configuration with credentials', async () => {
    const tree = { plugins: { [CRI]: { registry: { configs: { r: { auth: { password: 'hunter22' } } } } } } };
    const text = stringify(tree);
    const row = text.split('\n').findIndex((line) => line.includes('hunter22')) + 1;
    await assert.rejects(
      check(tree, { status: 1, stderr: `containerd: /dev/stdin: (${row}, 1): no` }, text),
      (error) => {
        assert.ok(error instanceof MachineadmError);
        assert.doesNotMatch(JSON.stringify(error.evidence), /hunter22/);
        return true;
      },
    );
  });

  test('a dump that hangs is reported as that', async () => {
    await assert.rejects(
      check({ a: 1 }, { status: 143, timedOut: true }),
      failsWith('HostStepFailed', /did not end in time/),
    );
  });

  const WARN = 'time="x" level=warning msg="Ignoring unknown key in TOML';
  test('2.x: keys of ours that it ignores are named, at the top and in a plug-in', async () => {
    const tree = { bogus_top: 'x', plugins: { 'io.containerd.cri.v1.images': { registry: { confg_path: '/a' } } } };
    const stderr = [
      `${WARN}" column=1 error="strict mode" file=/dev/stdin key=bogus_top row=2`,
      `${WARN} for plugin" error="strict mode" key="registry confg_path" plugin=io.containerd.cri.v1.images`,
    ].join('\n');
    await assert.rejects(
      check(tree, { stderr, stdout: '' }),
      failsWith(
        'ContainerdConfigUnknownKey',
        /bogus_top, plugins\."io\.containerd\.cri\.v1\.images"\.registry\.confg_path/,
      ),
    );
  });

  test('2.x: keys of a user’s drop-in are not checked', async () => {
    const stderr = `${WARN}" column=1 file=/etc/containerd/conf.d/99-nvidia.toml key=bogus_top row=2`;
    const { dropIns } = await check({ oom_score: 1 }, { stderr, stdout: 'oom_score = 1' });
    assert.deepEqual(dropIns, []);
  });

  const differs =
    (tree: TomlTable, dump: TomlTable, dropIns: readonly string[] = []) =>
    () =>
      assertEffective(tree, dump, dropIns);

  test('a value that is not used: key, what was wanted, what is', () => {
    const tree = { plugins: { [CRI]: { sandbox_image: 'r/pause:3.10' } } };
    const dump = { plugins: { [CRI]: { sandbox_image: 'registry.k8s.io/pause:3.6' } } };
    assert.throws(
      differs(tree, dump),
      failsWith(
        'ContainerdConfigNotEffective',
        /sandbox_image/,
        /want "r\/pause:3\.10", got "registry\.k8s\.io\/pause:3\.6"/,
      ),
    );
  });

  test('a drop-in in the way is named in the remedy', () => {
    assert.throws(differs({ oom_score: 1 }, { oom_score: 0 }, ['/etc/containerd/conf.d/99-nvidia.toml']), (error) => {
      assert.ok(error instanceof MachineadmError);
      assert.match(error.remedy, /99-nvidia\.toml/);
      return true;
    });
  });

  test('1.x says nothing of unknown keys: one that the dump lacks is one', () => {
    assert.throws(
      differs({ plugins: { [CRI]: { sanbox_imge: 'x' } } }, { plugins: { [CRI]: {} } }),
      failsWith('ContainerdConfigUnknownKey', /sanbox_imge/),
    );
  });

  test('a boolean written as text is not the boolean', () => {
    assert.throws(differs({ a: { b: true } }, { a: { b: 'true' } }), failsWith('ContainerdConfigNotEffective', /a\.b/));
  });

  test('a secret value is not shown', () => {
    assert.throws(differs({ auth: { password: 'hunter22' } }, { auth: { password: 'other' } }), (error) => {
      assert.ok(error instanceof MachineadmError);
      assert.doesNotMatch(JSON.stringify(error.evidence), /hunter22|other/);
      return true;
    });
  });

  test('nothing may be added to what is disabled', () => {
    assert.throws(
      differs({ disabled_plugins: [] }, { disabled_plugins: [CRI] }),
      failsWith('ContainerdConfigNotEffective', /disabled_plugins/),
    );
  });

  test('what means the same holds: durations, lists a drop-in added to, zero values left out, sections of version 4', () => {
    assert.doesNotThrow(differs({ t: '90s', h: '4h' }, { t: '1m30s', h: '4h0m0s' }));
    assert.throws(differs({ t: '90s' }, { t: '1m31s' }), failsWith('ContainerdConfigNotEffective', /^.*\bt$/));
    assert.doesNotThrow(differs({ required_plugins: ['a'] }, { required_plugins: ['b', 'a'] }));
    assert.doesNotThrow(differs({ imports: ['/x/*.toml'], version: 3, empty: '' }, { imports: [], version: 4 }));
    assert.doesNotThrow(differs({ grpc: { address: '/a' } }, { version: 4 }));
  });
});
