import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Model } from '@machineadm/document/model/index.ts';
import { selinux } from '../../../../src/features/selinux/index.ts';
import { EMPTY_RECORD } from '../../../../src/step/index.ts';
import { loaded, problemsOf } from '../../../support/document.ts';
import { errno, type MemoryHost, type MemoryMachine, memoryHost } from '../../../support/memory-host.ts';
import { planned, runStep } from '../../../support/run-step.ts';
import { SELINUX, SELINUX_PROGRAMS } from '../../../support/security-modules.ts';

const { config: CONFIG, enforce: ENFORCE, boolean: BOOLEAN, kept: KEPT, local: LOCAL } = SELINUX;
const TEXT = '# comment\nSELINUX=permissive\nSELINUXTYPE=targeted\n';

/** A machine with SELinux, and without some of its tools. */
function machine(files: MemoryMachine['files'] = {}, without: readonly string[] = []): MemoryHost {
  const programs = Object.fromEntries(Object.entries(SELINUX_PROGRAMS).filter(([name]) => !without.includes(name)));
  return memoryHost({
    files: {
      [CONFIG]: TEXT,
      [ENFORCE]: '0',
      [BOOLEAN]: '0 0',
      '/var/lib/selinux/targeted/active/x': '',
      '/srv/data/a': '',
      ...files,
    },
    programs,
    kernelFiles: { [ENFORCE]: '0' },
  });
}
const wanted = async (text: string): Promise<Model> => (await loaded(`host: {selinux: ${text}}\n`)).model;
const ALL =
  "{mode: Enforcing, booleans: {container_manage_cgroup: true}, fileContexts: [{path: '/srv/data(/.*)?', type: container_file_t}]}";

