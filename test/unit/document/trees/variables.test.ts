import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { formatDiagnostic } from '@machineadm/document/diagnostics/index.ts';
import { loadDocument } from '@machineadm/document/loading/load.ts';
import type { VariableResolver } from '@machineadm/document/trees/variables.ts';
import { attack } from '../../../support/attacks.ts';
import { problemsOf } from '../../../support/document.ts';

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

  describe('in hooks', () => {
    const answering =
      (value: string): VariableResolver =>
      async () => ({ value });
    const body = (hook: string): string => `${RACK}host:\n  hooks: {early: ${hook}}\n`;

    test(
      'are replaced in the environment as they are, whatever is in them',
      attack('Variables in hooks', 'shell syntax in a value that becomes an environment variable', async () => {
        const value = `'; rm -rf / #$(id)\`id\`\n"`;
        const result = await loadWith(
          body('{environment: {RACK: "at ${rack}"}, commands: [\'echo "$RACK"\']}'),
          answering(value),
        );
        assert.ok(result.ok);
        const { early } = result.document.model.host.hooks;
        assert.deepEqual([early?.environment, early?.commands], [{ RACK: `at ${value}` }, ['echo "$RACK"']]);
        return 1;
      }),
    );

    test(
      'are refused in a command when a shell would interpret them, with the place of the command',
      attack('Variables in hooks', 'shell syntax in a value that is expanded in a command', async () => {
        const commands = body('{expand: true, commands: ["true", "echo ${rack}"]}');
        for (const value of [
          'a b',
          'a;b',
          '$(id)',
          '`id`',
          "'",
          '"',
          'a|b',
          'a&b',
          '-rf',
          '*',
          '%PATH%',
          'a\nb',
          '~',
          '{a,b}',
          '\\',
        ]) {
          const result = await loadWith(commands, answering(value));
          assert.ok(!result.ok, value);
          assert.deepEqual(result.problems.map(formatDiagnostic), [
            `doc.yaml:6:52  host.hooks.early.commands[1]: the value of the variable "rack" has a character that a shell interprets (hint: set an environment variable to it (environment: {VALUE: \${rack}}) and write "$VALUE" in the command)`,
          ]);
        }
        return 15;
      }),
    );

    test('are replaced in a command when no shell would interpret them', async () => {
      for (const value of ['r7', 'i-0abc', '10.0.0.1', 'fd00::1', 'eu-west-1a', '/dev/sda', 'a=b', 'x@y']) {
        const result = await loadWith(body('{expand: true, commands: ["echo ${rack} ${zone}"]}'), answering(value));
        assert.ok(result.ok, value);
        assert.deepEqual(result.document.model.host.hooks.early?.commands, [`echo ${value} z1`]);
      }
    });

    test('are replaced in the words of a command, which no shell takes apart', async () => {
      const words = body("{expand: true, commands: [[echo, \"it's  $HOME *\", 'at-${rack}']]}");
      const result = await loadWith(words, answering('r7'));
      assert.ok(result.ok);
      assert.deepEqual(result.document.model.host.hooks.early?.commands, [`'echo' 'it'\\''s  $HOME *' 'at-r7'`]);
    });

    test('have secrets by the path of a file, which must exist and not share a name', async () => {
      assert.deepEqual(
        await problemsOf(
          'host: {hooks: {early: {secrets: {A: {secret: gone}}, environment: {A: x}, commands: [x]}}}\n',
        ),
        [
          'doc.yaml:4:37  host.hooks.early.secrets.A: environment sets "A", too (hint: rename one of them)',
          'doc.yaml:4:46  host.hooks.early.secrets.A.secret: no secret of the name "gone" (hint: add it under "secrets")',
        ],
      );
      assert.deepEqual(
        await problemsOf(
          'secrets: {s: {file: /s}}\nhost: {hooks: {early: {frequency: Always, secrets: {A: {secret: s}}, commands: [x]}}}\n',
        ),
        [
          'doc.yaml:5:52  host.hooks.early.secrets: a hook of every boot cannot use secrets: the document is not available when the machine boots (hint: read the secret in the command, or use frequency: Once)',
        ],
      );
    });
  });

  test('that do not exist are one error that lists the existing ones', async () => {
    const result = await loadWith(
      `variables: {rack: {instanceData: ds.nowhere}}\nhost: {hostname: "n-\${rack}", time: {servers: ["\${rack}"]}}\n`,
      resolver,
    );
    assert.ok(!result.ok);
    assert.deepEqual(result.problems.map(formatDiagnostic), [
      `doc.yaml:5:18  host.hostname: the variable "rack" has no value: ds.nowhere in cloud-init's instance data does not exist (hint: there is ds.meta_data.rack)`,
    ]);
  });

  test('that are not defined are mistakes, with the nearest name', async () => {
    assert.deepEqual(await problemsOf(`${RACK}host: {hostname: "n-\${rak}"}\n`), [
      'doc.yaml:5:18  host.hostname: there is no variable "rak" (hint: did you mean "rack"?)',
    ]);
  });

  test('whose value is not known yet do not make the field a mistake', async () => {
    const result = await loadWith(`${RACK}host: {hostname: "\${rack}"}\n`);
    assert.ok(result.ok);
  });

  test('whose value breaks the field are a mistake of the field', async () => {
    const result = await loadWith(`${RACK}host: {hostname: "n-\${rack}"}\n`, async () => ({ value: 'Not Valid' }));
    assert.ok(!result.ok);
    assert.match(result.problems.map(formatDiagnostic).join(), /host\.hostname: (?:".*" is )?not a valid host name/);
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
