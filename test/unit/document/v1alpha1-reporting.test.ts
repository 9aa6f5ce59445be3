import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { documentSecrets } from '../../../src/document/secrets-of.ts';
import { loaded, problemsOf } from '../../support/document.ts';

describe('reporting.sinks', () => {
  test('are a journal where nothing is said', async () => {
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

  test('name secrets that must exist, and those are secrets of the document', async () => {
    const body = 'reporting: {sinks: [{type: Exec, command: [a], environment: {TOKEN: {secret: token}}}]}\n';
    assert.match((await problemsOf(body)).join('\n'), /no secret of the name "token"/);
    const document = await loaded(`secrets: {token: {file: /run/token}}\n${body}`);
    assert.deepEqual(
      documentSecrets(document).map(({ name }) => name),
      ['secrets.token'],
    );
  });
});
