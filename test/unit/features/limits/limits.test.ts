import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { limits } from '../../../../src/features/limits/index.ts';
import { loaded, problemsOf } from '../../../support/document.ts';
import { memoryHost } from '../../../support/memory-host.ts';
import { planned, runStep } from '../../../support/run-step.ts';

const SERVICES = '/etc/systemd/system.conf.d/91-machineadm-limits-n1.conf';
const SESSIONS = '/etc/security/limits.d/91-machineadm-n1.conf';
const wanted = async (text: string) => (await loaded(`host: {limits: ${text}}\n`)).model;

describe('limits', () => {
  test('absent leave the machine alone', async () => {
    const host = memoryHost({ files: { [SERVICES]: 'of an earlier document\n' } });
    assert.deepEqual(await planned(limits, host, (await loaded('host: {}\n')).model), []);
  });

  test('become defaults of systemd and lines of pam_limits in its units, and a second run changes nothing', async () => {
    const host = memoryHost();
    const model = await wanted(
      '{services: {nofile: {soft: 65536, hard: 1048576}, memlock: Unlimited}, ' +
        "sessions: {'*': {nofile: 65536, stack: {soft: 8388608, hard: Unlimited}}, '@dev': {cpu: 120}}}",
    );
    const run = await runStep(limits, host, model);
    assert.deepEqual(
      run.changes.map(({ summary, scope, owes = [] }) => [summary, scope, ...owes]),
      [
        [`write ${SERVICES}`, 'base', 'daemon-reload'],
        [`write ${SESSIONS}`, 'base'],
      ],
    );
    assert.equal(
      host.text(SERVICES),
      '# Written by machineadm.\n[Manager]\nDefaultLimitMEMLOCK=infinity\nDefaultLimitNOFILE=65536:1048576\n',
    );
    assert.equal(
      host.text(SESSIONS),
      '# Written by machineadm.\n* - nofile 65536\n* soft stack 8192\n* hard stack unlimited\n@dev - cpu 2\n',
    );
    assert.deepEqual(run.left, []);
    assert.deepEqual(await planned(limits, host, model), []);
  });

  test('that were changed by hand are put back, and of an empty part the files go', async () => {
    const host = memoryHost({ files: { [SERVICES]: '[Manager]\n', [SESSIONS]: '* - nofile 1\n' } });
    await runStep(limits, host, await wanted('{services: {nproc: 7}}'));
    assert.equal(host.text(SERVICES), '# Written by machineadm.\n[Manager]\nDefaultLimitNPROC=7\n');
    assert.equal(host.text(SESSIONS), undefined);
    await runStep(limits, host, await wanted('{}'));
    assert.equal(host.text(SERVICES), undefined);
  });

  for (const [text, problem] of [
    [
      '{services: {nofile: {soft: 2, hard: 1}}}',
      /host\.limits\.services\.nofile: the soft limit is above the hard one/,
    ],
    ['{services: {nofile: {soft: Unlimited, hard: 1}}}', /the soft limit is above the hard one/],
    ['{services: {nofiles: 1}}', /did you mean "nofile"\?/],
    ['{services: {nofile: many}}', /expected a whole number from 0, or "Unlimited"/],
    ['{sessions: {"*": {stack: 1000}}}', /limits of sessions count it in KiB \(hint: a multiple of 1024\)/],
    ['{sessions: {"a b": {nofile: 1}}}', /not a user, "@group" or "\*"/],
    ['{services: {}}, platform: Windows', /host\.limits: not on Windows: it has no such limits/],
  ] as const) {
    test(`${text} is refused`, async () => {
      const problems = await problemsOf(`host: {limits: ${text}}\n`);
      assert.match(problems.join('\n'), problem);
      assert.equal(problems.length, 1, problems.join('\n'));
    });
  }

  test('and a file of the document at the same path are a collision', async () => {
    const [problem = ''] = await problemsOf(
      `host: {limits: {services: {nofile: 1}}, files: [{path: ${SERVICES}, content: x}]}\n`,
    );
    assert.match(problem, /host\.limits/);
  });
});
