import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { formatDiagnostic } from '../../../src/document/diagnostics.ts';
import { loadDocument } from '../../../src/document/load.ts';
import type { VariableResolver } from '../../../src/document/variables.ts';
import { problemsOf } from '../../support/document.ts';

const HEADER = 'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: n1}\n';

function loadWith(body: string, resolveVariables?: VariableResolver) {
  const sources = [{ name: 'doc.yaml', bytes: new TextEncoder().encode(HEADER + body) }];
  return loadDocument(sources, {
    agentVersion: '0.1.0',
    ...(resolveVariables === undefined ? {} : { resolveVariables }),
  });
}

const RACK = 'variables: {rack: {instanceData: ds.meta_data.rack}, zone: {value: z1}}\n';
const resolver: VariableResolver = async (_name, source) =>
  source.kind === 'instanceData' && source.path === 'ds.meta_data.rack'
    ? { value: 'r7' }
    : { value: undefined, known: ['ds.meta_data.rack'] };

describe('variables', () => {
  test('are replaced in the fields that differ from machine to machine', async () => {
    const body = `${RACK}host: {hostname: "node-\${rack}-\${zone}"}\n`;
    const result = await loadWith(body, resolver);
    assert.ok(result.ok);
    assert.equal(result.document.model.host.hostname, 'node-r7-z1');
  });

  test('stand for themselves in hooks, in files without `expand`, and behind a doubled $', async () => {
    const body = `${RACK}host:\n  hooks: {early: {commands: ["echo \${rack}"]}}\n  files: [{path: /a, content: "\${rack}"}, {path: /b, content: "\${rack} $\${rack}", expand: true}]\n`;
    const result = await loadWith(body, resolver);
    assert.ok(result.ok);
    const { host } = result.document.model;
    assert.deepEqual(host.hooks.early?.commands, ['echo ${rack}']);
    assert.deepEqual(
      host.files.map(({ content }) => (content.kind === 'inline' ? new TextDecoder().decode(content.bytes) : '')),
      ['${rack}', 'r7 ${rack}'],
    );
  });

  test('that do not exist end with one error that lists what exists', async () => {
    const result = await loadWith(
      `variables: {rack: {instanceData: ds.nowhere}}\nhost: {hostname: "n-\${rack}", time: {servers: ["\${rack}"]}}\n`,
      resolver,
    );
    assert.ok(!result.ok);
    assert.deepEqual(result.problems.map(formatDiagnostic), [
      `doc.yaml:5:18  host.hostname: the variable "rack" has no value: ds.nowhere in cloud-init's instance data does not exist (hint: there is ds.meta_data.rack)`,
    ]);
  });

  test('that nobody defined are mistakes, with the nearest name', async () => {
    assert.deepEqual(await problemsOf(`${RACK}host: {hostname: "n-\${rak}"}\n`), [
      'doc.yaml:5:18  host.hostname: there is no variable "rak" (hint: did you mean "rack"?)',
    ]);
  });

  test('whose value nobody can know here do not make the field a mistake', async () => {
    const result = await loadWith(`${RACK}host: {hostname: "\${rack}"}\n`);
    assert.ok(result.ok);
  });

  test('put in a value that breaks the field: the field is the mistake', async () => {
    const result = await loadWith(`${RACK}host: {hostname: "n-\${rack}"}\n`, async () => ({ value: 'Not Valid' }));
    assert.ok(!result.ok);
    assert.match(result.problems.map(formatDiagnostic).join(), /host\.hostname: not a valid host name/);
  });

  test('are never expanded again, nor read as YAML', async () => {
    const body = `${RACK}host: {files: [{path: /a, content: "\${rack}", expand: true}]}\n`;
    const result = await loadWith(body, async () => ({ value: '${zone}\nswap: Disabled' }));
    assert.ok(result.ok);
    const [file] = result.document.model.host.files;
    assert.ok(file?.content.kind === 'inline');
    assert.equal(new TextDecoder().decode(file.content.bytes), '${zone}\nswap: Disabled');
  });
});
