import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { afterEach, describe, test } from 'node:test';
import { stringify } from 'yaml';
import { type AgentRun, agent, statusOf } from '../support/agent.ts';
import { inThrowAwayMachine } from '../support/namespace.ts';

const DOCUMENT = '/tmp/document.yaml';
const CALLS = '/tmp/kubeadm-calls';

/** A worker of a machine that has no kubeadm and no kubelet yet. */
function lay(hooks: object): void {
  const token = {
    token: 'abcdef.0123456789abcdef',
    endpoint: '127.0.0.1:1',
    caCertHashes: [`sha256:${'a'.repeat(64)}`],
  };
  const join = { discovery: { token } };
  const document = {
    apiVersion: 'machineadm.dev/v1alpha1',
    kind: 'MachineBootstrap',
    metadata: { name: 'bare' },
    host: { hooks },
    kubernetes: { version: 'v1.31.4', role: 'Worker', join },
    reporting: { sinks: [] },
  };
  writeFileSync(DOCUMENT, stringify(document));
}

/** A command that installs stand-ins: they tell their version, and kubeadm join shows its configuration and fails. */
function installs(...programs: readonly (readonly [name: string, version: string])[]): string {
  return programs
    .map(([name, version]) => {
      const tells = name === 'kubelet' ? `echo Kubernetes ${version}` : `echo ${version}`;
      const does = `case "$1" in --version|version) ${tells};; config) echo ok;; *) cat "\${2#--config=}" >>${CALLS}; exit 1;; esac`;
      return `printf '%s\\n' '#!/bin/sh' '${does}' >/usr/local/bin/${name}; chmod 755 /usr/local/bin/${name}`;
    })
    .join('\n');
}

inThrowAwayMachine(import.meta.filename, () => {
  const provision = () => agent(['provision', '-d', DOCUMENT, '-o', 'json']);
  const plan = async (): Promise<AgentRun> => agent(['plan', '-d', DOCUMENT]);
  const calls = () => (existsSync(CALLS) ? readFileSync(CALLS, 'utf8') : '');
  /** Step, reason and exit code of a failed run. */
  const ended = (run: AgentRun) => {
    const { failure } = statusOf(run);
    return [failure?.step, failure?.reason, run.status];
  };

  afterEach(() => {
    for (const path of ['/var/lib/machineadm', '/run/machineadm', '/run/kubeadm', CALLS])
      rmSync(path, { recursive: true, force: true });
    for (const name of ['kubeadm', 'kubelet']) rmSync(`/usr/local/bin/${name}`, { force: true });
  });

  for (const phase of ['early', 'beforeBootstrap'] as const) {
    const id = phase === 'early' ? 'hooks-early' : 'hooks-before-bootstrap';

    describe(`kubeadm and the kubelet that hooks ${phase} install`, () => {
      test('are not missing before: plan says what is known after the hooks', async () => {
        lay({ [phase]: { commands: [installs(['kubeadm', 'v1.31.4'], ['kubelet', 'v1.31.4'])] } });
        const { status, stdout, stderr } = await plan();
        assert.equal(status, 0, stderr);
        assert.match(
          stdout,
          new RegExp(`kubeadm: not known yet \\(.*kubeadm is not installed\\) \\(known after ${id}\\)`),
        );
        assert.match(stdout, new RegExp(`/run/kubeadm/kubeadm-join-config.yaml: create, 0600 \\(known after ${id}\\)`));
      });

      test('are used, in the version that was installed', async () => {
        lay({ [phase]: { commands: [installs(['kubeadm', 'v1.31.4'], ['kubelet', 'v1.31.4'])] } });
        const run = await provision();
        assert.equal(run.status, 11, run.stderr);
        assert.equal(statusOf(run).failure?.step, 'kubeadm');
        assert.match(calls(), /apiVersion: kubeadm\.k8s\.io\/v1beta4/);
      });

      test('and are not: the step that needs them fails, as the machine was changed by then', async () => {
        lay({ [phase]: { commands: ['true'] } });
        const run = await provision();
        assert.deepEqual(ended(run), ['kubeadm', 'PreflightFailed', 10]);
        assert.match(
          statusOf(run).failure?.summary ?? '',
          /2 requirements are not met \(after the .*hooks.*\): KubeletNotInstalled, KubeadmNotInstalled/,
        );
        // Nothing will install them any more.
        const again = await provision();
        assert.deepEqual(ended(again), [undefined, 'PreflightFailed', 4]);
      });

      test('of another minor version: refused after the hooks, and kubeadm does not run', async () => {
        lay({ [phase]: { commands: [installs(['kubeadm', 'v1.35.0'], ['kubelet', 'v1.31.4'])] } });
        const run = await provision();
        assert.deepEqual(ended(run), ['kubeadm', 'KubeadmUnsupported', 10]);
        assert.equal(calls(), '');
      });
    });
  }

  test('hooks before the bootstrap edit the configuration of the kubeadm that they install', async () => {
    const edits = 'echo "# edited" >>/run/kubeadm/kubeadm-join-config.yaml';
    lay({ beforeBootstrap: { commands: [installs(['kubeadm', 'v1.31.4'], ['kubelet', 'v1.31.4']), edits] } });
    const run = await provision();
    assert.equal(run.status, 11, run.stderr);
    assert.match(calls(), /# edited/);
    assert.doesNotMatch(run.stderr, /hooks edited it/);
  });

  test('without hooks the run is refused before any change', async () => {
    lay({});
    assert.deepEqual(ended(await provision()), [undefined, 'PreflightFailed', 4]);
  });
});
