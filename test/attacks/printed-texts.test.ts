import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, test } from 'node:test';
import { nameGlob, pathGlob } from '@machineadm/document/text/glob.ts';
import { printableJson, printablePainted } from '@machineadm/document/text/printable.ts';
import { formatEvent, formatStatus } from '@machineadm/status/progress.ts';
import type { RunEvent, RunStatus } from '@machineadm/status/status.ts';
import { attack } from '../support/attacks.ts';
import { load } from '../support/document.ts';
import { concludedEvent } from '../support/events.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const KIND = 'Hostile texts';
/** Sets the title of a terminal, clears it, moves the cursor with an 8-bit control, and turns the direction of text. */
const HOSTILE = 'n\u001b]0;title\u0007\u001b[2J\u009b31m\u202eevil\u2066\u200f\rx';
const HIDDEN = /(?![\n\t])[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

/** Every text of a value, replaced. */
function poisoned<Value>(value: Value): Value {
  const poison = (item: unknown): unknown => {
    if (typeof item === 'string') return `${item}${HOSTILE}`;
    if (Array.isArray(item)) return item.map(poison);
    if (typeof item !== 'object' || item === null) return item;
    return Object.fromEntries(Object.entries(item).map(([name, one]) => [name, poison(one)]));
  };
  return poison(value) as Value;
}

const STATUS: RunStatus = {
  ...(concludedEvent() as unknown as RunStatus),
  startedAt: '2026-01-01T00:00:00Z',
  updatedAt: '2026-01-01T00:00:01Z',
  steps: [],
  conditions: [],
  warnings: ['w'],
  document: { ...concludedEvent().document, sources: ['/a'] } as RunStatus['document'],
};

describe('names and quotations in what is printed', () => {
  test(
    'of a status and of all events are clean, whichever field has them',
    attack(KIND, 'control characters in a field of a status or an event', () => {
      const { startedAt, updatedAt, outcome, command, phase } = STATUS;
      const status = { ...poisoned(STATUS), startedAt, updatedAt, outcome, command, phase } as RunStatus;
      const step = { id: `swap${HOSTILE}`, state: 'Succeeded', changes: [], durationMs: 1 } as const;
      const events = [
        { kind: 'started', status },
        { kind: 'step', status, step },
        { kind: 'waiting', status, step: `swap${HOSTILE}`, waitingFor: HOSTILE },
        { kind: 'warning', status, message: HOSTILE },
        { kind: 'concluded', status },
      ] as unknown as readonly RunEvent[];
      const texts = [formatStatus(status), ...events.map((event) => formatEvent(event) ?? '')];
      for (const text of texts) assert.doesNotMatch(text, HIDDEN);
      for (const text of texts.slice(0, 2)) assert.match(text, /nevil x/);
      return texts.length;
    }),
  );

  test(
    'as data and in colours are clean, too',
    attack(KIND, 'control characters in JSON and between colours', () => {
      const json = printableJson({ [HOSTILE]: HOSTILE }, 2);
      assert.doesNotMatch(json, HIDDEN);
      assert.deepEqual(JSON.parse(json), { [HOSTILE]: HOSTILE });
      assert.equal(printablePainted(`\u001b[31mred\u001b[39m ${HOSTILE}`), '\u001b[31mred\u001b[39m nevilx');
      for (const text of ['\u001b\u001b[31m[2J', '\u001b[8mhidden', '\u001b[31;8mx', '\u001b[38;5;1mx'])
        assert.doesNotMatch(printablePainted(text).replaceAll('\u001b[31m', ''), HIDDEN);
      return 6;
    }),
  );

  test('leave the process through few functions, which clean them', () => {
    const writers = globSync('src/**/*.ts', { cwd: ROOT })
      .filter((file) =>
        /process\.std(?:out|err)\.write\(|\bconsole\.\w+\(/.test(readFileSync(resolve(ROOT, file), 'utf8')),
      )
      .sort();
    assert.deepEqual(writers, [
      'src/cli/event-stream.ts',
      // Writes nothing, and waits until all is written.
      'src/cli/lingering.ts',
      'src/cli/output.ts',
      // Writes an archive.
      'src/commands/bundle/run.ts',
      'src/commands/convert/run.ts',
      // Answers, as JSON, the process that started it, which checks and cleans what it says.
      'src/commands/send/run.ts',
    ]);
  });

  test(
    'of a key that is given twice below secrets are left out',
    attack('Secrets in messages', 'a value that is misplaced as a key below secrets', async () => {
      const head = 'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: n1}\n';
      for (const body of [
        'secrets:\n  token:\n    hunter2-s3cret: x\n    hunter2-s3cret: y\n',
        'secrets: {hunter2-s3cret: {value: x}, hunter2-s3cret: {value: y}}\n',
      ]) {
        const loaded = await load(head + body);
        assert.ok(!loaded.ok);
        const problem = loaded.problems.find(({ message }) => message === 'the key is given twice');
        assert.equal(problem?.path, 'secrets');
      }
      return 2;
    }),
  );
});

describe('patterns of names', () => {
  test('match as fnmatch(3) and the documented patterns of paths do', () => {
    for (const [pattern, name, isMatch] of [
      ['*', '', true],
      ['a*b*c', 'axxbyyc', true],
      ['a*b*c', 'axxbyy', false],
      ['machineadm-?.service', 'machineadm-1.service', true],
      ['[!a-c]x', 'dx', true],
      ['[!a-c]x', 'bx', false],
      ['[]x]', ']', true],
      ['[a-', '[a-', true],
      ['a\\*', 'a\\b', true],
      ['a.b', 'axb', false],
      ['(a|b)+', '(a|b)+', true],
    ] as const)
      assert.equal(nameGlob(pattern).matches(name), isMatch, `${pattern} ${name}`);
    assert.deepEqual(
      ['a', 'a/b', ''].map((path) => [pathGlob('*').matches(path), pathGlob('**').matches(path)]),
      [
        [true, true],
        [false, true],
        [true, true],
      ],
    );
  });

  test(
    'take time that grows with the text and the pattern, and not with the ways to match',
    attack(KIND, 'a preset of an image whose pattern matches in many ways', () => {
      const started = process.cpuUsage().user;
      for (const glob of [nameGlob(`${'*a'.repeat(100)}*b`), pathGlob(`${'**a*a'.repeat(50)}b`)])
        assert.equal(glob.matches('a'.repeat(2000)), false);
      const spentMs = (process.cpuUsage().user - started) / 1000;
      assert.ok(spentMs < 2000, `${spentMs} ms of processor time`);
    }),
  );
});
