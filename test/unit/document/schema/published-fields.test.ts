import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isUnknownField, type SchemaField, SchemaFields } from '@machineadm/document/schema/published-fields.ts';
import { jsonSchema } from '@machineadm/document/versions/json-schema.ts';

const fields = new SchemaFields(jsonSchema() ?? {});

function found(path: string): SchemaField {
  const field = fields.find(path);
  assert.ok(!isUnknownField(field), path);
  return field;
}

function hintFor(path: string): string {
  const field = fields.find(path);
  assert.ok(isUnknownField(field), path);
  return field.hint;
}

function allBelow(field: SchemaField): SchemaField[] {
  return [...fields.fieldsOf(field), ...fields.kindsOf(field)].flatMap((one) => [one, ...allBelow(one)]);
}

describe('the fields of the document', () => {
  test('are all found by their paths, and say what they are for', () => {
    const all = allBelow(found(''));
    assert.ok(all.length > 800, String(all.length));
    for (const field of all) {
      assert.deepEqual(found(field.path), field);
      assert.ok(field.part.description !== undefined, field.path);
      assert.ok(field.type !== '', field.path);
    }
  });

  test('are named by their types', () => {
    for (const [path, type] of [
      ['host', 'object'],
      ['host.files', '[]object'],
      ['host.files.mode', 'FileMode'],
      ['host.sysctl', 'map[string](string | integer)'],
      ['kubernetes.node.name', 'DnsSubdomain'],
      ['kubernetes.node.labels', 'map[string]string'],
      ['reporting.sinks', '[]object'],
      ['reporting.sinks.Webhook.secret', 'Secret'],
    ] as const) {
      assert.equal(found(path).type, type, path);
    }
  });

  test('are found with the places of lists and the keys of maps, and without them', () => {
    assert.deepEqual(found('host.files[0].content'), found('host.files.content'));
    assert.deepEqual(found('host.files.0.content'), found('host.files.content'));
    assert.deepEqual(found('secrets.joinToken.file').part, found('secrets.file').part);
  });

  test('are required where nothing can be in their place', () => {
    assert.equal(found('kubernetes.version').required, true);
    assert.equal(found('kubernetes.node').required, false);
    assert.equal(found('secrets.file').required, false, 'one of eight sources');
  });

  test('of a table that holds tables end', () => {
    assert.deepEqual(fields.fieldsOf(found('containerRuntime.containerd.settings')), []);
    assert.equal(found('containerRuntime.containerd.settings.debug.level').path.endsWith('level'), true);
  });

  test('that are not there lead to those that are', () => {
    assert.equal(hintFor('kubernetes.jion.discovery'), 'did you mean "join"?');
    assert.equal(hintFor('reporting.sinks.WebHook'), 'did you mean "Webhook"?');
    assert.match(hintFor('host.hostname.x'), /known here: nothing/);
    assert.match(hintFor('nonsense'), /known here: .*and \d+ more|known here: apiVersion/);
  });
});
