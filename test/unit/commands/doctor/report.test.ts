import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { formatFindings, formatJunit } from '../../../../src/cli/findings.ts';
import { doctorReport } from '../../../../src/commands/doctor/run.ts';
import type { Finding } from '../../../../src/diagnosis/checks/finding.ts';

const finding = (over: Partial<Finding>): Finding => ({
  id: 'swap',
  title: 'machine',
  severity: 'passed',
  text: 'swap is off',
  ...over,
});

const OFF = finding({ reason: 'SwapEnabled', remedy: 'not shown' });
const FULL = finding({ id: 'disk/var', severity: 'warning', text: '/var is nearly full', remedy: 'Make room.' });
const ON = finding({
  severity: 'failed',
  text: 'swap is on',
  reason: 'SwapEnabled',
  remedy: 'Set host.swap to Disabled.',
  field: 'host.swap',
  position: { file: 'node.yaml', line: 3, column: 5 },
});
const UNREACHED = finding({ id: 'endpoint', title: 'network', severity: 'undecided', text: 'nobody was asked' });

/** What doctor prints for people. */
const printed = (...report: Parameters<typeof doctorReport>): string => formatFindings(doctorReport(...report));

describe('the report of doctor', () => {
  test('is a tree in the order of its groups; each problem is followed by its place and its remedy', () => {
    assert.deepEqual(printed({ findings: [UNREACHED, OFF, FULL, ON], failed: 1, warnings: 1 }).split('\n'), [
      'machine',
      '├─ ok   swap is off',
      '├─ warn /var is nearly full',
      '│       Make room.',
      '└─ FAIL swap is on [SwapEnabled]',
      '        node.yaml:3:5  host.swap',
      '        Set host.swap to Disabled.',
      'network',
      '└─ ?    nobody was asked',
      'problems were found: 1 failed, 1 warning, 1 undecided, 1 ok',
    ]);
  });

  test('ends with 20 where something failed, and only there', () => {
    assert.equal(doctorReport({ findings: [], failed: 1, warnings: 0 }).exit, 'DifferencesFound');
    assert.equal(doctorReport({ findings: [], failed: 0, warnings: 3 }).exit, 'Success');
  });

  for (const [findings, verdict] of [
    [[OFF, OFF], 'nothing prevents a run: 2 ok'],
    [[FULL, OFF, FULL], 'nothing prevents a run: 2 warnings, 1 ok'],
    [[], 'nothing prevents a run'],
  ] as const) {
    test(`ends with: ${verdict}`, () => {
      assert.equal(printed({ findings, failed: 0, warnings: 0 }).split('\n').at(-1), verdict);
    });
  }

  test('is JUnit for a CI system: failures, errors and skipped cases are counted, and control characters are escaped', () => {
    const hostile = finding({ id: 'x', severity: 'skipped', text: 'a <b> & "c"\nd\uFFFE' });
    const xml = formatJunit('machineadm doctor', [OFF, FULL, ON, UNREACHED, hostile]);
    assert.deepEqual(xml.split('\n').slice(1), [
      '<testsuites tests="5" failures="1" errors="1" skipped="2">',
      '  <testsuite name="machineadm doctor" tests="5" failures="1" errors="1" skipped="2">',
      '    <testcase classname="machineadm doctor" name="swap machine"/>',
      '    <testcase classname="machineadm doctor" name="disk/var machine"><skipped message="/var is nearly full"></skipped></testcase>',
      '    <testcase classname="machineadm doctor" name="swap machine"><failure message="swap is on">Set host.swap to Disabled.</failure></testcase>',
      '    <testcase classname="machineadm doctor" name="endpoint network"><error message="nobody was asked"></error></testcase>',
      '    <testcase classname="machineadm doctor" name="x machine"><skipped message="a &lt;b&gt; &amp; &quot;c&quot;&#10;d\uFFFD"></skipped></testcase>',
      '  </testsuite>',
      '</testsuites>',
      '',
    ]);
  });
});
