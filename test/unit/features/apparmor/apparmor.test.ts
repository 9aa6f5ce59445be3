import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { apparmor } from '../../../../src/features/apparmor/index.ts';
import { EMPTY_RECORD } from '../../../../src/step/index.ts';
import { loaded, problemsOf } from '../../../support/document.ts';
import { lifetime, summaries } from '../../../support/lifetime.ts';
import { type MemoryHost, type MemoryMachine, memoryHost } from '../../../support/memory-host.ts';
import { planned, runStep, type StepRun } from '../../../support/run-step.ts';
import { APPARMOR, apparmorParser } from '../../../support/security-modules.ts';

const FILE = '/etc/apparmor.d/k8s-nginx';
const { loaded: LOADED, enabled: ENABLED } = APPARMOR;
const PROFILE = 'profile k8s-nginx {\n  file,\n}\n';
const OTHERS = '/usr/sbin/ntpd (complain)\nk8s-nginx-other (enforce)\n';

/** A kernel with AppArmor, and its parser. */
function machine(files: MemoryMachine['files'] = {}): MemoryHost {
  return memoryHost({
    files: { [ENABLED]: 'Y\n', [LOADED]: OTHERS, ...files },
    programs: { apparmor_parser: apparmorParser },
  });
}
const documentOf = async (...profiles: readonly string[]) =>
  (
    await loaded(
      `host: {apparmor: {profiles: ${JSON.stringify(profiles.map((content) => ({ name: 'k8s-nginx', content })))}}}\n`,
    )
  ).model;
const after = ({ notes }: StepRun) => ({ record: { ...EMPTY_RECORD, notes } });

