import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { documentSecrets } from '@machineadm/document/loading/secrets-of.ts';
import { loaded, problemsOf } from '../../support/document.ts';

describe('reporting.sinks', () => {
  test('default to the journal', async () => {
    const { model } = await loaded('');
    assert.deepEqual(model.reporting.sinks, [{ kind: 'Journal' }]);
  });

  test('are called by their type, and numbered from the second of a type on', async () => {
    const { model } = await loaded(
      'reporting: {sinks: [{type: Exec, command: [a]}, {type: Exec, command: [b]}, {type: Exec, name: mine, command: [c]}]}\n',
    );
    assert.deepEqual(
      model.reporting.sinks.map((sink) => ('name' in sink ? sink.name : '')),
      ['Exec', 'Exec-2', 'mine'],
    );
  });

  test('may not share a name', async () => {
    const problems = await problemsOf(
      'reporting: {sinks: [{type: Exec, command: [a]}, {type: Exec, name: Exec, command: [b]}]}\n',
    );
    assert.equal(problems.length, 1);
    assert.match(problems[0] ?? '', /reporting\.sinks\[1\].*a sink of the name "Exec" is already at/s);
  });

  test('of an unknown type are a mistake that names the types', async () => {
    const problems = await problemsOf('reporting: {sinks: [{type: Carrier}]}\n');
    assert.match(problems.join('\n'), /reporting\.sinks\[0\]\.type/);
  });

  test('know the keys of their own type only', async () => {
    const [problem = ''] = await problemsOf(
      'reporting: {sinks: [{type: OTLP, url: "https://c", endpoint: "https://a"}]}\n',
    );
    assert.match(
      problem,
      /sinks\[0\]\.endpoint: unknown key \(hint: only another type has it; this type has type, url, headers/,
    );
    // Keys of the sinks for AWS and Azure.
    assert.doesNotMatch(problem, /queueURL|topicEndpoint/);
  });

  test('name secrets that must exist, and those are secrets of the document', async () => {
    const body = 'reporting: {sinks: [{type: Exec, command: [a], environment: {TOKEN: {secret: token}}}]}\n';
    assert.match((await problemsOf(body)).join('\n'), /no secret of the name/);
    const document = await loaded(`secrets: {token: {file: /run/token}}\n${body}`);
    assert.deepEqual(
      documentSecrets(document).map(({ name }) => name),
      ['secrets.token'],
    );
  });

  test('of a webhook are validated by the secret that is written in the document', async () => {
    const sink = (secret: string) =>
      `reporting: {sinks: [{type: Webhook, url: 'https://a.example/', secret: ${secret}}]}\n`;
    const good = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
    assert.deepEqual(await problemsOf(sink(good)), []);
    assert.deepEqual(await problemsOf(`secrets: {s: {file: /etc/s}}\n${sink('{secret: s}')}`), []);
    for (const bad of [sink('hunter2-hunter2'), `secrets: {s: {value: hunter2}}\n${sink('{secret: s}')}`]) {
      const [problem = '', ...more] = await problemsOf(bad);
      assert.deepEqual(more, []);
      assert.match(problem, /reporting\.sinks\[0\]\.secret: not a secret of Standard Webhooks.*openssl rand/s);
    }
  });

  test('on a console are a device, or a serial port of Windows', async () => {
    const { model } = await loaded('reporting: {sinks: [{type: Console, device: COM1}, {type: Console}]}\n');
    assert.deepEqual(model.reporting.sinks, [
      { kind: 'Console', device: 'COM1' },
      { kind: 'Console', device: '/dev/console' },
    ]);
    assert.match(
      (await problemsOf('reporting: {sinks: [{type: Console, device: ttyS0}]}\n')).join(),
      /"\/dev\/ttyS0", or "COM1"/,
    );
  });
});
