import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { WebhookSinkModel } from '@machineadm/document/model/index.ts';
import { Secret, type SecretValue } from '@machineadm/document/secrets/secret.ts';
import { deserializePlan, type SinkPlan, serializePlan } from '../../../../src/reporting/spool/serialized-plan.ts';

const LITERAL = 'not to be found anywhere';

function planWith(...signingSecrets: readonly SecretValue[]): SinkPlan {
  const model: WebhookSinkModel = {
    kind: 'Webhook',
    name: 'hook',
    events: ['concluded'],
    timeoutMs: 1000,
    url: 'https://receiver.example/hook',
    signingSecrets,
    headers: {},
    tls: { certificateAuthority: undefined, clientCertificate: undefined },
  };
  return { model, network: { proxy: undefined, certificateAuthorities: [] }, local: [{ kind: 'Journal' }] };
}

function value(text: string, name = 'the secret'): SecretValue {
  return { name, source: { kind: 'value', secret: new Secret(text) } };
}

describe('a serialized plan', () => {
  test('contains no value: data that only this process has is stored in files', () => {
    const secrets: SecretValue[] = [
      value(LITERAL),
      { name: 'of the environment', source: { kind: 'env', variable: 'TOKEN' } },
      { name: 'of the unit', source: { kind: 'systemdCredential', name: 'token' } },
    ];
    const { text, carried } = serializePlan(planWith(...secrets));
    assert.doesNotMatch(text, /not to be found/);
    assert.deepEqual([...carried.values()], secrets);
    for (const path of carried.keys()) assert.match(path, /^\/run\/machineadm\/reporting\/[0-9a-f]{24}$/);
  });

  test('keeps references that can be followed later, and carries what is inside of them', () => {
    const reference: SecretValue = {
      name: 'fetched',
      source: {
        kind: 'http',
        url: 'https://vault.example/secret',
        headers: { authorization: value(LITERAL, 'inner') },
        sha256: undefined,
        pointer: '/data',
      },
    };
    const { text, carried } = serializePlan(planWith(reference));
    assert.doesNotMatch(text, /not to be found/);
    assert.deepEqual(
      [...carried.values()].map(({ name }) => name),
      ['inner'],
    );
    const { model } = deserializePlan(text) ?? assert.fail('it was not understood');
    const { source } = (model.kind === 'Webhook' ? model.signingSecrets[0] : undefined) ?? assert.fail();
    assert.equal(source.kind, 'http');
    assert.equal(source.kind === 'http' && source.headers.authorization?.source.kind, 'file');
  });

  test('is the plan again when it is deserialized', () => {
    const plan = planWith({ name: 'a file', source: { kind: 'file', path: '/etc/secret' } });
    const thawed = deserializePlan(serializePlan(plan).text);
    assert.deepEqual(thawed, JSON.parse(JSON.stringify(plan)));
  });

  test('carries the secret of one name of two sinks apart', () => {
    const one = serializePlan(planWith(value('first value')));
    const other = serializePlan({
      ...planWith(value('other value')),
      model: { ...planWith(value('other value')).model, name: 'b' },
    });
    assert.notDeepEqual([...one.carried.keys()], [...other.carried.keys()]);
  });

  for (const [what, text] of [
    ['not JSON', '{'],
    ['of another version', '{"version":2,"plan":{}}'],
    ['for a sink that this program does not know', serializePlan(planWith()).text.replace('"Webhook"', '"Pigeon"')],
    ['without its network', serializePlan(planWith()).text.replace('"network"', '"other"')],
  ] as const) {
    test(`is refused when it is ${what}`, () => assert.equal(deserializePlan(text), undefined));
  }
});
