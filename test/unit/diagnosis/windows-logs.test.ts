import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { collect } from '../../../src/diagnosis/collect.ts';
import { windowsEventLines, windowsLogLines } from '../../../src/diagnosis/windows-logs.ts';
import { type Recording, windowsMachine } from '../../support/windows-machine.ts';

const BEGAN = Date.parse('2026-01-01T10:00:00Z');
const NOW = BEGAN + 90_000;
const KUBELET_LOG = 'C:\\var\\log\\kubelet\\kubelet.err.log';

const EVENTS = [
  `<Event xmlns='http://schemas.microsoft.com/win/2004/08/events/event'><System><Provider Name='Service Control Manager' Guid='{555908d1-a6d7-4695-8e1e-26931d2012f4}' EventSourceName='Service Control Manager'/><EventID Qualifiers='49152'>7034</EventID><Level>2</Level><TimeCreated SystemTime='2026-01-01T10:01:00.0000000Z'/></System><EventData><Data Name='param1'>kubelet</Data><Data Name='param2'>1</Data></EventData><RenderingInfo Culture='en-US'><Message>The kubelet service terminated unexpectedly.\r\n  It has done this 1 time(s) &amp; more.</Message><Level>Error</Level></RenderingInfo></Event>`,
  `<Event xmlns='http://schemas.microsoft.com/win/2004/08/events/event'><System><Provider Name='Microsoft-Windows-Resource-Exhaustion-Detector'/><EventID>2004</EventID><Level>3</Level></System><EventData><Data>containerd.exe</Data></EventData></Event>`,
].join('\r\n');

const ASKED: Recording = {
  program: 'wevtutil.exe',
  args: [
    'qe',
    'System',
    '/q:*[System[(Level=1 or Level=2 or Level=3) and TimeCreated[timediff(@SystemTime) <= 90000]]]',
    '/c:100',
    '/rd:true',
    '/f:RenderedXml',
  ],
  stdout: EVENTS,
  from: { composed: 'Microsoft Learn, wevtutil; Event Schema; the texts of Windows Server 2022' },
};

/** klog writes local time, as the machine of the test has it. */
function klog(time: number, text: string): string {
  const date = new Date(time);
  const two = (value: number) => `${value}`.padStart(2, '0');
  const day = `${two(date.getMonth() + 1)}${two(date.getDate())}`;
  return `E${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.000000    4242 ${text}`;
}

describe('the logs of a Windows node', () => {
  test('are read from the files of its services, from the beginning of the run on', async () => {
    await using machine = windowsMachine({
      files: {
        [KUBELET_LOG]: [klog(BEGAN - 60_000, 'before'), klog(BEGAN + 1000, 'failed to run Kubelet'), '  more', ''].join(
          '\r\n',
        ),
        'C:\\Program Files\\containerd\\containerd.log': 'time="2026-01-01T10:00:05Z" level=error msg="pipe broken"\n',
        'C:\\Program Files\\containerd\\config.toml': 'version = 2\n',
      },
    });
    const lines = await windowsLogLines(machine.queryHost(), BEGAN, NOW);
    assert.deepEqual(
      lines.map(({ source, origin, text }) => [source, origin, text.replace(/^E.* 4242 /, '')]),
      [
        ['kubelet', KUBELET_LOG, 'failed to run Kubelet'],
        ['kubelet', KUBELET_LOG, '  more'],
        [
          'containerd',
          'C:\\Program Files\\containerd\\containerd.log',
          'time="2026-01-01T10:00:05Z" level=error msg="pipe broken"',
        ],
      ],
    );
  });

  test('are none where nothing was written', async () => {
    await using machine = windowsMachine();
    assert.deepEqual(await windowsLogLines(machine.queryHost(), BEGAN, NOW), []);
  });
});

describe('the Event Log', () => {
  test('is asked by wevtutil for warnings and errors since the run began, oldest first', async () => {
    await using machine = windowsMachine({ recordings: [ASKED] });
    assert.deepEqual(await windowsEventLines(machine.queryHost(), BEGAN, NOW), [
      {
        source: 'kernel',
        origin: 'Event Log, Microsoft-Windows-Resource-Exhaustion-Detector',
        text: 'event 2004: containerd.exe',
      },
      {
        source: 'systemd',
        origin: 'Event Log, Service Control Manager',
        text: 'event 7034: The kubelet service terminated unexpectedly. It has done this 1 time(s) & more.',
      },
    ]);
    machine.assertExpected();
  });

  test('of a stub that says nothing is empty', async () => {
    await using machine = windowsMachine({ recordings: [{ ...ASKED, stdout: '' } as Recording] });
    assert.deepEqual(await windowsEventLines(machine.queryHost(), BEGAN, NOW), []);
  });
});

test('what is collected of a Windows node are its services, their files and its events; no journal is asked', async () => {
  await using machine = windowsMachine({
    recordings: [ASKED],
    files: { [KUBELET_LOG]: `${klog(BEGAN + 1000, 'failed to run Kubelet')}\r\n` },
  });
  const lines = await collect(machine.queryHost(), {
    platform: 'windows',
    since: { realTimeMs: BEGAN },
    role: 'Worker',
    criSocket: 'npipe:////./pipe/containerd-containerd',
    now: () => NOW,
  });
  assert.deepEqual(
    lines.map(({ source, text }) => `${source}: ${text.replace(/^E.* 4242 /, '').replace(/\d+ s$/, 'n s')}`),
    [
      'unit: kubelet: stopped (Stopped)',
      'unit: containerd: active (running) for n s',
      'kubelet: failed to run Kubelet',
      'kernel: event 2004: containerd.exe',
      'systemd: event 7034: The kubelet service terminated unexpectedly. It has done this 1 time(s) & more.',
    ],
  );
  machine.assertExpected();
});
