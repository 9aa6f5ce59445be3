import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { formatDiagnostic } from '@machineadm/document/diagnostics/index.ts';
import { loadDocument } from '@machineadm/document/loading/load.ts';
import { leaves } from '@machineadm/document/trees/tree.ts';
import { exampleDocument } from '@machineadm/document/versions/example.ts';
import { load, loaded, problemsOf } from '../../../support/document.ts';

const TEN_MISTAKES = `apiVersion: machineadm.dev/v1alpha1
kind: MachineBootstrap
metadata:
  nam: x
host:
  hostname: Bad_Name
  swap: disabled
  sysctl:
    net.ipv4.ip_forward: 1
    net/ipv4/ip_forward: 1
  files:
    - {path: etc/x, content: hi}
    - {path: /a, content: hi, contentFrom: {secret: nowhere}, mode: 0644}
kubernetes:
  version: "1.35"
  role: worker
  timeouts: {overall: 90}
hostt: {}
`;

describe('a document with many mistakes', () => {
  test('prints all of them at once, each with its place, in reading order', async () => {
    const result = await load(TEN_MISTAKES);
    assert.equal(result.ok, false);
    assert.deepEqual(result.ok ? [] : result.problems.map(formatDiagnostic), [
      'doc.yaml:4:3  metadata.nam: unknown key (hint: did you mean "name"?)',
      'doc.yaml:6:13  host.hostname: "Bad_Name" is not a valid host name: use lower-case letters, digits, "-" and "." (RFC 1123) (hint: write "bad-name")',
      'doc.yaml:7:9  host.swap: expected one of Disabled, Unmanaged, found "disabled" (hint: did you mean "Disabled"?)',
      'doc.yaml:10:5  host.sysctl["net/ipv4/ip_forward"]: the same key as "net.ipv4.ip_forward", in another spelling (hint: keep one of them)',
      'doc.yaml:12:14  host.files[0].path: "etc/x" is not an absolute path (hint: write "/etc/x")',
      'doc.yaml:13:7  host.files[1]: content and contentFrom exclude each other (hint: keep one of them)',
      'doc.yaml:13:53  host.files[1].contentFrom.secret: no secret of the name "nowhere" (hint: add it under "secrets")',
      'doc.yaml:13:69  host.files[1].mode: expected a mode as a string, such as "0644", found a number (hint: write it in quotes)',
      'doc.yaml:15:12  kubernetes.version: "1.35" is not an exact version, such as "v1.35.2"',
      'doc.yaml:16:9  kubernetes.role: expected one of InitControlPlane, JoinControlPlane, Worker, found "worker" (hint: did you mean "Worker"?)',
      'doc.yaml:17:23  kubernetes.timeouts.overall: expected a duration with a unit, such as "90s", found a number (hint: write "90s")',
      'doc.yaml:18:1  hostt: unknown key (hint: did you mean "host"?)',
    ]);
  });

  test('names the right index of a list whose earlier items are wrong', async () => {
    const body = 'host:\n  files:\n  - {path: x, content: a}\n  - {path: y, content: a}\n  - {path: /z}\n';
    assert.match(
      (await problemsOf(body)).join('\n'),
      /doc\.yaml:8:5 {2}host\.files\[2\]: neither content nor contentFrom/,
    );
  });

  test('names the right index of the other part where two collide behind a wrong item', async () => {
    const body = 'host:\n  files:\n  - {path: x, content: a}\n  - {path: /a, content: a}\n  - {path: /a, content: b}\n';
    assert.match(
      (await problemsOf(body)).join('\n'),
      /doc\.yaml:8:12 {2}host\.files\[2\]\.path: \/a is already written by host\.files\[1\] \(doc\.yaml:7:5\) \(hint: keep one/,
    );
  });
});

describe('input that is not a document', () => {
  const cases: readonly (readonly [string, string, RegExp])[] = [
    ['nothing', '', /^doc\.yaml:1:1 {2}the document is empty \(hint: .*example/],
    ['only comments', '# hello\n', /the document is empty/],
    ['a list', '- a\n', /^doc\.yaml:1:1 {2}the document is not a map/],
    ['a tab for indentation', 'a:\n\t- b\n', /^doc\.yaml:2:1 {2}not YAML: .*\(hint: indent with spaces\)/i],
    ['broken YAML', 'a: [1, 2\nb: }\n', /^doc\.yaml:\d+:\d+ {2}not YAML: /],
    ['two documents', 'a: 1\n---\nb: 2\n', /more than one YAML document/],
    ['a custom tag', 'apiVersion: !secret x\n', /not YAML: .*remove the tag/],
    [
      'a wrong apiVersion',
      'apiVersion: machineadm.dev/v9\nkind: MachineBootstrap\n',
      /^doc\.yaml:1:13 {2}apiVersion: this agent does not read "machineadm.dev\/v9" \(hint: it reads machineadm\.dev\/v1alpha1/,
    ],
    ['no apiVersion', 'kind: MachineBootstrap\n', /"apiVersion" is missing/],
    [
      'a wrong kind',
      'apiVersion: machineadm.dev/v1alpha1\nkind: Pod\nmetadata: {name: n}\n',
      /^doc\.yaml:2:7 {2}kind: not a bootstrap document/,
    ],
  ];
  for (const [what, text, expected] of cases) {
    test(`${what} is refused`, async () => {
      const result = await load(text);
      assert.ok(!result.ok);
      assert.equal(result.reason, 'DocumentInvalid');
      assert.match(result.problems.map(formatDiagnostic).join('\n'), expected);
    });
  }

  test('text that is not UTF-8 is refused', async () => {
    const sources = [{ name: 'd', bytes: Uint8Array.of(0x61, 0xff, 0xfe) }];
    await assert.rejects(loadDocument(sources, { agentVersion: '0.1.0' }), { reason: 'DocumentInvalid' });
  });

  test('an alias within the node that it names is refused, with its place', async () => {
    for (const [text, path] of [
      ['a: &x [1, *x]\n', 'doc.yaml:1:11  '],
      ['a: &x {b: *x}\n', 'doc.yaml:1:11  '],
    ]) {
      const result = await load(text ?? '');
      assert.ok(!result.ok);
      const told = result.problems.map(formatDiagnostic).join('\n');
      assert.ok(told.includes(`${path}the alias is inside of the value that it names`), told);
    }
  });

  test('a text that is nested too deeply is refused with a message of its own, whatever the depth', async () => {
    for (const depth of [300, 20_000]) {
      for (const text of [
        `a: ${'['.repeat(depth)}${']'.repeat(depth)}`,
        `${'{"a": '.repeat(depth)}1${'}'.repeat(depth)}`,
      ]) {
        const result = await load(text);
        assert.ok(!result.ok);
        const told = result.problems.map(formatDiagnostic).filter((line) => !/"(apiVersion|kind)" is/.test(line));
        assert.equal(told.length, 1, told.join('\n'));
        assert.match(told[0] ?? '', /: nested too deeply$| {2}nested too deeply$/);
      }
    }
  });

  test('aliases that expand without end are refused', async () => {
    const bomb = `a: &a [1,1,1,1,1,1,1,1,1,1]\n${'bcdefg'
      .split('')
      .map((key, index) => `${key}: &${key} [${Array(10).fill(`*${'abcdef'[index]}`).join(',')}]`)
      .join('\n')}\n`;
    const result = await load(bomb);
    assert.ok(!result.ok);
    assert.match(result.problems.map(formatDiagnostic).join('\n'), /expands to too many parts/);
  });
});

describe('duplicate keys', () => {
  test('are refused with the place of both', async () => {
    assert.deepEqual(await problemsOf('host:\n  swap: Disabled\n  swap: Unmanaged\n'), [
      'doc.yaml:6:3  host.swap: the key is given twice (hint: it is first given in line 5; keep one)',
    ]);
  });

  test('are refused in JSON, too', async () => {
    const result = await load(
      '{"apiVersion":"machineadm.dev/v1alpha1","kind":"MachineBootstrap","metadata":{"name":"a","name":"b"}}',
    );
    assert.ok(!result.ok);
    assert.match(result.problems.map(formatDiagnostic).join('\n'), /metadata\.name: the key is given twice/);
  });
});

describe('a document for a newer agent', () => {
  test('is refused for that, and not for the fields that this agent cannot know', async () => {
    const result = await load(
      'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: n}\nrequires: {agentVersion: ">=99.0.0"}\nfuture: {}\n',
    );
    assert.ok(!result.ok);
    assert.equal(result.reason, 'RequiresNewerAgent');
    assert.deepEqual(result.problems.map(formatDiagnostic), [
      'doc.yaml:4:26  requires.agentVersion: the document requires machineadm >=99.0.0, and this is 0.1.0 (hint: install a matching machineadm in the image)',
    ]);
  });

  test('is refused for a feature that this agent lacks', async () => {
    const result = await load(
      'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: n}\nrequires: {features: [teleport]}\n',
    );
    assert.ok(!result.ok);
    assert.equal(result.reason, 'RequiresNewerAgent');
  });

  test('a condition that holds lets it pass; one that is none is a mistake', async () => {
    assert.deepEqual(await problemsOf('requires: {agentVersion: ">=0.1.0 <1"}\n'), []);
    assert.match((await problemsOf('requires: {agentVersion: newest}\n')).join(), /not a version condition/);
    assert.match((await problemsOf('requires: {agentversion: ">=0.1"}\n')).join(), /did you mean "agentVersion"/);
  });
});

describe('the format of a document', () => {
  const text = exampleDocument('Worker');
  const bytes = new TextEncoder().encode(text);
  const base64 = Buffer.from(bytes).toString('base64');
  const forms: readonly (readonly [string, Uint8Array])[] = [
    ['plain', bytes],
    ['gzip', gzipSync(bytes)],
    ['base64', Buffer.from(base64.replace(/(.{76})/g, '$1\n'))],
    ['base64 of gzip', Buffer.from(gzipSync(bytes).toString('base64'))],
    ['plain with a byte order mark', Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes])],
  ];
  test('does not change what it means', async () => {
    const digests = new Set<string>();
    for (const [form, source] of forms) {
      const result = await loadDocument([{ name: form, bytes: source }], { agentVersion: '0.1.0' });
      assert.ok(result.ok, form);
      digests.add(result.document.digest);
    }
    assert.equal(digests.size, 1);
  });

  test('larger than 4 MiB, or 4 MiB when unpacked, is refused', async () => {
    const huge = new TextEncoder().encode(`# ${'x'.repeat(4 * 1024 * 1024)}\n`);
    for (const source of [huge, gzipSync(huge)]) {
      await assert.rejects(loadDocument([{ name: 'd', bytes: source }], { agentVersion: '0.1.0' }), {
        reason: 'DocumentTooLarge',
      });
    }
  });

  test('gzip that is cut off is refused', async () => {
    const cut = gzipSync(bytes).subarray(0, 60);
    await assert.rejects(loadDocument([{ name: 'd', bytes: cut }], { agentVersion: '0.1.0' }), {
      reason: 'DocumentInvalid',
      message: /gzip data is damaged or truncated/,
    });
  });
});

describe('several sources', () => {
  const merge = (...texts: string[]) =>
    loadDocument(
      texts.map((text, index) => ({ name: `${index}.yaml`, bytes: new TextEncoder().encode(text) })),
      { agentVersion: '0.1.0' },
    );
  const base =
    'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: base}\nhost:\n  swap: Disabled\n  kernelModules: [a]\n';

  test('merge in order: maps by key, anything else replaces, null removes; each field knows its source', async () => {
    const result = await merge(base, 'metadata: {name: over}\nhost:\n  swap: null\n  kernelModules: [b, c]\n');
    assert.ok(result.ok);
    const { model, tree } = result.document;
    assert.equal(model.metadata.name, 'over');
    assert.equal(model.host.swap, 'Unmanaged');
    assert.deepEqual(model.host.kernelModules, ['b', 'c']);
    assert.deepEqual(
      leaves(tree).map(({ path, at }) => `${path} ${at.file}:${at.line}`),
      [
        'apiVersion 0.yaml:1',
        'kind 0.yaml:2',
        'metadata.name 1.yaml:1',
        'host.kernelModules[0] 1.yaml:4',
        'host.kernelModules[1] 1.yaml:4',
      ],
    );
  });

  test('a mistake is reported in the source that made it', async () => {
    const result = await merge(base, 'host:\n  swap: maybe\n');
    assert.ok(!result.ok);
    assert.match(result.problems.map(formatDiagnostic).join(), /^1\.yaml:2:9 {2}host\.swap/);
  });
});

describe('the digest', () => {
  test('does not change with order and comments, and changes with content', async () => {
    const a = await loaded('host: {swap: Disabled, hostname: x}\n');
    const b = await loaded('# a comment\nhost:\n  hostname: x\n  swap: Disabled\n');
    const c = await loaded('host: {swap: Disabled, hostname: y}\n');
    assert.equal(a.digest, b.digest);
    assert.notEqual(a.digest, c.digest);
  });

  test('of the immutable fields ignores tokens, timeouts and deadlines', async () => {
    const worker = (token: string, timeout: string, domain: string) =>
      loaded(
        `kubernetes: {version: v1.35.2, role: Worker, node: {name: ${domain}}, ready: {timeout: ${timeout}}, join: {discovery: {token: {token: ${token}, endpoint: "a:1", unsafeSkipCAVerification: true}}}}\n`,
      );
    const first = await worker('abcdef.0123456789abcdef', '1m', 'a');
    const renewed = await worker('fedcba.0123456789abcdef', '2m', 'a');
    const other = await worker('abcdef.0123456789abcdef', '1m', 'b');
    assert.equal(first.lastingDigest, renewed.lastingDigest);
    assert.notEqual(first.lastingDigest, other.lastingDigest);
  });
});
