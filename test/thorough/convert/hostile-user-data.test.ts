import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { convert } from '@machineadm/convert/index.ts';
import { message } from '../../support/user-data-parts.ts';

async function converted(text: string) {
  const { documents, decisions } = await convert([{ name: 'node', text }], { kubernetesVersion: 'v1.34.2' });
  return { documents, decisions: decisions.map(({ code, at, message: said }) => `${code} ${at}: ${said}`) };
}

describe('user data that was made to take long', () => {
  test('many parts that are small only compressed are refused', { timeout: 60_000 }, async () => {
    const body = gzipSync('x'.repeat(4_000_000)).toString('base64');
    const part = { type: 'application/gzip', headers: { 'Content-Transfer-Encoding': 'base64' }, body };
    const { decisions } = await converted(message(Array.from({ length: 500 }, () => part)));
    assert.ok(
      decisions.some((one) => one.includes('larger than 16 MiB together')),
      decisions.join('\n'),
    );
  });

  const hostile: readonly (readonly [string, string])[] = [
    ['boundaries', `MIME-Version: 1\nContent-Type: multipart/mixed; boundary=b\n\n${'--b\n'.repeat(300_000)}`],
    [
      'almost boundaries',
      `MIME-Version: 1\nContent-Type: multipart/mixed; boundary=b\n\n--b\n${'--bb '.repeat(200_000)}\n--b--`,
    ],
    ['headers', `MIME-Version: 1\n${'a: b\n'.repeat(200_000)}\nx`],
    ['a folded header', `MIME-Version: 1\nSubject: a\n${' b\n'.repeat(200_000)}\nx`],
    ['parameters', `MIME-Version: 1\nContent-Type: multipart/mixed${'; a="b;\\""'.repeat(100_000)}\n\nx`],
    [
      'equals signs',
      message([{ headers: { 'Content-Transfer-Encoding': 'quoted-printable' }, body: '= '.repeat(500_000) }]),
    ],
    [
      'blanks',
      message([{ headers: { 'Content-Transfer-Encoding': 'quoted-printable' }, body: ' '.repeat(1_000_000) }]),
    ],
    ['base64 of nothing known', 'A'.repeat(1_000_000)],
    ['maps one after the other', '{}'.repeat(50_000)],
    ['open lists', '['.repeat(500_000)],
    ['quotes', `{${'"\\'.repeat(300_000)}`],
  ];
  for (const [what, text] of hostile) {
    // With quadratic work each would take minutes.
    test(`many ${what} end in a message`, { timeout: 60_000 }, async () => {
      const { documents, decisions } = await converted(text);
      assert.deepEqual([documents, decisions.length > 0], [[], true]);
    });
  }
});
