import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { formatDiagnostic } from '@machineadm/document/diagnostics/index.ts';
import { loaded, problemsOf } from '../../support/document.ts';

const warningsOf = async (body: string) => (await loaded(body)).warnings.map(formatDiagnostic);

describe('a file whose owner could not reach it', () => {
  const file = '{path: /etc/app/rack, content: "", owner: app, directoryMode: "0750"}';

  test('is a warning with the entry that helps', async () => {
    const [warning, ...others] = await warningsOf(`host: {files: [${file}]}\n`);
    assert.deepEqual(others, []);
    assert.match(
      warning ?? '',
      /host\.files\[0\]\.directoryMode: if \/etc\/app is created, it belongs to root, and app cannot enter it/,
    );
    assert.match(warning ?? '', /directories: \[\{path: \/etc\/app, owner: "app", mode: "0750"\}\]/);
  });

  test('is none where the directory is named, is open, or belongs to root like the file', async () => {
    for (const body of [
      `host: {directories: [{path: /etc/app, owner: app}], files: [${file}]}\n`,
      'host: {files: [{path: /etc/app/rack, content: "", owner: app, directoryMode: "0751"}]}\n',
      'host: {files: [{path: /etc/app/rack, content: "", directoryMode: "0700"}]}\n',
    ]) {
      assert.deepEqual(await warningsOf(body), []);
    }
  });
});

describe('a file below a mount of the kernel', () => {
  const saidOf = async (path: string): Promise<string> =>
    (await problemsOf(`host: {files: [{path: ${path}, content: "1"}]}\n`)).join('\n');

  test('is refused, with what does it instead', async () => {
    assert.match(
      await saidOf('/proc/sys/net/ipv4/ip_forward'),
      /below \/proc: .*set net\.ipv4\.ip_forward in host\.sysctl/,
    );
    assert.match(await saidOf('/sys/kernel/mm/ksm/run'), /below \/sys: .*host\.hooks\.early/);
  });

  test('is not taken for one of another directory', async () => {
    assert.equal(await saidOf('/processes/a'), '');
    assert.equal(await saidOf('/system/a'), '');
  });
});
