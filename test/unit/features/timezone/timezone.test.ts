import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { timezone } from '../../../../src/features/timezone/index.ts';
import { loaded, problemsOf } from '../../../support/document.ts';
import { type MemoryFile, memoryHost } from '../../../support/memory-host.ts';
import { planned, runStep } from '../../../support/run-step.ts';

const DATABASE = {
  '/usr/share/zoneinfo/Europe/Berlin': 'TZif2 of Berlin',
  '/usr/share/zoneinfo/UTC': 'TZif2 of UTC',
  '/usr/share/zoneinfo/localtime': 'TZif2: Debian links it to /etc/localtime',
  '/usr/share/zoneinfo/tzdata.zi': '# version 2026b\n',
};
const link = (target: string): MemoryFile => ({ type: 'symlink', content: target });
const machine = (files: Readonly<Record<string, string | MemoryFile>> = {}) =>
  memoryHost({ files: { ...DATABASE, ...files } });
const wanted = async (zone: string) => (await loaded(`host: {timezone: ${zone}}\n`)).model;

describe('timezone', () => {
  test('absent leaves the machine alone', async () => {
    const host = machine({ '/etc/localtime': link('/usr/share/zoneinfo/UTC') });
    assert.deepEqual(await planned(timezone, host, (await loaded('host: {}\n')).model), []);
  });

  test('becomes the link that timedatectl makes, and the name where the distribution keeps it', async () => {
    const host = machine({ '/etc/localtime': link('/usr/share/zoneinfo/UTC'), '/etc/timezone': 'Etc/UTC\n' });
    const model = await wanted('Europe/Berlin');
    const run = await runStep(timezone, host, model);
    assert.deepEqual(
      run.changes.map(({ summary, scope }) => [summary, scope]),
      [
        ['/etc/localtime: UTC -> Europe/Berlin', 'base'],
        ['/etc/timezone: Etc/UTC -> Europe/Berlin', 'base'],
      ],
    );
    assert.equal(await host.readLink('/etc/localtime'), '../usr/share/zoneinfo/Europe/Berlin');
    assert.equal(host.text('/etc/timezone'), 'Europe/Berlin\n');
    assert.deepEqual(run.left, []);
    assert.deepEqual(await planned(timezone, host, model), []);
  });

  test('is in place where an absolute link says so, and no other file is made', async () => {
    const host = machine({ '/etc/localtime': link('/usr/share/zoneinfo/Europe/Berlin') });
    assert.deepEqual(await planned(timezone, host, await wanted('Europe/Berlin')), []);
  });

  for (const [found, files] of [
    ['no link', {}],
    ['no link', { '/etc/localtime': 'TZif2 of a copy' }],
    ['Europe/Berlin', { '/etc/localtime': link('../usr/share/zoneinfo/Europe/Berlin') }],
  ] as const) {
    test(`changed by hand (${JSON.stringify(files)}) is put back`, async () => {
      const host = machine(files);
      const run = await runStep(timezone, host, await wanted('UTC'));
      assert.deepEqual(
        run.changes.map(({ summary }) => summary),
        [`/etc/localtime: ${found} -> UTC`],
      );
      assert.equal(await host.readLink('/etc/localtime'), '../usr/share/zoneinfo/UTC');
      assert.equal(host.text('/etc/timezone'), undefined);
      assert.deepEqual(run.left, []);
    });
  }

  for (const zone of ['Europe/Brelin', 'Europe', 'tzdata', 'localtime']) {
    test(`${zone}, which is no zone of the machine, is refused before any change`, async () => {
      const [missing] = (await timezone.preflight?.(machine(), zone)) ?? [];
      assert.deepEqual([missing?.reason, missing?.field], ['TimezoneUnknown', 'host.timezone']);
      assert.match(missing?.what ?? '', /^\S+ is not a time zone of \/usr\/share\/zoneinfo$/);
      assert.match(missing?.remedy ?? '', /timedatectl list-timezones/);
    });
  }

  test('without a database says what to install', async () => {
    const [missing] = (await timezone.preflight?.(memoryHost(), 'UTC')) ?? [];
    assert.match(missing?.what ?? '', /\/usr\/share\/zoneinfo is not installed/);
    assert.match(missing?.remedy ?? '', /Install tzdata/);
    assert.deepEqual(await timezone.preflight?.(machine(), 'UTC'), []);
  });

  for (const [text, problem] of [
    [
      'timezone: ../../etc/passwd',
      /host\.timezone: (?:".+" is )?not the name of a time zone, such as "UTC" or "Europe\/Berlin"/,
    ],
    ['timezone: ""', /not the name of a time zone/],
    ['timezone: UTC, platform: Windows', /host\.timezone: not on Windows: .*tzutil/],
    ['timezone: UTC, files: [{path: /etc/localtime, content: x}]', /host\.timezone/],
  ] as const) {
    test(`${text} is refused`, async () => {
      const problems = await problemsOf(`host: {${text}}\n`);
      assert.match(problems.join('\n'), problem);
      assert.equal(problems.length, 1, problems.join('\n'));
    });
  }
});
