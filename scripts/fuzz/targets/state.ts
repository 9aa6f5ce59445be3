import { HARDENING_RECORD } from '@machineadm/document/ownership/paths.ts';
import { formatChecklist } from '@machineadm/status/checklist.ts';
import { eventLine, SIZE_CLASSES, truncateEvent } from '@machineadm/status/event.ts';
import { formatStatus, formatSummary } from '@machineadm/status/progress.ts';
import { summaryOf } from '@machineadm/status/summary.ts';
import { formatTimeline } from '@machineadm/status/timeline-chart.ts';
import { parseKeptHooks } from '../../../src/features/hooks/kept.ts';
import { withChecksum } from '../../../src/host/files/checksum.ts';
import { linesOf } from '../../../src/host/local-files/append-log.ts';
import { readTransaction, TRANSACTION } from '../../../src/kubernetes/api-server/transaction.ts';
import { readRecord } from '../../../src/kubernetes/hardening/record.ts';
import { type JournalState, readJournal, withNotes } from '../../../src/pipeline/journal.ts';
import { parsePrepared, usableNotes } from '../../../src/pipeline/prepared.ts';
import { journalForInstance } from '../../../src/pipeline/run-journal.ts';
import { stepRecord } from '../../../src/pipeline/step-record.ts';
import { parseStatus, parseSummary } from '../../../src/reporting/parse-status.ts';
import { deserializePlan, serializePlan } from '../../../src/reporting/spool/serialized-plan.ts';
import { isExpired, Spool } from '../../../src/reporting/spool/spool.ts';
import { memoryHost } from '../../../test/support/memory-host.ts';
import {
  begun,
  bootstrapped,
  done,
  ended,
  identity,
  lines,
  MACHINE_B,
  started,
} from '../../../test/unit/pipeline/records.ts';
import { reported } from '../../../test/unit/reporting/events.ts';
import { FAILURE, statusAfter } from '../../../test/unit/reporting/runs.ts';
import { checksummedJson, checksummedJsonLine, json, jsonLine } from '../mutators/json.ts';
import type { FuzzTarget } from '../target.ts';

const JSON_TOKENS = [
  '{',
  '}',
  '[',
  ']',
  '"',
  ':',
  ',',
  '\\u0000',
  '\\',
  'null',
  '0',
  '-1',
  '\n',
  '\u0000',
  '"crc32":"',
];

const JOURNAL = [
  ...lines([
    ...bootstrapped('run-1'),
    { is: 'owed', step: 'sysctl', change: 'sysctl/file', followUps: ['daemon-reload', 'restart:containerd'] },
    { is: 'settled', followUp: 'daemon-reload' },
    { is: 'wrote', step: 'files', path: '/etc/a', before: 'present' },
    { is: 'enabled', step: 'services', service: 'kubelet' },
    { is: 'inventory', step: 'kubeadm', entries: [{ path: '/etc/kubernetes/pki/ca.crt', type: 'file', size: 7 }] },
    { is: 'reboot', step: 'hostname', now: 'Owed' },
    ended('run-1'),
    { ...begun('run-2'), written: 'sha', sources: ['/etc/machineadm/bootstrap.yaml'] },
    started('hooks-early', 'hooks-early/run'),
    done('hooks-early', 'hooks-early/run', ['kubeadm']),
    { is: 'note', step: 'hooks-early', change: 'edited:/etc/a b', note: { sha256: 'a' } },
    { is: 'step', step: 'sysctl', changes: ['sysctl/file'] },
  ]),
].map(withChecksum);

export const journal: FuzzTarget = {
  name: 'journal',
  reads: 'The journal of a machine',
  seeds: [`${JOURNAL.join('\n')}\n`],
  tokens: JSON_TOKENS,
  isBinary: true,
  grammar: [checksummedJsonLine, jsonLine],
  run: async (input) => {
    const { lines: found } = linesOf(Buffer.from(input, 'latin1'));
    const state = readJournal('/var/lib/machineadm/journal', found);
    if (state === undefined) return 'no journal';
    const words: string[] = [];
    for (const seen of [state, journalForInstance(state, identity({ machineId: MACHINE_B })), withNotes(state, [])]) {
      words.push(describeState(seen));
      for (const step of ['kubeadm', 'hooks-early', 'sysctl']) stepRecord(seen, step);
    }
    return words.join('\n');
  },
};

function describeState({ attempts, open, owed, proven, foreign, bootstrappedFrom }: JournalState): string {
  return JSON.stringify([attempts, open?.run, [...owed], proven, foreign, bootstrappedFrom]);
}

const STATUS = statusAfter(
  { kind: 'planned', steps: ['sysctl', 'kubeadm'] },
  { kind: 'stepStarted', step: 'sysctl' },
  { kind: 'stepDone', step: 'sysctl', end: { state: 'Succeeded', changes: ['sysctl/file'], durationMs: 12 } },
  { kind: 'stepStarted', step: 'kubeadm' },
  { kind: 'waiting', step: 'kubeadm', waitingFor: 'the API server' },
  { kind: 'concluded', conclusion: { outcome: 'Failed', exitCode: 11, failure: FAILURE } },
);
const checksummedText = (value: unknown) => `${withChecksum(JSON.stringify(value, undefined, 2))}\n`;

