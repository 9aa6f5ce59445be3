import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CONTROL_IDS } from '@machineadm/document/sections/hardening-controls.ts';
import { describeRule, follows, RULES } from '@machineadm/hardening/controls/control.ts';
import { CONTROLS } from '@machineadm/hardening/controls/index.ts';
import { applied, select } from '@machineadm/hardening/select.ts';
import { titleOf } from '@machineadm/hardening/title.ts';

const section = { profiles: [], include: [], exceptions: [] } as const;

describe('the table of controls', () => {
  test('has 97 of CIS, 95 of the STIG, 27 of the operating system and 3 of Kubernetes itself', () => {
    const count = (start: RegExp) => CONTROLS.filter(({ id }) => start.test(id)).length;
    assert.deepEqual([count(/^cis-\d/), count(/^stig-/), count(/^cis-os-/), count(/^k8s-/)], [97, 95, 27, 3]);
  });

  test('has the ids that documents may name, each once', () => {
    assert.deepEqual(CONTROLS.map(({ id }) => id).sort(), [...CONTROL_IDS].sort());
    assert.equal(new Set(CONTROLS.map(({ id }) => id)).size, CONTROLS.length);
  });

  test('has a title for each, in words of its own', () => {
    for (const control of CONTROLS) {
      assert.match(titleOf(control), /\S{3}/);
      assert.doesNotMatch(titleOf(control), /^Ensure|undefined/, control.id);
    }
  });

  test('has CIS level 2 on top of level 1', () => {
    const chosen = (profile: 'cis-level-1' | 'cis-level-2') =>
      select({ ...section, profiles: [profile] }).map(({ control }) => control.id);
    assert.deepEqual(
      chosen('cis-level-2').filter((id) => !chosen('cis-level-1').includes(id)),
      ['cis-1.3.6', 'cis-2.7', 'cis-3.1.1', 'cis-3.2.2', 'cis-4.2.8'],
    );
  });
});

describe('what breaks clusters', () => {
  const left = (profiles: Parameters<typeof select>[0]['profiles'], include: readonly string[] = []) =>
    select({ ...section, profiles, include }).flatMap(({ control, exception }) =>
      exception === undefined ? [] : [control.id],
    );

  test('is left alone by its profile', () => {
    const cis = ['1.2.1', '1.2.3', '1.2.5', '1.2.9', '1.2.11', '1.2.27', '1.2.28', '4.2.9'].map((id) => `cis-${id}`);
    assert.deepEqual(left(['cis-level-1']), cis);
    assert.deepEqual(
      left(['stig']),
      ['242390', '242393', '242394', '242397', '242424', '242425', '242445'].map((id) => `stig-V-${id}`),
    );
    const os = ['3.3.1', '3.3.7', '3.3.11', '1.1.1.6', '1.1.1.7', '1.1.1.8', '3.2.4'].map((id) => `cis-os-${id}`);
    assert.deepEqual(left(['cis-os']), os, 'rp_filter among them');
  });

  test('is applied when it is named, but for what Kubernetes cannot do', () => {
    assert.ok(!left(['cis-level-1'], ['cis-1.2.11']).includes('cis-1.2.11'));
    assert.ok(left(['cis-os'], ['cis-os-3.3.1']).includes('cis-os-3.3.1'));
  });
});

describe('the range of a control', () => {
  const ids = (role: 'InitControlPlane' | 'Worker', minor: number) =>
    applied(select({ ...section, profiles: ['cis-level-2', 'stig'] }), role, minor).map(({ id }) => id);

  for (const [id, inside, outside] of [
    ['cis-4.2.14', [25, 37], [20, 24]],
    ['stig-V-254800', [25, 37], [20, 24]],
    ['stig-V-254801', [22, 27], [21, 28]],
    ['stig-V-242399', [20, 25], [26]],
    ['stig-V-242386', [20, 23], [24]],
  ] as const) {
    test(`${id}: in 1.${inside.join(' and 1.')}, not in 1.${outside.join(' and 1.')}`, () => {
      const seen = (minor: number) => ids('InitControlPlane', minor).includes(id);
      assert.deepEqual(
        [...inside.map(seen), ...outside.map(seen)],
        [...inside.map(() => true), ...outside.map(() => false)],
      );
    });
  }

  test('no argument of a control plane is asked of a worker', () => {
    assert.deepEqual(
      ids('Worker', 33).filter((id) => /^cis-[12]\./.test(id)),
      ['cis-1.1.9', 'cis-1.1.10'],
    );
  });
});

describe('rules', () => {
  const cases: readonly (readonly [Parameters<typeof follows>[0], readonly string[], readonly string[], boolean])[] = [
    [RULES.set, ['x'], [''], false],
    [RULES.absent, [], ['', 'x'], true],
    [RULES.is('a', 'b'), ['a', 'b'], ['c', 'A'], false],
    [RULES.isOrUnset('0'), ['0'], ['10255'], true],
    [RULES.isNot('true'), ['false'], ['true'], true],
    [RULES.setButNot('x'), ['y'], ['x'], false],
    [RULES.atLeast(30), ['30', '100'], ['29', 'many', '', '30.5', '-1'], false],
    [RULES.someTime, ['300s', '5m0s', '1h', '1.5s', '100ms'], ['0', '0s', '0h0m0s', '5', '', 's'], false],
    [RULES.someTimeOrUnset, ['60s'], ['0s'], true],
    [RULES.includes('Node'), ['Node,RBAC', 'RBAC, Node'], ['RBAC', 'NodeX'], false],
    [RULES.excludes('AlwaysAllow'), ['Node,RBAC'], ['Node,AlwaysAllow'], false],
    [RULES.onlyOf(['A', 'B']), ['A', 'B,A'], ['A,C', ''], false],
  ];
  for (const [rule, good, bad, unset] of cases) {
    test(describeRule(rule), () => {
      assert.deepEqual(
        good.filter((value) => !follows(rule, value)),
        [],
      );
      assert.deepEqual(
        bad.filter((value) => follows(rule, value)),
        [],
      );
      assert.equal(follows(rule, undefined), unset);
    });
  }
});