describe('selinux', () => {
  test('absent leaves the machine alone', async () => {
    assert.deepEqual(await planned(selinux, machine(), (await loaded('host: {}\n')).model), []);
  });

  test('has its mode, booleans and labels, the mode last; a second run changes nothing', async () => {
    const host = machine();
    const model = await wanted(ALL);
    const run = await runStep(selinux, host, model);
    assert.deepEqual(
      run.changes.map(({ summary, scope }) => [summary, scope]),
      [
        [`${CONFIG}: SELINUX=enforcing`, 'base'],
        ['set container_manage_cgroup=on, now and at every boot', 'base'],
        ['labels: /srv/data(/.*)? is container_file_t', 'base'],
        ['running mode: Permissive -> Enforcing', 'node'],
      ],
    );
    assert.equal(host.text(CONFIG), TEXT.replace('permissive', 'enforcing'));
    assert.deepEqual(
      host.log.filter((line) => /^(?:run|kernel)/.test(line)),
      [
        'run setsebool -P container_manage_cgroup=on',
        'run semanage fcontext -a -t container_file_t /srv/data(/.*)?',
        'run restorecon -R /srv/data',
        'kernel /sys/fs/selinux/enforce = 1',
      ],
    );
    assert.deepEqual([run.left, run.warnings], [[], []]);
    assert.deepEqual(await planned(selinux, host, model, { record: { ...EMPTY_RECORD, notes: run.notes } }), []);
  });

  for (const [what, drift, change] of [
    [
      'configuration',
      (host: MemoryHost) => host.put(CONFIG, TEXT.replace('permissive', 'disabled')),
      'selinux/configuration',
    ],
    ['running mode', (host: MemoryHost) => host.writeKernelFile(ENFORCE, '0'), 'selinux/mode'],
    ['boolean', (host: MemoryHost) => host.put(BOOLEAN, '0 0'), 'selinux/booleans'],
    [
      'boolean of the next boot',
      (host: MemoryHost) => host.put(KEPT, 'container_manage_cgroup=0\n'),
      'selinux/booleans',
    ],
    ['boolean that is not kept', (host: MemoryHost) => host.take(KEPT), 'selinux/booleans'],
    [
      'label',
      (host: MemoryHost) => host.put(LOCAL, '/srv/data(/.*)?    system_u:object_r:etc_t:s0\n'),
      'selinux/file-contexts',
    ],
    ['label that is gone', (host: MemoryHost) => host.put(LOCAL, ''), 'selinux/file-contexts'],
  ] as const) {
    test(`a changed ${what} is found and repaired`, async () => {
      const host = machine();
      const model = await wanted(ALL);
      await runStep(selinux, host, model);
      drift(host);
      const run = await runStep(selinux, host, model);
      assert.deepEqual(
        run.changes.map(({ id }) => id),
        [change],
      );
      assert.deepEqual(run.left, []);
    });
  }

  test('a label that the document has no more is removed, and one of others stays', async () => {
    const other = '/opt/x    system_u:object_r:bin_t:s0\n';
    const host = machine({ [LOCAL]: other });
    const { notes } = await runStep(selinux, host, await wanted(ALL));
    const run = await runStep(selinux, host, await wanted('{mode: Enforcing}'), { record: { ...EMPTY_RECORD, notes } });
    assert.deepEqual(
      run.changes.map(({ summary }) => summary),
      ['labels: /srv/data(/.*)? as the policy has it'],
    );
    assert.equal(host.text(LOCAL), other);
    assert.deepEqual(run.left, []);
  });

  test('prune: Never keeps it', async () => {
    const host = machine();
    const { notes } = await runStep(selinux, host, await wanted(ALL));
    const { model } = await loaded('host: {prune: Never, selinux: {}}\n');
    assert.deepEqual(await planned(selinux, host, model, { record: { ...EMPTY_RECORD, notes } }), []);
  });

  test('a store that is elsewhere does not make a boolean wrong for ever', async () => {
    const host = machine();
    host.take('/var/lib/selinux/targeted/active');
    const model = await wanted('{booleans: {container_manage_cgroup: false}}');
    assert.deepEqual(await planned(selinux, host, model), []);
  });

  for (const [expression, path] of [
    ['/srv/data\\.d(/.*)?', '/srv/data.d'],
    ['/srv/data/', '/srv/data'],
    ['/srv/da[tk]a', '/srv'],
  ] as const) {
    test(`what ${expression} matches is below ${path}`, async () => {
      const host = machine({ '/srv/data.d/x': '' });
      await runStep(selinux, host, await wanted(`{fileContexts: [{path: '${expression}', type: etc_t}]}`));
      assert.ok(host.log.includes(`run restorecon -R ${path}`), host.log.join('\n'));
    });
  }

  test('what matches anywhere is not relabelled by itself', async () => {
    const host = machine();
    const run = await runStep(selinux, host, await wanted("{fileContexts: [{path: '/.*data', type: etc_t}]}"));
    assert.match(run.warnings.join(), /run "restorecon -R"/);
    assert.ok(!host.log.some((line) => line.startsWith('run restorecon')));
  });

  test('a tool that fails, and a kernel that refuses, say so', async () => {
    const programs = {
      setsebool: () => ({ status: 1, stderr: 'Could not change active booleans: Invalid boolean\n' }),
    };
    const refused = () => {
      throw errno('EACCES');
    };
    const kernelFiles = { [ENFORCE]: { value: '0', write: refused } };
    const host = memoryHost({ files: { [CONFIG]: TEXT, [BOOLEAN]: '0 0' }, kernelFiles, programs });
    await assert.rejects(runStep(selinux, host, await wanted('{booleans: {container_manage_cgroup: true}}')), {
      reason: 'HostStepFailed',
      message: 'setsebool -P container_manage_cgroup=on ended with status 1',
    });
    await assert.rejects(runStep(selinux, host, await wanted('{mode: Enforcing}')), {
      reason: 'HostStepFailed',
      message: 'the running mode of SELinux could not be set to Enforcing',
    });
  });

  describe('preflight', () => {
    const preflight = async (host: MemoryHost, text: string) =>
      (await selinux.preflight?.(host, (await wanted(text)).host.selinux ?? assert.fail())) ?? [];

    test('finds nothing wrong with a machine that has everything', async () => {
      assert.deepEqual(await preflight(machine(), ALL), []);
    });

    test('refuses a kernel without SELinux, and says what enabling it takes', async () => {
      const [finding] = await preflight(memoryHost(), ALL);
      assert.equal(finding?.reason, 'SecurityModuleMissing');
      assert.match(finding?.remedy ?? '', /autorelabel/);
    });

    test('names every tool that is missing, and every unknown boolean with its place', async () => {
      const host = machine({}, ['setsebool', 'semanage']);
      host.take(BOOLEAN);
      assert.deepEqual(
        (await preflight(host, ALL)).map(({ what, field }) => `${field}: ${what}`),
        [
          'host.selinux: setsebool is not installed',
          'host.selinux: semanage is not installed',
          'host.selinux.booleans.container_manage_cgroup: the SELinux policy of this machine has no boolean container_manage_cgroup',
        ],
      );
    });
  });

  for (const [text, problem] of [
    ['{mode: Disabled}', /host\.selinux\.mode/],
    ['{booleans: {"a b": true}}', /not the name of a boolean/],
    ['{fileContexts: [{path: srv, type: etc_t}]}', /not a regular expression of absolute paths/],
    ['{fileContexts: [{path: /srv, type: "etc_t:s0"}]}', /not the name of a type/],
    ['{fileContexts: [{path: /a, type: b_t}, {path: /a, type: c_t}]}', /\/a is already/],
    ['{}, platform: Windows', /host\.selinux: not on Windows: it has no SELinux/],
    [`{mode: Enforcing}, files: [{path: ${CONFIG}, content: x}]`, /host\.selinux/],
  ] as const) {
    test(`${text} is refused`, async () => {
      const problems = await problemsOf(`host: {selinux: ${text}}\n`);
      assert.match(problems.join('\n'), problem);
      assert.equal(problems.length, 1, problems.join('\n'));
    });
  }
});
