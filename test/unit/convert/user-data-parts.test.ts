import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { type ConvertOptions, convert } from '@machineadm/convert/index.ts';
import { parse, stringify } from 'yaml';
import { message, type Part } from '../../support/user-data-parts.ts';

const TOKEN = 'abcdef.0123456789abcde0';
const HASH = `sha256:${'a1'.repeat(32)}`;
const JOIN = `kubeadm join api.example:6443 --token ${TOKEN} --discovery-token-ca-cert-hash ${HASH}`;
const VERSION: ConvertOptions = { kubernetesVersion: 'v1.34.2' };

async function converted(text: string, options = VERSION) {
  const { documents, decisions } = await convert([{ name: 'node', text }], options);
  return {
    documents: documents.map(({ yaml }) => parse(yaml)),
    decisions: decisions.map(({ code, at, message }) => `${code} ${at}: ${message}`),
    codes: decisions.map(({ code }) => code),
  };
}

const config = (value: object): string => `#cloud-config\n${stringify(value)}`;
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const CONFIG = config({ write_files: [{ path: '/etc/a', content: 'a = ö\n' }], runcmd: [JOIN] });

describe('user data of several parts', () => {
  const same: readonly (readonly [string, string])[] = [
    ['a part in 7bit', message([{ type: 'text/cloud-config', body: CONFIG }])],
    ['of an unknown type, told by its first line', message([{ type: 'text/plain', body: CONFIG }])],
    ['without a type', message([{ body: CONFIG }])],
    [
      'in base64',
      message([
        {
          type: 'text/cloud-config',
          headers: { 'Content-Transfer-Encoding': 'base64' },
          body: base64(CONFIG).replace(/(.{76})/g, '$1\n'),
        },
      ]),
    ],
    [
      'in quoted-printable',
      message([
        {
          type: 'text/cloud-config',
          headers: { 'Content-Transfer-Encoding': 'Quoted-Printable' },
          body: CONFIG.replaceAll('=', '=3D').replace('ö', '=C3=B6').replace('write_', 'wri=\nte_'),
        },
      ]),
    ],
    [
      'compressed',
      message([
        {
          type: 'application/x-gzip',
          headers: { 'Content-Transfer-Encoding': 'base64' },
          body: gzipSync(CONFIG).toString('base64'),
        },
      ]),
    ],
    [
      'in a part of parts',
      message([{ type: 'multipart/mixed; boundary=inner', body: `--inner\n\n${CONFIG}\n--inner--` }]),
    ],
    ['without its last line', message([{ type: 'text/cloud-config', body: CONFIG }]).replace('--==B==--\n', '')],
    ['text before the first part', message([{ body: CONFIG }]).replace('--==B==', 'This is a message.\n--==B==')],
    ['an archive', `#cloud-config-archive\n${stringify([{ type: 'text/cloud-config', content: CONFIG }])}`],
    ['the whole in base64', base64(message([{ body: CONFIG }]))],
    ['a cloud-config in base64', base64(CONFIG)],
    ['compressed and in base64', gzipSync(CONFIG).toString('base64')],
  ];
  for (const [what, text] of same) {
    test(what, async () => {
      const { documents, decisions } = await converted(text);
      assert.deepEqual(documents, (await converted(CONFIG)).documents, decisions.join('\n'));
      assert.equal(documents[0]?.kubernetes.role, 'Worker');
    });
  }

  test('lines that end as in mail', async () => {
    const { documents } = await converted(message([{ type: 'text/cloud-config', body: CONFIG }], '\r\n'));
    assert.equal(documents[0]?.kubernetes.role, 'Worker');
  });

  test('scripts run by name, before or after the commands; the same name is one script', async () => {
    const script = (name: string, body: string): Part => ({
      type: 'text/x-shellscript',
      headers: { 'Content-Disposition': `attachment; filename="${name}"` },
      body: `#!/bin/sh\n${body}\n`,
    });
    const { documents } = await converted(
      message([
        script('z last.sh', 'echo z'),
        { type: 'text/cloud-config', body: CONFIG },
        { type: 'text/x-shellscript', body: '#!/bin/bash\necho third' },
        script('../b.sh', 'echo old'),
        script('b.sh', 'echo new'),
      ]),
    );
    const { files, hooks } = documents[0].host;
    assert.deepEqual(
      files.map(({ path, mode }: { path: string; mode: string }) => `${path} ${mode}`),
      ['/etc/a 0644', '/opt/user-data/z_last.sh 0700', '/opt/user-data/part-003 0700', '/opt/user-data/b.sh 0700'],
    );
    assert.match(files[3].content, /new/);
    assert.deepEqual(hooks.beforeBootstrap.commands, ['/opt/user-data/b.sh', '/opt/user-data/part-003']);
    assert.deepEqual(hooks.afterBootstrap.commands, ['/opt/user-data/z_last.sh']);
  });

  test('a boothook runs at every boot, with the id of the instance', async () => {
    const { documents } = await converted(
      message([
        { type: 'text/cloud-boothook', body: '#cloud-boothook\n#!/bin/sh\necho $INSTANCE_ID' },
        { type: 'text/cloud-config', body: CONFIG },
      ]),
    );
    const { files, hooks } = documents[0].host;
    assert.equal(files[1].content, '#!/bin/sh\necho $INSTANCE_ID\n');
    assert.equal(hooks.early.frequency, 'Always');
    assert.equal(hooks.early.commands.at(-1), 'INSTANCE_ID="$INSTANCE_ID" /opt/user-data/boothook-part-001');
    assert.match(hooks.early.commands[0], /^export INSTANCE_ID=/);
  });

  test('a script alone; kubeadm in it is guarded', async () => {
    const { documents, codes } = await converted(`#!/bin/bash\nset -e\n${JOIN}\n`);
    assert.deepEqual(documents[0].host.files.length, 1);
    assert.ok(
      documents[0].host.hooks.beforeBootstrap.commands.some((one: string) => one.includes('/opt/user-data/part-001')),
    );
    assert.ok(codes.includes('KubeadmInCommand'), codes.join(' '));
    const hidden = await converted(`#!/bin/bash\n${JOIN}\necho done\n`);
    assert.deepEqual([hidden.documents, hidden.codes.includes('KubeadmHidden')], [[], true]);
  });

  const first = { type: 'text/cloud-config', body: config({ runcmd: ['echo one', JOIN], bootcmd: ['echo boot'] }) };
  const merges: readonly (readonly [string, Part, readonly string[], boolean])[] = [
    ['a later key takes the place', { body: config({ runcmd: [JOIN, 'echo two'] }) }, ['echo two'], true],
    [
      'by its own setting',
      { body: config({ merge_how: 'list(append)+dict(no_replace,recurse_list)+str()', runcmd: ['echo two'] }) },
      ['echo one', 'echo two'],
      false,
    ],
    [
      'by a list of settings',
      {
        body: config({
          merge_type: [
            { name: 'list', settings: ['prepend'] },
            { name: 'dict', settings: ['no_replace', 'recurse_list'] },
          ],
          runcmd: ['echo two'],
        }),
      },
      ['echo two', 'echo one'],
      false,
    ],
    [
      'by its header',
      { headers: { 'Merge-Type': 'list(append)+dict(recurse_array)+str()' }, body: config({ runcmd: ['echo two'] }) },
      ['echo one', 'echo two'],
      false,
    ],
    [
      'without replacing',
      { headers: { 'X-Merge-Type': 'dict()+list()+str()' }, body: config({ runcmd: ['x'] }) },
      ['echo one'],
      true,
    ],
  ];
  for (const [what, second, commands, loses] of merges) {
    test(`cloud-configs are merged: ${what}`, async () => {
      const { documents, codes, decisions } = await converted(message([first, second]));
      const { early, beforeBootstrap, afterBootstrap } = documents[0]?.host.hooks ?? {};
      const all = [...(beforeBootstrap?.commands ?? []), ...(afterBootstrap?.commands ?? [])];
      assert.deepEqual(all, commands, decisions.join('\n'));
      assert.deepEqual(early.commands, ['echo boot']);
      assert.equal(codes.includes('WithoutEffect'), loses);
      assert.ok(!codes.includes('UserDataKey'));
    });
  }

  test('jinja is rendered in the parts that ask for it', async () => {
    const template = `## template: jinja\n${config({ fqdn: '{{ ds.meta_data.name }}' })}`;
    const { documents } = await converted(message([{ type: 'text/jinja2', body: template }, first]));
    assert.equal(documents[0].host.hostname, '${' + 'ds_meta_data_name}');
  });
});

