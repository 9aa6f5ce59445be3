import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { arrangeResume, canResume, rebootIfOurs, resumingCommand } from '../../../src/pipeline/reboot-resume.ts';
import { memoryHost } from '../../support/memory-host.ts';

const PROVISION = { command: 'provision', sources: ['/etc/machineadm/bootstrap.yaml'] } as const;
const REBOOTING = {
  outcome: 'RebootRequired',
  exit: 'RebootRequired',
  failure: { reason: 'Rebooting', summary: '', remedy: '', evidence: [], retryable: true },
} as const;

describe('a run that is cut off', () => {
  test('is resumed with the same document and the same sinks', () => {
    const sinks = ['{type: Webhook, url: https://hooks.example.com}'];
    assert.deepEqual(resumingCommand({ ...PROVISION, sinks }, ['/usr/bin/machineadm']), [
      '/usr/bin/machineadm',
      'provision',
      '--resume',
      '-d',
      '/etc/machineadm/bootstrap.yaml',
      '--sink',
      ...sinks,
    ]);
  });

  test('cannot be resumed if its document came on stdin, or if it is a bake', () => {
    assert.ok(canResume(PROVISION));
    assert.ok(!canResume({ ...PROVISION, sources: ['base.yaml', '-'] }));
    assert.ok(!canResume({ ...PROVISION, command: 'prepare' }));
  });

  test('has a unit of the image for that on Linux, and nothing is arranged', async () => {
    const host = memoryHost();
    const goingOn = await arrangeResume(host, { platform: 'linux' }, PROVISION);
    await goingOn.concluded('Succeeded', assert.fail);
    assert.deepEqual(host.log, []);
  });

  /** Shows the task as long as there is one. */
  const windows = () => {
    let task = '';
    const host = memoryHost({
      programs: {
        'C:\\Windows\\System32\\schtasks.exe': ({ args }, { text }) => {
          if (args[0] === '/Create') task = Buffer.from(text(args[4] ?? '') ?? '').toString();
          if (args[0] === '/Delete') task = '';
          return task === '' && args[0] === '/Query' ? { status: 1 } : { stdout: task };
        },
      },
    });
    // A definition in UTF-16 is no text to a machine in memory: it is kept as one.
    const write = host.writeFile;
    host.writeFile = async (file) => {
      const bytes = Buffer.from(file.content as Uint8Array);
      await write({ ...file, content: bytes.toString('utf16le').replaceAll('&quot;', '"') });
    };
    return { host, task: () => task };
  };

  for (const outcome of ['Succeeded', 'Failed'] as const) {
    test(`has a task on Windows, which is gone when it ${outcome}`, async () => {
      const { host, task } = windows();
      const goingOn = await arrangeResume(host, { platform: 'windows' }, PROVISION);
      assert.match(task(), /provision --resume -d/);
      await goingOn.concluded(outcome, assert.fail);
      assert.equal(task(), '');
    });
  }

  for (const outcome of ['Interrupted', 'RebootRequired'] as const) {
    test(`keeps its task on Windows when it ends ${outcome}`, async () => {
      const { host, task } = windows();
      await (await arrangeResume(host, { platform: 'windows' }, PROVISION)).concluded(outcome, assert.fail);
      assert.match(task(), /--resume/);
    });
  }

  test('within Windows Setup is repeated by Setup: no task is created', async () => {
    const { host } = windows();
    await arrangeResume(host, { platform: 'windows' }, { ...PROVISION, invoker: 'unattend' });
    assert.deepEqual(host.log, []);
  });
});

describe('the reboot at the end of a run', () => {
  const machine = (status = 0) =>
    memoryHost({
      programs: {
        'C:\\Windows\\System32\\shutdown.exe': () => ({ status, stderr: status === 0 ? '' : 'Access is denied.(5)' }),
        systemctl: () => ({ status }),
      },
    });

  test('is made by machineadm if a user or a unit started it', async () => {
    const host = machine();
    await rebootIfOurs(host, { platform: 'windows' }, PROVISION, REBOOTING);
    await rebootIfOurs(host, { platform: 'linux' }, PROVISION, REBOOTING);
    assert.deepEqual(host.log, [
      'run C:\\Windows\\System32\\shutdown.exe /r /t 5 /d p:2:4 /c machineadm: a change needs a reboot',
      'run systemctl reboot --no-block',
    ]);
  });

  for (const invoker of ['cloudbase-init', 'unattend'] as const) {
    test(`is left to ${invoker}, which reads the exit code`, async () => {
      const host = machine();
      await rebootIfOurs(host, { platform: 'windows' }, { ...PROVISION, invoker }, REBOOTING);
      assert.deepEqual(host.log, []);
    });
  }

  test('does not happen if the document leaves it to others, or the run failed', async () => {
    const host = machine();
    const failure = { ...REBOOTING.failure, reason: 'RebootRequired' } as const;
    await rebootIfOurs(host, { platform: 'linux' }, PROVISION, { ...REBOOTING, failure });
    await rebootIfOurs(host, { platform: 'linux' }, PROVISION, { outcome: 'Succeeded', exit: 'Success' });
    assert.deepEqual(host.log, []);
  });

  test('that does not happen is reported', async () => {
    const error = await rebootIfOurs(machine(1), { platform: 'windows' }, PROVISION, REBOOTING).then(
      () => assert.fail('it was taken for done'),
      (thrown: unknown) => thrown,
    );
    assert.ok(error instanceof MachineadmError);
    assert.deepEqual([error.reason, error.evidence[0]?.text], ['RebootRequired', 'Access is denied.(5)']);
  });
});
