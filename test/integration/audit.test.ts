import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { agent } from '../support/agent.ts';
import { needs } from '../support/needs.ts';

const skip = needs('root');

describe('machineadm audit', { skip }, () => {
  for (const [args, status, reason] of [
    [['--residue'], 2, 'UsageInvalid'],
    [['--scrub'], 2, 'UsageInvalid'],
    [['--residue', '--profile', 'stig'], 2, 'UsageInvalid'],
    [['--profile', 'cis-level1'], 2, 'UsageInvalid'],
  ] as const) {
    test(`${args.join(' ')} is refused`, async () => {
      const run = await agent(['audit', '-o', 'json', ...args]);
      assert.equal(run.status, status, run.stderr);
      assert.equal(JSON.parse(run.stdout).error.reason, reason);
    });
  }

  test('a mistyped name is answered with the nearest known one', async () => {
    assert.match((await agent(['audit', '--profile', 'cis-level1'])).stderr, /Did you mean "cis-level-1"\?/);
  });

  test('cis-os is audited on any machine: the totals are right, and the exit status says whether a control fails', async () => {
    const run = await agent(['audit', '--profile', 'cis-os', '-o', 'json']);
    const { controls, summary } = JSON.parse(run.stdout);
    const { pass, fail, exception, notApplicable } = summary;
    assert.equal(controls.length, 29);
    assert.equal(pass + fail + exception + notApplicable, controls.length);
    assert.equal(run.status, fail > 0 ? 20 : 0);
    const forwarding = controls.find((control: { id: string }) => control.id === 'cis-os-3.3.1');
    assert.equal(forwarding.state, 'exception', 'Kubernetes cannot do without it, whoever asks');
  });

  test('an unprivileged user is refused', async () => {
    const run = await agent(['audit', '--profile', 'cis-os'], {
      wrapper: ['setpriv', '--reuid=65534', '--clear-groups'],
    });
    assert.equal(run.status, 4);
    assert.match(run.stderr, /NotPrivilegedUser/);
  });
});