describe('apparmor', () => {
  test('absent leaves the machine alone', async () => {
    assert.deepEqual(await planned(apparmor, machine({ [FILE]: 'x' }), (await loaded('host: {}\n')).model), []);
  });

  test('writes and loads profiles; a second run changes nothing', async () => {
    const host = machine();
    const model = await documentOf(PROFILE);
    const run = await runStep(apparmor, host, model);
    assert.deepEqual(
      run.changes.map(({ summary, scope }) => [summary, scope]),
      [
        [`write ${FILE}`, 'base'],
        [`load ${FILE}`, 'node'],
      ],
    );
    assert.equal(host.text(FILE), PROFILE);
    assert.equal(host.text(LOADED), `${OTHERS}k8s-nginx (enforce)\n`);
    assert.deepEqual(run.left, []);
    assert.deepEqual(await planned(apparmor, host, model, after(run)), []);
  });

  test('of an image is only the file', async () => {
    const changes = await planned(apparmor, machine(), await documentOf(PROFILE), { scope: 'base' });
    assert.deepEqual(
      changes.map(({ id }) => id),
      [`apparmor${FILE}`],
    );
  });

  for (const [what, drift, changes] of [
    ['was edited', (host: MemoryHost) => host.put(FILE, 'profile k8s-nginx flags=(complain) {}\n'), ['write', 'load']],
    ['has another mode', (host: MemoryHost) => host.put(FILE, { content: PROFILE, mode: 0o600 }), ['write']],
    ['has another owner', (host: MemoryHost) => host.put(FILE, { content: PROFILE, uid: 7 }), ['write']],
    ['has another group', (host: MemoryHost) => host.put(FILE, { content: PROFILE, gid: 7 }), ['write']],
    ['is gone', (host: MemoryHost) => host.take(FILE), ['write', 'load']],
    ['was unloaded', (host: MemoryHost) => host.put(LOADED, OTHERS), ['load']],
  ] as const) {
    test(`a profile that ${what} is repaired`, async () => {
      const host = machine();
      const model = await documentOf(PROFILE);
      const first = await runStep(apparmor, host, model);
      drift(host);
      const run = await runStep(apparmor, host, model, after(first));
      assert.deepEqual(
        run.changes.map(({ id }) => (id.startsWith('apparmor/load') ? 'load' : 'write')),
        changes,
      );
      assert.equal(host.text(FILE), PROFILE);
      assert.match(host.text(LOADED) ?? '', /^k8s-nginx \(enforce\)$/m);
    });
  }

  test('a run that was killed between file and kernel is finished by the next, though an older profile has the name', async () => {
    const host = machine();
    const first = await runStep(apparmor, host, await documentOf(PROFILE));
    const newer = await documentOf(`${PROFILE}# newer\n`);
    host.put(FILE, `${PROFILE}# newer\n`);
    const run = await runStep(apparmor, host, newer, after(first));
    assert.deepEqual(
      run.changes.map(({ id }) => id),
      [`apparmor/load${FILE}`],
    );
  });

  const profile = (content: string) =>
    `host: {apparmor: {profiles: [{name: k8s-nginx, content: ${JSON.stringify(content)}}]}}\n`;

  test('a profile that the document has no more is unloaded and removed; one of others stays', async () => {
    const other = '/etc/apparmor.d/usr.sbin.ntpd';
    for (const dropped of ['host: {}\n', 'host: {apparmor: {}}\n']) {
      const host = machine({ [other]: 'profile other {}\n' });
      const life = lifetime(host);
      await life.run(profile(PROFILE));
      assert.deepEqual(summaries(await life.plan(dropped)), [`remove ${FILE}: the document no longer has it`]);
      await life.run(dropped);
      assert.deepEqual(
        [host.text(FILE), host.text(LOADED), host.text(other)],
        [undefined, OTHERS, 'profile other {}\n'],
      );
      assert.deepEqual(await life.plan(dropped), []);
    }
  });

  test('a profile that was there before is restored, and loaded again', async () => {
    const theirs = 'profile k8s-nginx {\n  network,\n}\n';
    const host = machine({ [FILE]: theirs });
    const life = lifetime(host);
    await life.run(profile(PROFILE));
    host.log.length = 0;
    await life.run('host: {}\n');
    assert.equal(host.text(FILE), theirs);
    assert.match(host.log.join('\n'), /apparmor_parser --replace$/m);
  });

  test('prune: Never keeps it', async () => {
    const host = machine();
    const life = lifetime(host);
    await life.run(profile(PROFILE));
    assert.deepEqual(await life.plan('host: {prune: Never, apparmor: {}}\n'), []);
  });

  test('one that was unloaded by hand is only removed', async () => {
    const host = machine();
    const life = lifetime(host);
    await life.run(profile(PROFILE));
    host.put(LOADED, OTHERS);
    await life.run('host: {}\n');
    assert.equal(host.log.filter((line) => line.includes('--remove')).length, 0);
    assert.equal(host.text(FILE), undefined);
  });

  describe('preflight', () => {
    const preflight = async (host: MemoryHost, content = PROFILE) =>
      (await apparmor.preflight?.(host, (await documentOf(content)).host.apparmor ?? assert.fail())) ?? [];

    test('finds nothing wrong with a machine that has everything', async () => {
      assert.deepEqual(await preflight(machine()), []);
    });

    test('refuses a machine without the parser, and a kernel without AppArmor except for an image', async () => {
      const [finding] = await preflight(memoryHost());
      assert.deepEqual([finding?.reason, finding?.what], ['SecurityModuleMissing', 'apparmor_parser is not installed']);
      const [kernel] = await preflight(machine({ [ENABLED]: 'N\n' }));
      assert.deepEqual([kernel?.reason, kernel?.scope], ['SecurityModuleMissing', 'node']);
    });

    test('tells what the parser says of a profile', async () => {
      const [finding] = await preflight(machine(), 'profile a {\n  fle,\n}\n');
      assert.equal(finding?.reason, 'SecurityPolicyInvalid');
      assert.equal(finding?.field, 'host.apparmor.profiles[0].content');
      assert.deepEqual(
        finding?.evidence?.map(({ text }) => text),
        ['AppArmor parser error at line 2: syntax error, unexpected TOK_END_OF_RULE, expecting TOK_MODE'],
      );
    });
  });

  for (const [text, problem] of [
    ['{profiles: [{name: a/b, content: x}]}', /not the name of a file of profiles/],
    ['{profiles: [{name: a, content: ""}]}', /an empty profile/],
    ['{profiles: [{name: a, content: x}, {name: a, content: y}]}', /a is already/],
    ['{}, platform: Windows', /host\.apparmor: not on Windows: it has no AppArmor/],
    ['{profiles: [{name: a, content: x}]}, files: [{path: /etc/apparmor.d/a, content: x}]', /host\.apparmor/],
  ] as const) {
    test(`${text} is refused`, async () => {
      const problems = await problemsOf(`host: {apparmor: ${text}}\n`);
      assert.match(problems.join('\n'), problem);
      assert.equal(problems.length, 1, problems.join('\n'));
    });
  }
});