describe('parts without a counterpart, and messages that are none', () => {
  const own = { type: 'text/cloud-config', body: CONFIG };
  const cases: readonly (readonly [string, string, RegExp])[] = [
    [
      'an include',
      message([own, { type: 'text/x-include-url', body: '#include\nhttps://x.example/secret-7Jw' }]),
      /^ToolFirst node: part-002: .*download it/,
    ],
    ['EKS', message([{ type: 'application/node.eks.aws', body: 'kind: NodeConfig' }]), /^NotKubeadm node: EKS/],
    [
      'a part handler',
      message([own, { type: 'text/part-handler', body: '#part-handler\nx' }]),
      /^UserDataPart node: part-002/,
    ],
    [
      'an unknown type',
      message([own, { type: 'text/x-odd', body: 'secret-7Jw' }]),
      /^UserDataPart node: part-002: cloud-init knows no such part/,
    ],
    ['no boundary', 'MIME-Version: 1.0\nContent-Type: multipart/mixed\n\nx', /^InputInvalid node: .*names no boundary/],
    [
      'a boundary nowhere',
      'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=x\n\ny',
      /^InputInvalid node: .*no line has its boundary/,
    ],
    [
      'an unknown encoding',
      message([{ headers: { 'Content-Transfer-Encoding': 'uuencode' }, body: 'x' }]),
      /^InputInvalid node: .*transfer encoding/,
    ],
    [
      'base64 of no text',
      message([{ headers: { 'Content-Transfer-Encoding': 'base64' }, body: '/////w==' }]),
      /^InputInvalid node: .*part 1 is not base64 of a text/,
    ],
    [
      'many parts',
      message(Array.from({ length: 1200 }, () => ({ body: 'x' }))),
      /^InputInvalid node: .*more than 1000 parts/,
    ],
    [
      'merge settings of nobody',
      message([own, { body: config({ merge_how: 'tree(secret-7Jw)', packages: [] }) }]),
      /^InputInvalid node: part-002: .*merge_how/,
    ],
  ];
  for (const [what, text, expected] of cases) {
    test(what, async () => {
      const { decisions } = await converted(text);
      assert.ok(
        decisions.some((one) => expected.test(one)),
        decisions.join('\n'),
      );
      assert.ok(!decisions.join('\n').includes('secret-7Jw'));
    });
  }

  test('deep nesting is refused', async () => {
    let body = CONFIG;
    for (let depth = 0; depth < 50; depth++) {
      body = `MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b${depth}\n\n--b${depth}\n${body}\n--b${depth}--\n`;
    }
    const { decisions } = await converted(body);
    assert.ok(
      decisions.some((one) => one.startsWith('InputInvalid node: ') && one.includes('nested')),
      decisions.join('\n'),
    );
  });
});

