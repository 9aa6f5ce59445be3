import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Component } from '@machineadm/hardening/controls/control.ts';
import type { ManifestEdit } from '@machineadm/hardening/manifest.ts';
import { changeComponent } from '../../../../src/kubernetes/hardening/component-restart.ts';
import { type ApiAnswer, kubeconfig, newAuthority, startApiServer } from '../../../support/api-server.ts';
import { fixture, nodeOf } from '../../../support/hardened-machine.ts';
import type { MemoryHost } from '../../../support/memory-host.ts';

const PROFILING: ManifestEdit = { kind: 'set', name: 'profiling', value: 'false' };
/** The process that `nodeOf` starts for the component. */
const PROCESS: Partial<Record<Component, string>> = {
  'kube-apiserver': '/proc/100/cmdline',
  'kube-controller-manager': '/proc/101/cmdline',
};

interface Change {
  readonly component?: Component;
  readonly edits?: readonly ManifestEdit[];
  /** What the kubelet of this machine makes of the new manifest. */
  readonly kubelet?: (host: MemoryHost, cmdline: string) => void;
  readonly isPatient?: boolean;
  readonly prepare?: (host: MemoryHost) => void;
}

/** Changes a component; gives what went wrong, its manifest as it then is, and what was written. */
async function change({ component = 'kube-controller-manager', edits = [PROFILING], ...over }: Change) {
  const host = await nodeOf('control-plane');
  over.prepare?.(host);
  const path = `/etc/kubernetes/manifests/${component}.yaml`;
  const written: string[] = [];
  const machine: MemoryHost = {
    ...host,
    async writeFile(file) {
      written.push(file.path);
      await host.writeFile(file);
      if (String(file.content).includes('profiling')) over.kubelet?.(host, PROCESS[component] ?? '');
    },
  };
  const waits: (string | undefined)[] = [];
  let problem = '';
  try {
    await changeComponent(machine, component, edits, {
      pace: { timeoutMs: over.isPatient === true ? 60_000 : 0, pauseMs: 1 },
      signal: new AbortController().signal,
      waitingFor: (what) => void waits.push(what),
    });
  } catch (error) {
    assert.ok(error instanceof Error);
    problem = error.message;
  }
  assert.deepEqual(waits, [`${component} to run with the settings of the hardening profile`, undefined]);
  assert.equal((await host.stat(path))?.mode, 0o600);
  return { problem, written, isAsBefore: host.text(path) === fixture(`${component}.yaml`) };
}

describe('a component whose manifest is changed', () => {
  test('runs with its new arguments', async () => {
    const { problem, written, isAsBefore } = await change({ isPatient: true });
    assert.deepEqual([problem, written.length, isAsBefore], ['', 1, false]);
  });

  test('is not written if nothing changes, but has to run all the same', async () => {
    assert.deepEqual(await change({ edits: [], isPatient: true }), { problem: '', written: [], isAsBefore: true });
    const gone = await change({ edits: [], prepare: (host) => host.take('/proc/101/cmdline') });
    assert.match(gone.problem, /did not come back .*: it does not run\. Its manifest was restored\.$/);
    assert.deepEqual(gone.written, []);
  });

  for (const [what, kubelet, why] of [
    ['is gone', (host, cmdline) => host.take(cmdline), 'it does not run'],
    [
      'runs twice',
      (host, cmdline) => host.put('/proc/900/cmdline', host.text(cmdline) ?? ''),
      'its old process has not ended',
    ],
    [
      'lacks an argument',
      (host, cmdline) => host.put(cmdline, (host.text(cmdline) ?? '').replace('\0--profiling=false', '')),
      'it runs without --profiling=false',
    ],
    [
      'has one argument more',
      (host, cmdline) => host.put(cmdline, `${host.text(cmdline)}\0--old=1`),
      'it still runs with --old',
    ],
  ] as const satisfies readonly (readonly [string, Change['kubelet'], string])[]) {
    test(`and ${what} is put back`, async () => {
      const { problem, written, isAsBefore } = await change({ kubelet });
      assert.ok(problem.includes(`did not come back with the settings of the hardening profile: ${why}.`), problem);
      assert.deepEqual([written.length, isAsBefore], [2, true]);
    });
  }

  test('and only runs for a moment is put back', async () => {
    const { problem, isAsBefore } = await change({});
    assert.match(problem, /it does not stay up/);
    assert.equal(isAsBefore, true);
  });
});

describe('an API server that runs', () => {
  /** With an administrator whose requests this server answers. */
  async function changeBeside(answer: ApiAnswer | undefined, isPatient: boolean) {
    const authority = newAuthority();
    await using server = await startApiServer(authority, (path) => (path === '/version' ? answer : undefined));
    const admin = kubeconfig(server.url, authority.certificate, authority.issue('kubernetes-admin'));
    const prepare = (host: MemoryHost) => host.put('/etc/kubernetes/admin.conf', { content: admin, mode: 0o600 });
    return await change({ component: 'kube-apiserver', prepare, isPatient });
  }

  test('is up once it answers', async () => {
    assert.equal((await changeBeside({ major: '1' }, true)).problem, '');
  });

  for (const [status, why] of [
    [500, /the API server answered 500/],
    [404, /it does not answer/],
  ] as const) {
    test(`and answers ${status} is put back`, async () => {
      const { problem, isAsBefore } = await changeBeside(status === 404 ? undefined : { status }, false);
      assert.match(problem, why);
      assert.equal(isAsBefore, true);
    });
  }
});
