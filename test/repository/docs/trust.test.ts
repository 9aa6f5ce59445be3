import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { EXIT_CODES } from '@machineadm/document/outcomes/exit-codes.ts';
import { REASONS, type Reason } from '@machineadm/document/outcomes/reasons.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const page = read('docs/trust.md');

describe('the page about trust', () => {
  test('names every reason of downloads, each with its exit code', () => {
    const rows = [...page.matchAll(/^\|.*\| `(\w+)` \| (\d+) \|$/gm)].map(([, reason, code]) => `${reason} ${code}`);
    const known: readonly Reason[] = [
      'DigestMismatch',
      'ReleaseUnavailable',
      'SignatureInvalid',
      'SigningKeyRevoked',
      'ReleaseVersionMismatch',
      'ReleaseTooOld',
      'ReleaseManifestInvalid',
      'WrongPlace',
      'RolledBack',
      'SignatureExpired',
      'TooFewSignatures',
      'TrustRootRefused',
      'WebPageReceived',
      'RedirectRefused',
      'VerifiedFileChanged',
      'TrustedKeyInvalid',
      'DownloadInvalid',
    ];
    assert.deepEqual(
      rows,
      known.map((reason) => `${reason} ${EXIT_CODES[REASONS[reason].exit].code}`),
    );
  });

  test('names the exit codes of the script, which are those in it and in its header', () => {
    const script = read('packaging/download/machineadm-download.sh');
    const told = [...page.matchAll(/^\| (\d\d) \| /gm)].map(([, code]) => code);
    const header = [...script.matchAll(/^# {3}(\d\d) {2}/gm)].map(([, code]) => code);
    const used = [...script.matchAll(/(?:die|refuse|code=) ?(\d\d)\b/g)].map(([, code]) => code ?? '');
    assert.deepEqual(told, header);
    assert.deepEqual([...new Set(used)].sort(), header);
  });
});