describe('JSON of several values', () => {
  const own = (name: string): object => ({
    apiVersion: 'bootstrap.cluster.x-k8s.io/v1beta2',
    kind: 'KubeadmConfig',
    metadata: { name, namespace: 'clusters' },
    spec: {
      joinConfiguration: {
        discovery: { bootstrapToken: { token: TOKEN, apiServerEndpoint: 'api:6443', caCertHashes: [HASH] } },
      },
      files: [{ path: '/etc/a', content: `}{ "${name}" \\` }],
    },
  });
  const forms: readonly (readonly [string, string])[] = [
    ['one after the other', `${JSON.stringify(own('a'))}${JSON.stringify(own('b'))}`],
    ['line by line', `${JSON.stringify(own('a'))}\n${JSON.stringify(own('b'))}\n`],
    ['indented', `${JSON.stringify(own('a'), null, 2)}\n${JSON.stringify(own('b'), null, 2)}\n`],
    ['a list', JSON.stringify([own('a'), own('b')])],
    [
      'a List and an object',
      `${JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [own('a')] })}${JSON.stringify(own('b'))}`,
    ],
    ['with separators of RFC 7464', `\u001E${JSON.stringify(own('a'))}\n\u001E${JSON.stringify(own('b'))}\n`],
  ];
  const expected = [own('a'), own('b')].map((one) => stringify(one)).join('---\n');
  for (const [what, text] of forms) {
    test(what, async () => {
      const { documents, decisions } = await converted(text);
      assert.deepEqual(documents, (await converted(expected)).documents, decisions.join('\n'));
      assert.equal(documents.length, 2);
    });
  }
});

describe('a Secret', () => {
  const secret = (value: string | Uint8Array, more: object): string =>
    stringify({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'a', namespace: 'clusters' },
      data: { value: Buffer.from(value).toString('base64') },
      ...more,
    });
  const bootstrap = { type: 'cluster.x-k8s.io/secret' };

  test('of bootstrap data may have parts, and be compressed', async () => {
    for (const value of [message([{ body: CONFIG }]), gzipSync(CONFIG)]) {
      const { documents, decisions } = await converted(secret(value, bootstrap));
      assert.equal(documents[0]?.kubernetes.role, 'Worker', decisions.join('\n'));
    }
  });

  test('of anything else is not run because its value is a script', async () => {
    const { codes } = await converted(secret(`#!/bin/sh\n${JOIN}`, {}));
    assert.deepEqual(codes, ['ObjectIgnored', 'InputUnknown']);
  });
});
