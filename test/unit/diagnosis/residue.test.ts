import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { Secret, type SecretValue } from '@machineadm/document/secrets/secret.ts';
import { auditResidue } from '../../../src/diagnosis/residue.ts';
import { isSearchable, searchBytes } from '../../../src/diagnosis/residue-search.ts';
import { assertLinear } from '../../support/cost.ts';
import { memoryHost, queryOnly } from '../../support/memory-host.ts';

const TOKEN = 'abcdef.0123456789abcdef';
const KEY = `-----BEGIN EC PRIVATE KEY-----\n${'MHcCAQEEIBUmm4Fq'.repeat(4)}\n${'Zm9vYmFyYmF6cXV4'.repeat(4)}\n-----END EC PRIVATE KEY-----\n`;
const SECRETS = [
  { name: 'token', value: TOKEN },
  { name: 'key', value: KEY },
  { name: 'password', value: 'p"ä/ss+word' },
];

const base64 = (text: string | Buffer): string => Buffer.from(text).toString('base64');
const folded = (text: string): string => (text.match(/.{1,76}/g) ?? []).join('\n');

describe('a secret in bytes', () => {
  for (const [where, bytes, name, form] of [
    ['as it is', `join --token ${TOKEN} now`, 'token', 'plain'],
    ['as the half of a token that is secret', 'secret=0123456789abcdef', 'token', 'plain'],
    ['as an indented block of YAML', `key: |\n${KEY.replace(/^/gm, '    ')}`, 'key', 'plain'],
    ['escaped for JSON', JSON.stringify({ key: KEY }), 'key', 'plain'],
    ['escaped for JSON, quotes and all', JSON.stringify({ password: 'p"ä/ss+word' }), 'password', 'plain'],
    ['escaped for a URL', `?password=${encodeURIComponent('p"ä/ss+word')}`, 'password', 'plain'],
    ['in base64', `data: ${base64(TOKEN)}`, 'token', 'base64'],
    ['in base64 of more, at the first alignment', `content: ${base64(`a${TOKEN} and more`)}`, 'token', 'base64'],
    ['in base64 of more, at the second', `content: ${base64(`ab${TOKEN} and more`)}`, 'token', 'base64'],
    ['in base64 of more, at the third', `content: ${base64(`abc${TOKEN} and more`)}`, 'token', 'base64'],
    ['in base64 behind a digit that is none', `\x8cA${base64(`join with ${TOKEN} now`)}`, 'token', 'base64'],
    [
      'in base64 in lines',
      `MIME\n\n${folded(base64(`${'x'.repeat(70)}${TOKEN}${'y'.repeat(70)}`))}\n--end`,
      'token',
      'base64',
    ],
    ['in base64 of base64', base64(`content: ${base64(`the ${TOKEN} here`)}\n`), 'token', 'base64'],
    ['in gzip', gzipSync(`a long text with ${TOKEN} in it ${'.'.repeat(200)}`), 'token', 'gzip'],
    [
      'in gzip behind something else',
      Buffer.concat([Buffer.from('PICKLE'), gzipSync(`x ${TOKEN} ${'.'.repeat(200)}`), Buffer.from('END')]),
      'token',
      'gzip',
    ],
    ['in base64 of gzip', `content: ${base64(gzipSync(`x ${TOKEN} ${'.'.repeat(200)}`))}\n`, 'token', 'base64'],
  ] as const) {
    test(`is found ${where}, and overwritten with nothing around it changed`, () => {
      const present = Buffer.from(bytes);
      const { findings, scrubbed, left } = searchBytes(present, SECRETS);
      assert.deepEqual(
        findings.map((finding) => `${finding.name} ${finding.form}`),
        [`${name} ${form}`],
      );
      assert.equal(scrubbed?.length, present.length);
      assert.deepEqual(left, []);
      assert.deepEqual(searchBytes(scrubbed ?? present, SECRETS).findings, []);
    });
  }

  test('leaves YAML, JSON and the words around it as they were', () => {
    const { scrubbed } = searchBytes(Buffer.from(`token: ${TOKEN}\nname: node-1\n`), SECRETS);
    assert.equal(
      Buffer.from(scrubbed ?? []).toString(),
      `token: redacted${'x'.repeat(TOKEN.length - 8)}\nname: node-1\n`,
    );
    const json = searchBytes(Buffer.from(JSON.stringify({ key: KEY, name: 'n' })), SECRETS).scrubbed ?? [];
    assert.equal(JSON.parse(Buffer.from(json).toString()).name, 'n');
    const inside = searchBytes(Buffer.from(base64(`the token ${TOKEN} is here`)), SECRETS).scrubbed ?? [];
    assert.match(Buffer.from(Buffer.from(inside).toString(), 'base64').toString(), /^the token redactedx+ is here$/);
  });

  test('is found only where it is', () => {
    for (const bytes of [
      '',
      'abcdef',
      base64('nothing here but words, and more of them'),
      gzipSync('nothing'),
      Buffer.from([0x1f, 0x8b, 0x08, 0, 0]),
    ]) {
      assert.deepEqual(searchBytes(Buffer.from(bytes), SECRETS), { findings: [], scrubbed: undefined, left: [] });
    }
  });

  test('that would match in every file is not searched for', () => {
    assert.equal(isSearchable('short'), false);
    assert.equal(isSearchable(' '.repeat(20)), false);
    assert.equal(isSearchable('longer'), true);
  });

  test('is searched for in time that is linear in the size of a file that resembles base64 throughout', async () => {
    for (const piece of ['A', `${'A'.repeat(76)}\n`, 'wordword ']) {
      const search = (size: number): void => {
        const bytes = Buffer.from(piece.repeat(size / piece.length));
        assert.deepEqual(searchBytes(bytes, SECRETS).findings, []);
      };
      await assertLinear(piece, search, 50_000);
    }
  });

  test('is found in every encoding in which the redactor finds it', () => {
    for (const bytes of [
      Buffer.from(TOKEN).toString('hex'),
      [...TOKEN].map((letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`).join(''),
      [...TOKEN].map((letter) => `%${letter.charCodeAt(0).toString(16)}`).join(''),
      [...TOKEN].map((letter) => `&#${letter.charCodeAt(0)};`).join(''),
      JSON.stringify(JSON.stringify(JSON.stringify({ key: KEY }))),
      gzipSync(`x ${Buffer.from(TOKEN).toString('hex')} ${'.'.repeat(200)}`),
      base64(JSON.stringify({ data: base64(JSON.stringify({ key: KEY })) })),
    ]) {
      const { findings, scrubbed, left } = searchBytes(Buffer.from(bytes), SECRETS);
      assert.equal(findings.length, 1, String(bytes));
      assert.deepEqual(left, []);
      assert.equal(scrubbed?.length, Buffer.from(bytes).length);
    }
  });
});

describe('the audit', () => {
  const token: SecretValue = { name: 'secrets.token', source: { kind: 'value', secret: new Secret(TOKEN) } };
  const machine = {
    files: {
      '/var/lib/cloud/instances/i-1/user-data.txt': { content: `token: ${TOKEN}\n`, mode: 0o600 },
      '/var/lib/cloud/instances/i-1/vendor-data.txt': 'nothing',
      '/var/log/cloud-init-output.log': { content: `joining with ${TOKEN}\n`, mode: 0o644, gid: 4 },
      '/etc/machineadm/bootstrap.yaml': { content: `value: ${TOKEN}`, mode: 0o600 },
      '/home/user/notes': TOKEN,
    },
  };

  test('reports path, tool, mode and which secret, and never a value', async () => {
    const host = memoryHost(machine);
    const report = await auditResidue(queryOnly(host), [token]);
    assert.deepEqual(
      report.residues.map(({ path, tool, mode, worldReadable, secrets, state }) => [
        path,
        tool,
        mode,
        worldReadable,
        secrets,
        state,
      ]),
      [
        ['/var/lib/cloud/instances/i-1/user-data.txt', 'cloud-init', '0600', false, ['secrets.token'], 'Found'],
        ['/var/log/cloud-init-output.log', 'cloud-init', '0644', true, ['secrets.token'], 'Found'],
        ['/etc/machineadm/bootstrap.yaml', 'machineadm', '0600', false, ['secrets.token'], 'Found'],
      ],
    );
    assert.ok(!JSON.stringify(report).includes('0123456789abcdef'));
    assert.equal(host.log.length, 0);
  });

  test('overwrites what may be removed, and says why the rest stays', async () => {
    const host = memoryHost(machine);
    const overwrite = async (path: string, _present: Uint8Array, wanted: Uint8Array) => host.put(path, wanted);
    const report = await auditResidue(host, [token], { overwrite });
    assert.deepEqual(
      report.residues.map(({ path, state }) => `${state} ${path}`),
      [
        'Scrubbed /var/lib/cloud/instances/i-1/user-data.txt',
        'Scrubbed /var/log/cloud-init-output.log',
        'Kept /etc/machineadm/bootstrap.yaml',
      ],
    );
    assert.match(report.residues[2]?.why ?? '', /a later run reads it/);
    assert.deepEqual(
      (await auditResidue(host, [token])).residues.map(({ path }) => path),
      ['/etc/machineadm/bootstrap.yaml'],
    );
  });

  test('names the secrets that it could not search for', async () => {
    const values: SecretValue[] = [
      { name: 'secrets.program', source: { kind: 'exec', command: ['x'], timeoutMs: 1 } },
      { name: 'secrets.gone', source: { kind: 'file', path: '/run/gone' } },
      { name: 'secrets.pin', source: { kind: 'value', secret: new Secret('1234') } },
    ];
    const report = await auditResidue(queryOnly(memoryHost(machine)), values);
    assert.deepEqual(report.searched, []);
    assert.deepEqual(
      report.skipped.map(({ what }) => what),
      ['the secret secrets.program', 'the secret secrets.gone', 'the secret secrets.pin'],
    );
  });
});
