import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import {
  renderWindowsDownloadScript,
  type WindowsDownloadScript,
} from '@machineadm/user-data/download-script-windows.ts';

const SOURCE = resolve(import.meta.dirname, '../../../packaging/download/machineadm-download.ps1');
const digest = (text: string): string => hash('sha256', text);
const PINNED: WindowsDownloadScript = {
  version: '1.4.2',
  digests: { gzip: digest('a'), program: digest('c') },
  locations: [
    {
      url: 'https://machineadm.management.example.com:8443/release/',
      authorizationFile: 'C:\\ProgramData\\machineadm\\credential',
    },
    { url: 'http://mirror.example.com/machineadm' },
    { url: 'file:///D:/machineadm' },
  ],
};

function refused(change: Partial<WindowsDownloadScript>, words: RegExp): void {
  assert.throws(
    () => renderWindowsDownloadScript({ ...PINNED, ...change }),
    (error) => {
      assert.ok(error instanceof MachineadmError);
      assert.equal(error.reason, 'DownloadInvalid');
      assert.match(error.message, words);
      return true;
    },
  );
}

describe('the rendered download script for Windows', () => {
  const text = renderWindowsDownloadScript(PINNED);

  test('holds the version, the digests and the locations in their order, and no comment', () => {
    assert.equal(
      text.slice(0, text.indexOf('Set-StrictMode')),
      [
        "$Version = '1.4.2'",
        `$ArchiveDigest = '${digest('a')}'`,
        `$ProgramDigest = '${digest('c')}'`,
        "$Locations = @('https://machineadm.management.example.com:8443/release C:\\ProgramData\\machineadm\\credential'," +
          " 'http://mirror.example.com/machineadm -', 'file:///D:/machineadm -')",
        '$Deadline = 900',
        '',
      ].join('\n'),
    );
    assert.doesNotMatch(text, /^\s*#/m);
  });

  test('is at most 4 KiB of gzip in base64', () => {
    const size = gzipSync(text, { level: 9 }).toString('base64').length;
    assert.ok(size <= 4096, `${size} bytes`);
  });

  test('has only characters that Windows PowerShell reads the same in every code page', () => {
    assert.match(text, /^[\n -~]+$/);
    assert.doesNotMatch(readFileSync(SOURCE, 'utf8'), /@["']$/m, 'a text of several lines would lose its indentation');
  });

  test('has balanced brackets, line by line and as a whole', () => {
    // Outside of quotes, in which the text has neither an escaped quote nor a bracket without its other half.
    const code = text.replace(/'[^'\n]*'|"[^"\n]*"/g, '');
    assert.doesNotMatch(code, /['"]/);
    const open: string[] = [];
    for (const [bracket] of code.matchAll(/[()[\]{}]/g)) {
      if ('([{'.includes(bracket)) open.push(bracket);
      else assert.equal(`${open.pop()}${bracket}`, { ')': '()', ']': '[]', '}': '{}' }[bracket], code);
    }
    assert.deepEqual(open, []);
  });

  test('calls only its own functions and commands of Windows PowerShell 5.1', () => {
    const functions = [...text.matchAll(/^function ([A-Za-z-]+)/gm)].map(([, name]) => name);
    const cmdlets = new Set([...text.matchAll(/(?<![.\w$-])([A-Z][a-z]+-[A-Z][A-Za-z]+)\b/g)].map(([, name]) => name));
    // Each is in the reference of PowerShell 5.1; Expand-Archive, which knows zip only, is not meant.
    const known = [
      'Get-FileHash',
      'Join-Path',
      'New-Item',
      'New-Object',
      'Remove-Item',
      'Set-StrictMode',
      'Start-Sleep',
    ];
    assert.deepEqual([...cmdlets].filter((name) => !functions.includes(name)).sort(), known);
    for (const name of functions)
      assert.ok((text.split(new RegExp(`\\b${name}\\b`)).length ?? 0) > 2, `${name} is called`);
  });

  test('verifies the archive before it unpacks it, and the program before it runs it', () => {
    const order = [
      'Refuse 68 "$File has the SHA-256',
      'try { Expand-Gzip',
      'Die 68 "the program in $File',
      '& $New --version',
      '[IO.File]::Move',
      'Die 74',
      '& $To @args',
    ];
    const places = order.map((words) => text.indexOf(words));
    assert.deepEqual(
      places,
      places.filter((place) => place > 0).sort((one, other) => one - other),
    );
  });

  test('has the documented exit codes, the same as the script for Linux', () => {
    const source = readFileSync(SOURCE, 'utf8');
    const told = [...source.matchAll(/^# {3}(\d\d) {2}/gm)].map(([, code]) => code);
    const used = new Set(
      [...text.matchAll(/(?:Die|Refuse) (\d\d)\b|\$Code = (\d\d)/g)].map(([, die, code]) => die ?? code),
    );
    assert.deepEqual([...used].sort(), told);
    const twin = readFileSync(SOURCE.replace(/ps1$/, 'sh'), 'utf8');
    for (const code of told) assert.match(twin, new RegExp(`^# {3}${code} {2}`, 'm'));
  });

  test('is not rendered with an invalid version, digest or deadline', () => {
    refused({ version: "1.4.2'; Restart-Computer; '" }, /the version/);
    refused({ digests: { ...PINNED.digests, gzip: 'AB' } }, /digest of windows-amd64\.gz/);
    refused({ digests: { ...PINNED.digests, program: digest('c').toUpperCase() } }, /digest of windows-amd64 /);
    refused({ deadlineSeconds: 0.5 }, /deadline/);
  });

  test('is not rendered without a location', () => refused({ locations: [] }, /no location/));

  for (const url of [
    "https://mirror.example.com/'; Restart-Computer; '",
    'https://mirror.example.com/\u2019; Restart-Computer',
    'https://mirror.example.com/$(hostname)',
    'https://mirror.example.com/a b',
    'https://mirror.example.com/a\nb',
    'file:///mnt/machineadm',
    'file://server/share',
    'ftp://mirror.example.com/',
  ]) {
    test(`is not rendered with the location ${JSON.stringify(url)}`, () =>
      refused({ locations: [{ url }] }, /not a plain http, https or file URL/));
  }

  test('holds no credentials in a URL, and sends none unencrypted', () => {
    refused({ locations: [{ url: 'https://user:word@mirror.example.com' }] }, /holds credentials/);
    const authorizationFile = 'C:\\credential';
    refused({ locations: [{ url: 'http://mirror.example.com', authorizationFile }] }, /unencrypted/);
    refused(
      { locations: [{ url: 'https://m.example.com', authorizationFile: 'C:\\Program Files\\x' }] },
      /not a plain path/,
    );
  });
});
