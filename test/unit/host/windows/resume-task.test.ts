import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import type { Command, CommandResult } from '../../../../src/host/seam/host.ts';
import {
  commandLine,
  RESUME_TASK_FILE,
  registerResumeTask,
  removeResumeTask,
  resumeTaskXml,
} from '../../../../src/host/windows/resume-task.ts';

const COMMAND = ['C:\\k\\machineadm.exe', 'provision', '--resume', '-d', 'C:\\Program Data\\a&b.yaml'];
const SCHTASKS = 'C:\\Windows\\System32\\schtasks.exe';

/** A Task Scheduler: what it was given, and what it shows. Its texts are composed, of a German Windows. */
function scheduler(different: { deaf?: boolean; refuses?: boolean; keeps?: boolean } = {}) {
  const log: string[] = [];
  let definition: string | undefined;
  let file: Uint8Array | undefined;
  const answer = (status: number, stdout = '', stderr = ''): CommandResult => ({
    status,
    stdout,
    stderr,
    timedOut: false,
  });
  return {
    log,
    definition: () => definition,
    file: () => file,
    host: {
      async writeFile(written: { path: string; content: unknown; mode: number }) {
        assert.ok(written.content instanceof Uint8Array);
        file = written.content;
        log.push(`write ${written.path} ${written.mode.toString(8)}`);
      },
      async removeFile(path: string) {
        file = undefined;
        log.push(`remove ${path}`);
      },
      async run({ program, args }: Command) {
        log.push([program, ...args].join(' '));
        // Wine's stub: it says nothing and ends well.
        if (different.deaf === true) return answer(0);
        switch (args[0]) {
          case '/Create':
            if (different.refuses === true) return answer(1, '', 'FEHLER: Zugriff verweigert');
            definition = Buffer.from(file ?? [])
              .toString('utf16le')
              .slice(1);
            return answer(0, 'ERFOLGREICH: Die geplante Aufgabe "\\machineadm\\resume" wurde erfolgreich erstellt.');
          case '/Query':
            // Windows escapes no quotes in text.
            return definition === undefined
              ? answer(1, '', 'FEHLER: Das System kann die angegebene Datei nicht finden.')
              : answer(0, definition.replaceAll('&quot;', '"'));
          default:
            if (different.keeps !== true) definition = undefined;
            return answer(0, 'ERFOLGREICH');
        }
      },
    },
  };
}

async function refused(work: Promise<void>): Promise<MachineadmError> {
  const error = await work.then(
    () => assert.fail('it was taken for done'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof MachineadmError);
  assert.deepEqual([error.reason, error.exit], ['ResumptionNotArranged', 'HostStepFailed']);
  return error;
}

describe('the task that resumes a run', () => {
  test('is registered from a file that is private and removed afterwards, and is then verified', async () => {
    const { host, log, definition } = scheduler();
    await registerResumeTask(host, COMMAND);
    assert.deepEqual(log, [
      `write ${RESUME_TASK_FILE} 600`,
      `${SCHTASKS} /Create /TN \\machineadm\\resume /XML ${RESUME_TASK_FILE} /F`,
      `${SCHTASKS} /Query /TN \\machineadm\\resume /XML`,
      `remove ${RESUME_TASK_FILE}`,
    ]);
    assert.match(definition() ?? '', /<Command>C:\\k\\machineadm.exe<\/Command>/);
    assert.match(
      definition() ?? '',
      /<Arguments>provision --resume -d &quot;C:\\Program Data\\a&amp;b.yaml&quot;<\/Arguments>/,
    );
  });

  test('is written as UTF-16 with its mark, as schtasks.exe wants it', async () => {
    const task = scheduler();
    let seen: Uint8Array | undefined;
    const run = task.host.run;
    task.host.run = async (command) => {
      seen ??= task.file();
      return await run(command);
    };
    await registerResumeTask(task.host, COMMAND);
    const bytes = Buffer.from(seen ?? []);
    assert.equal(bytes.subarray(0, 2).toString('hex'), 'fffe');
    assert.match(
      bytes.subarray(2).toString('utf16le'),
      /^<\?xml version="1.0" encoding="UTF-16"\?>\r\n<Task version="1.4"/,
    );
  });

  test('runs at boot as the system, for as long as it takes, on batteries too, and never twice at a time', () => {
    const xml = resumeTaskXml({ program: 'p', arguments: '' });
    for (const part of [
      '<BootTrigger>',
      '<UserId>S-1-5-18</UserId>',
      '<RunLevel>HighestAvailable</RunLevel>',
      '<ExecutionTimeLimit>PT0S</ExecutionTimeLimit>',
      '<DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>',
      '<StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>',
      '<StartWhenAvailable>true</StartWhenAvailable>',
      '<MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>',
    ])
      assert.ok(xml.includes(part), part);
  });

  test('is deleted', async () => {
    const { host, log, definition } = scheduler();
    await registerResumeTask(host, COMMAND);
    log.length = 0;
    await removeResumeTask(host);
    assert.equal(definition(), undefined);
    assert.deepEqual(log, [
      `${SCHTASKS} /Delete /TN \\machineadm\\resume /F`,
      `${SCHTASKS} /Query /TN \\machineadm\\resume /XML`,
    ]);
  });

  test('is deleted without an error if it does not exist', async () => {
    const { host } = scheduler();
    await removeResumeTask(host);
  });

  test('is not taken as registered if schtasks.exe is a stub that exits with 0 and prints nothing', async () => {
    await refused(registerResumeTask(scheduler({ deaf: true }).host, COMMAND));
  });

  test('that Windows refuses fails with its message, and leaves no file', async () => {
    const task = scheduler({ refuses: true });
    const { evidence } = await refused(registerResumeTask(task.host, COMMAND));
    assert.deepEqual(
      evidence.map(({ text }) => text),
      ['status 1', 'FEHLER: Zugriff verweigert'],
    );
    assert.equal(task.file(), undefined);
  });

  test('is not taken as deleted while it exists', async () => {
    const { host } = scheduler({ keeps: true });
    await registerResumeTask(host, COMMAND);
    await refused(removeResumeTask(host));
  });

  test('that starts something else is not ours', async () => {
    const task = scheduler();
    const run = task.host.run;
    task.host.run = async (command) => {
      const result = await run(command);
      return { ...result, stdout: result.stdout.replace('--resume', '--other') };
    };
    await refused(registerResumeTask(task.host, COMMAND));
  });
});

describe('a command line of Windows', () => {
  for (const [args, line] of [
    [['a', 'b'], 'a b'],
    [[''], '""'],
    [['a b'], '"a b"'],
    [['C:\\x\\'], 'C:\\x\\'],
    [['C:\\x y\\'], '"C:\\x y\\\\"'],
    [['say "hi"'], '"say \\"hi\\""'],
    [['a\\"b'], '"a\\\\\\"b"'],
    [['a\\\\b'], 'a\\\\b'],
  ] as const) {
    test(`of ${JSON.stringify(args)} is ${line}`, () => assert.equal(commandLine(args), line));
  }
});
