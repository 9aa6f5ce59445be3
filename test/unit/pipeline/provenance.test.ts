import assert from 'node:assert/strict';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { formatDiagnostic } from '@machineadm/document/diagnostics/index.ts';
import { openDocument } from '../../../src/pipeline/load.ts';
import { attack } from '../../support/attacks.ts';
import { needs } from '../../support/needs.ts';

const ALICE = 65534;
const HEADER = 'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: n1}\n';
const LITERAL = `${HEADER}secrets: {token: {value: literal-secret-value}}\nhost: {files: [{path: /a, contentFrom: {secret: token}}]}\n`;
const skip = needs('root');

describe('where a document comes from', { skip }, () => {
  let base: string;
  let path: string;
  const sudoUid = process.env.SUDO_UID;
  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), 'machineadm-provenance-'));
    path = join(base, 'doc.yaml');
    writeFileSync(path, HEADER, { mode: 0o600 });
    delete process.env.SUDO_UID;
  });
  afterEach(() => {
    rmSync(base, { recursive: true });
    if (sudoUid !== undefined) process.env.SUDO_UID = sudoUid;
  });
  const run = (source = path) => openDocument([source], '0.1.0', { distrust: 'refuse' });
  const warningsOf = async (source = path) =>
    (await openDocument([source], '0.1.0')).warnings.map((warning) => formatDiagnostic(warning).replaceAll(base, ''));
  const refused = async (why: RegExp, source = path): Promise<void> => {
    await assert.rejects(run(source), { reason: 'DocumentNotTrusted', exit: 'Refused', message: why });
    assert.match((await warningsOf(source)).join('\n'), /other users could change the document/);
  };

  test('of root alone: a run takes it, nothing is warned of', async () => {
    await run();
    assert.deepEqual(await warningsOf(), []);
  });

  test(
    'that its group or others may write to: a run refuses it, validate warns',
    attack('Provenance', 'a document that its group or others may write to', async () => {
      for (const mode of [0o620, 0o602, 0o666]) {
        chmodSync(path, mode);
        await refused(/others may write to it \(mode 06/);
      }
      return 3;
    }),
  );

  test(
    'of another user: a run refuses it, whatever SUDO_UID says',
    attack('Provenance', 'a document of another user', async () => {
      chownSync(path, ALICE, ALICE);
      await refused(/it belongs to the user 65534/);
      process.env.SUDO_UID = String(ALICE);
      await refused(/it belongs to the user 65534/);
      return 2;
    }),
  );

  test(
    'in a directory that another user may change: a run refuses it',
    attack('Provenance', 'a document below a directory that another user may change', async () => {
      chownSync(base, ALICE, ALICE);
      await refused(/a directory above it belongs to the user 65534/);
      chownSync(base, 0, 0);
      chmodSync(base, 0o775);
      await refused(/others may write to a directory above it \(mode 0775\)/);
      chmodSync(base, 0o1777);
      await run();
      return 2;
    }),
  );

  test(
    'through a link of another user: a run refuses it',
    attack('Provenance', 'a document behind a link of another user', async () => {
      mkdirSync(join(base, 'home'));
      symlinkSync(path, join(base, 'home/doc.yaml'));
      chownSync(join(base, 'home'), ALICE, ALICE);
      await refused(/home\/doc\.yaml is a symbolic link/, join(base, 'home/doc.yaml'));
      return 1;
    }),
  );

  test(
    'as drop-ins: the directory and each of them',
    attack('Provenance', 'a drop-in, or a directory of them, that another user may change', async () => {
      const directory = join(base, 'conf.d');
      mkdirSync(directory);
      writeFileSync(join(directory, '10-a.yaml'), HEADER, { mode: 0o600 });
      await run(directory);
      chmodSync(directory, 0o1777);
      await refused(/others may write to it \(mode 1777\) \(the directory/, directory);
      chmodSync(directory, 0o755);
      writeFileSync(join(directory, '20-b.yaml'), 'host: {}\n', { mode: 0o600 });
      chownSync(join(directory, '20-b.yaml'), ALICE, ALICE);
      await refused(/20-b\.yaml: it belongs to the user/, directory);
      return 2;
    }),
  );

  test(
    'that every user may read, with the value of a secret in it: a run refuses it, validate warns',
    attack('Provenance', 'a secret that is written into a document that every user may read', async () => {
      writeFileSync(path, LITERAL);
      await run();
      chmodSync(path, 0o644);
      await assert.rejects(run(), (error: Error & { reason?: string; evidence?: unknown }) => {
        assert.equal(error.reason, 'SecretReadableByAll');
        assert.match(error.message, /secrets\.token\.value/);
        assert.doesNotMatch(JSON.stringify(error), /literal-secret-value/);
        return true;
      });
      assert.match(
        (await warningsOf()).join('\n'),
        /^\/doc\.yaml:4:\d+ {2}secrets\.token\.value: every user .* can read this secret/,
      );
      writeFileSync(path, `${HEADER}secrets: {token: {file: ${join(base, 'token')}}}\n`);
      await run();
      return 1;
    }),
  );

  test('that every user may read beside a drop-in with the secret that only root may read: a run takes them', async () => {
    const directory = join(base, 'conf.d');
    mkdirSync(directory);
    writeFileSync(join(directory, '10-a.yaml'), HEADER, { mode: 0o644 });
    writeFileSync(join(directory, '20-b.yaml'), LITERAL.slice(HEADER.length), { mode: 0o600 });
    await run(directory);
  });

  test(
    'that takes a secret from a file which another user may change: a run refuses it',
    attack('Provenance', 'a secret from a file that another user may change', async () => {
      const secret = join(base, 'token');
      writeFileSync(secret, 'value\n', { mode: 0o600 });
      writeFileSync(
        path,
        `${HEADER}secrets: {token: {file: ${secret}}}\nhost: {files: [{path: /a, contentFrom: {secret: token}}]}\n`,
      );
      await run();
      chmodSync(secret, 0o660);
      await assert.rejects(run(), {
        reason: 'DocumentNotTrusted',
        message: /token, the source of secrets\.token: others may write/,
      });
      return 1;
    }),
  );
});
