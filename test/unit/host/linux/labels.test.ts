import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { withLabels } from '../../../../src/host/linux/labels.ts';
import type { Command } from '../../../../src/host/seam/host.ts';
import { memoryHost } from '../../../support/memory-host.ts';

function machine(files: Readonly<Record<string, string>> = { '/sys/fs/selinux/enforce': '1' }) {
  const labelled: string[] = [];
  const restorecon = ({ args, input }: Command) => {
    assert.deepEqual(args, ['-i', '-0', '-f', '-']);
    assert.ok(typeof input === 'string');
    labelled.push(
      input
        .split('\0')
        .filter((path) => path !== '')
        .sort()
        .join(' '),
    );
    return {};
  };
  const memory = memoryHost({
    files: { '/etc/hosts': '', ...files },
    programs: { restorecon, tool: () => ({}) },
    services: { containerd: {} },
  });
  return { memory, host: withLabels(memory), labelled };
}

describe('labels of SELinux', () => {
  const write = (path: string) => ({ path, content: 'x', mode: 0o644 });

  test('are those of the policy for what was written, directories that were made on the way too, and only once', async () => {
    const { host, labelled } = machine();
    await host.writeFile(write('/etc/a'));
    await host.writeFile(write('/etc/new/deep/b'));
    await host.writeLink('/etc/link', 'a');
    await host.makeDirectory('/etc/directory', 0o755);
    await host.makeDirectory('/etc', 0o755);
    assert.deepEqual(labelled, []);
    await host.sync('/etc');
    await host.sync('/etc');
    assert.deepEqual(labelled, ['/etc/a /etc/directory /etc/link /etc/new /etc/new/deep /etc/new/deep/b']);
  });

  for (const [what, act] of [
    ['a command runs', (host: ReturnType<typeof withLabels>) => host.run({ program: 'tool', args: [] })],
    ['a service starts', (host: ReturnType<typeof withLabels>) => host.services.start('containerd')],
    ['a service restarts', (host: ReturnType<typeof withLabels>) => host.services.restart('containerd')],
    ['units are read again', (host: ReturnType<typeof withLabels>) => host.services.reload()],
  ] as const) {
    test(`are there before ${what}`, async () => {
      const { host, memory } = machine();
      await host.writeFile(write('/etc/a'));
      await act(host);
      const [, first, second] = memory.log;
      assert.match(first ?? '', /^run restorecon/);
      assert.match(second ?? '', /^(?:run tool|service)/);
    });
  }

  test('are not set where nothing was written, or where nothing could be', async () => {
    const { host, labelled } = machine();
    await host.run({ program: 'tool', args: [] });
    await assert.rejects(host.writeFile(write('/etc')));
    await host.sync('/etc');
    assert.deepEqual(labelled, []);
  });

  test('are not set on a machine without SELinux', async () => {
    const { host, labelled } = machine({});
    await host.writeFile(write('/etc/a'));
    await host.sync('/etc');
    assert.deepEqual(labelled, []);
  });
});