export const status: FuzzTarget = {
  name: 'status',
  reads: 'The status file',
  seeds: [checksummedText(STATUS), checksummedText(statusAfter({ kind: 'stepStarted', step: 'kubeadm' }))],
  tokens: JSON_TOKENS,
  grammar: [checksummedJson, json],
  run: async (input) => {
    const found = parseStatus(input, '/run/machineadm/status.json');
    const style = { color: true, titleOf: (step: string) => step };
    return [
      formatStatus(found, style),
      formatTimeline(found, style),
      ...formatChecklist(found, 1e12, { ...style, columns: 80, rows: 10, unicode: true }),
    ].join('\n');
  },
};

export const summary: FuzzTarget = {
  name: 'summary',
  reads: 'The summary of the status',
  seeds: [
    checksummedText(summaryOf(STATUS)),
    checksummedText(summaryOf(statusAfter({ kind: 'stepStarted', step: 'kubeadm' }))),
  ],
  tokens: JSON_TOKENS,
  grammar: [checksummedJson, json],
  run: async (input) => formatSummary(parseSummary(input, '/run/machineadm/summary.json'), { color: true }),
};

const PLAN = serializePlan({
  model: {
    kind: 'Webhook',
    name: 'a',
    events: ['concluded'],
    timeoutMs: 10_000,
    url: 'https://hooks.example/a',
  } as never,
  network: { proxy: undefined, certificateAuthorities: [] },
  local: [{ kind: 'Console', name: 'console', events: ['concluded'], device: '/dev/ttyS0' } as never],
}).text;

/** The files of a sink in a spool, a line each: its state, its plan and an event. */
export const spool: FuzzTarget = {
  name: 'spool',
  reads: 'Events that wait in the spool, and the plans and states of their sinks',
  seeds: [
    [{ failures: 3, refused: 1, lost: 2, told: true, lastError: 'HTTP 503' }, JSON.parse(PLAN), reported()]
      .map((value) => withChecksum(JSON.stringify(value)))
      .join('\n'),
  ],
  tokens: JSON_TOKENS,
  grammar: [checksummedJsonLine, jsonLine],
  run: async (input) => {
    const [state = '', plan = '', ...events] = input.split('\n');
    const root = '/var/lib/machineadm/spool';
    const host = memoryHost({
      files: {
        [`${root}/a~state.json`]: state,
        [`${root}/a~sink.json`]: plan,
        [`${root}/a~000000001~run-1.1.json`]: events.join('\n'),
      },
    });
    const found = new Spool(host, [root]);
    const words = [JSON.stringify(await found.state('a'))];
    for (const [name, text] of await found.plans()) words.push(`${name} ${deserializePlan(text)?.model.kind}`);
    for (const waiting of await found.waiting('a')) {
      const event = await found.read(waiting);
      if (event === undefined) {
        await found.setAside(waiting);
        words.push((await host.list(`${root}/quarantine`))?.join() ?? 'nothing was kept');
        continue;
      }
      isExpired(event, { time: 1e12, sinceBootMs: 1e6 }, 'b1');
      for (const size of Object.values(SIZE_CLASSES)) words.push(eventLine(truncateEvent(event, size), 200));
    }
    return words.join('\n');
  },
};

export const prepared: FuzzTarget = {
  name: 'prepared',
  reads: 'The record of what an image was prepared with',
  seeds: [
    checksummedText({
      version: 1,
      agentVersion: '0.1.0',
      preparedAt: '2026-11-20T10:00:00.000Z',
      baseSha256: 'a'.repeat(64),
      steps: [{ step: 'sysctl', sha256: 'b'.repeat(64), changes: ['sysctl/file'] }],
      notes: [{ step: 'images', change: 'images/a.tar', note: { fingerprint: 'f' } }],
    }),
  ],
  tokens: JSON_TOKENS,
  grammar: [checksummedJson, json],
  run: async (input) => {
    const found = parsePrepared(input);
    const notes = usableNotes(found, undefined, identity());
    return JSON.stringify([found?.steps, notes]);
  },
};

/** State files of steps below /var/lib/machineadm, a line each. */
export const kept: FuzzTarget = {
  name: 'kept-files',
  reads: 'State files: hooks for every boot, an interrupted change of the API server, the record of the hardening',
  seeds: [
    [
      { version: 1, machineId: 'a', group: { shell: 'sh', onError: 'Fail', timeoutMs: 1000, commands: ['true'] } },
      { cluster: 'apiVersion: v1', processes: ['7'], files: [{ path: '/etc/a', content: 'a', mode: 384 }] },
      { version: 1, profiles: ['CIS'], include: [], exceptions: [{ id: 'cis-1.2.1', reason: 'none' }] },
    ]
      .map((value) => withChecksum(JSON.stringify(value)))
      .join('\n'),
  ],
  tokens: JSON_TOKENS,
  grammar: [checksummedJsonLine, jsonLine],
  run: async (input) => {
    const [hooks = '', change = '', ...rest] = input.split('\n');
    const host = memoryHost({
      files: {
        [TRANSACTION]: change,
        [HARDENING_RECORD]: rest.join('\n'),
      },
    });
    const found = [parseKeptHooks(hooks), await readRecord(host)];
    return JSON.stringify([found, await readTransaction(host)]);
  },
};
