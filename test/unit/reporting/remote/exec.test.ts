import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ExecSinkModel } from '@machineadm/document/model/index.ts';
import { Secret } from '@machineadm/document/secrets/secret.ts';
import { runCommand } from '../../../../src/host/linux/commands.ts';
import { sinkContext } from '../../../../src/reporting/delivery/context.ts';
import { attempt } from '../../../../src/reporting/delivery/sink-delivery.ts';
import { remoteSinkOf } from '../../../../src/reporting/remote/registry.ts';
import { memoryHost } from '../../../support/memory-host.ts';
import { reported } from '../events.ts';

/** Delivers an event to a real shell. */
async function deliver(script: string, more: Partial<ExecSinkModel> = {}, event = reported()) {
  const model: ExecSinkModel = {
    kind: 'Exec',
    name: 'plug-in',
    events: ['concluded'],
    timeoutMs: 60_000,
    command: ['sh', '-c', script],
    environment: {},
    ...more,
  };
  const { context, close } = sinkContext(
    { proxy: undefined, certificateAuthorities: [] },
    { ...memoryHost(), run: (command) => runCommand(command) },
  );
  const sink = await remoteSinkOf(model);
  try {
    return await attempt(
      event,
      { sink, timeoutMs: model.timeoutMs, context, signal: new AbortController().signal },
      9000,
    );
  } finally {
    await close();
  }
}

describe('a program as a sink', () => {
  test('gets the event as one line of JSON, and its id, its type and the variables of the document', async () => {
    const environment = { TOKEN: { name: 't', source: { kind: 'value' as const, secret: new Secret('the token!') } } };
    const script = `read -r line || exit 3; read -r more && exit 4; test "$TOKEN" = 'the token!' || exit 5
      test "$MACHINEADM_EVENT_ID $MACHINEADM_EVENT_TYPE" = "run-1.1 started" || exit 6
      case $line in '{"apiVersion":"machineadm.dev/event/v1","kind":"BootstrapEvent","id":"run-1.1"'*) ;; *) exit 7;; esac`;
    assert.deepEqual(await deliver(script, { environment }), { kind: 'delivered' });
  });

  test('need not read its input, however long it is', async () => {
    const warnings = Array.from({ length: 3000 }, () => 'w'.repeat(100));
    assert.deepEqual(await deliver('exit 0', {}, reported({ warnings })), { kind: 'delivered' });
  });

  test('has none of our environment', async () => {
    assert.deepEqual(await deliver('test -z "$PWD_OF_TEST$npm_config_cache$NODE_TEST_CONTEXT"'), { kind: 'delivered' });
  });

  test('exits with 75 to be retried, and may name the time', async () => {
    assert.deepEqual(await deliver('echo no network yet >&2; exit 75'), {
      kind: 'retry',
      why: 'status 75: no network yet',
    });
    assert.deepEqual(await deliver(`echo '{"retryAfterSeconds": 2.5}'; exit 75`), {
      kind: 'retry',
      why: 'status 75',
      afterMs: 2500,
    });
  });

  test('refuses permanently with any other status', async () => {
    assert.deepEqual(await deliver('echo what is this >&2; exit 1'), {
      kind: 'refused',
      why: 'status 1: what is this',
    });
  });

  test('that is not installed, or was killed, is retried', async () => {
    const missing = await deliver('', { command: ['no-such-program-here'] });
    assert.deepEqual(missing, { kind: 'retry', why: 'no-such-program-here could not be started: it is not installed' });
    assert.equal((await deliver('kill -9 $$')).kind, 'retry');
  });

  test('that hangs is ended', { timeout: 120_000 }, async () => {
    const result = await deliver('sleep infinity & sleep infinity', { timeoutMs: 200 });
    assert.match(result.kind === 'retry' ? result.why : '', /^no answer/);
  });
});
