import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { formatDiagnostic } from '@machineadm/document/diagnostics/index.ts';
import { refuseSecretsOf } from '@machineadm/document/loading/added-sinks.ts';
import { loadDocument } from '@machineadm/document/loading/load.ts';

const HEADER = 'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: n1}\n';

/** What a document with this body and these sinks of the command line has for sinks, or its problems. */
async function sinksOf(body: string, ...sinks: readonly string[]) {
  const source = { name: 'doc.yaml', bytes: new TextEncoder().encode(HEADER + body) };
  const result = await loadDocument([source], { agentVersion: '0.1.0', sinks });
  if (!result.ok) return { problems: result.problems.map(formatDiagnostic) };
  return { kinds: result.document.model.reporting.sinks.map(({ kind }) => kind), document: result.document };
}

describe('sinks of the command line', () => {
  test('are added after those of the document', async () => {
    const { kinds } = await sinksOf(
      'reporting: {sinks: [{type: Console}]}\n',
      '{type: Exec, command: [a]}',
      'SystemdNotify',
    );
    assert.deepEqual(kinds, ['Console', 'Exec', 'SystemdNotify']);
  });

  test('leave the journal to a document that names no sink, but not to one that disables it', async () => {
    assert.deepEqual((await sinksOf('', '{type: Exec, command: [a]}')).kinds, ['Journal', 'Exec']);
    assert.deepEqual((await sinksOf('reporting: {sinks: []}\n', 'Journal')).kinds, ['Journal']);
  });

  test('are part of the document for its digest', async () => {
    const [without, withOne] = [await sinksOf(''), await sinksOf('', 'SystemdNotify')];
    assert.notEqual(without.document?.digest, withOne.document?.digest);
  });

  test('are validated like those of the document, by the name of the option', async () => {
    for (const [given, expected] of [
      ['{type: Exec}', /^--sink:1:1 {2}reporting\.sinks\[1\]: "command" is missing/],
      ['Carrier', /--sink:1:1 {2}reporting\.sinks\[1\]\.type/],
      ['[1', /^--sink:1:\d+.*not YAML/],
    ] as const) {
      const { problems = [] } = await sinksOf('', given);
      assert.match(problems[0] ?? '', expected);
    }
  });

  test('may refer to a secret of the document, and contain none', async () => {
    const body = 'secrets: {token: {value: the-value-of-the-token}}\n';
    const sink = (value: string) => `{type: Exec, command: [a], environment: {T: ${value}}}`;
    const referring = await sinksOf(body, sink('{secret: token}'));
    refuseSecretsOf(referring.document?.model.reporting.sinks ?? assert.fail());
    const literal = await sinksOf(body, sink('a-secret'));
    assert.throws(() => refuseSecretsOf(literal.document?.model.reporting.sinks ?? []), {
      reason: 'UsageInvalid',
      message: '--sink: T of the sink Exec is a secret, and every user of this machine can read a command line',
    });
  });
});
