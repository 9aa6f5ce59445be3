import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { beforeEach, describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { loadDocument } from '@machineadm/document/loading/load.ts';
import type { Model } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { execBootstrapper } from '../../../src/features/exec-bootstrapper/index.ts';
import { execReadiness } from '../../../src/features/exec-readiness/index.ts';
import { files } from '../../../src/features/files/index.ts';
import { openHost } from '../../../src/host/index.ts';
import { openJournal } from '../../../src/pipeline/run-journal.ts';
import { runSteps, StepFailure } from '../../../src/pipeline/runner.ts';
import { facts } from '../../support/facts.ts';
import { inThrowAwayMachine } from '../../support/namespace.ts';
import { needs } from '../../support/needs.ts';

/** The worked examples of the page, which programs of their own names stand in for. */
const PAGE = resolve(import.meta.dirname, '../../../docs/adding-a-bootstrapper.md');
/** The examples read their order with it. */
const skip = needs('jq');
const JOURNAL = '/var/lib/machineadm/journal';
const TRACE = '/tmp/trace';
const TOKEN = 'K10deadbeef::server:very-secret';

async function example(name: string): Promise<Model> {
  const blocks = [...readFileSync(PAGE, 'utf8').matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text);
  const text = blocks.find((block) => block.includes(name));
  assert.ok(text, `the page has an example for ${name}`);
  const sources = [{ name, bytes: new TextEncoder().encode(text) }];
  const loaded = await loadDocument(sources, { agentVersion: '0.1.0' });
  assert.ok(loaded.ok);
  return loaded.document.model;
}

/** A program that leaves a line with its name and arguments, and then does this. */
function standIn(path: string, body = ''): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `#!/bin/sh\necho "\${0##*/} $*" >> ${TRACE}\n${body}\n`);
  chmodSync(path, 0o755);
}

function trace(): string[] {
  const lines = existsSync(TRACE)
    ? readFileSync(TRACE, 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => line.trim())
    : [];
  rmSync(TRACE, { force: true });
  return lines;
}

/** Runs the steps of a node as `provision` does, with a journal on the disk. */
async function provision(model: Model): Promise<{ readonly states: readonly string[]; readonly output: string }> {
  const host = openHost({ runId: 'test' });
  const journal = await openJournal(host, { uid: undefined, cloudInstanceId: undefined, machineId: facts().machineId });
  const states: string[] = [];
  const output: string[] = [];
  try {
    await runSteps([files, execBootstrapper, execReadiness], {
      model,
      facts: facts(),
      host,
      journal,
      scope: 'all',
      signal: new AbortController().signal,
      observer: {
        stepStarted: () => {},
        stepDone: (step, { state }) => void states.push(`${step} ${state}`),
        waitingFor: () => {},
        output: (_step, _source, line) => void output.push(line),
        warn: () => {},
      },
    });
  } finally {
    journal.close();
  }
  return { states, output: output.join('\n') };
}

inThrowAwayMachine(import.meta.filename, () => {
  beforeEach(async () => {
    for (const path of [TRACE, '/var/lib/machineadm', '/etc/rancher']) rmSync(path, { recursive: true, force: true });
    // The host keeps directories open until the end of a turn of the event loop (src/host/linux/directories.ts).
    await nextTurn();
    mkdirSync('/run/secrets', { recursive: true });
    writeFileSync('/run/secrets/k3s-token', `${TOKEN}\n`, { mode: 0o600 });
    standIn('/usr/local/sbin/systemctl');
    standIn('/usr/local/bin/k3s-agent-uninstall.sh');
    standIn('/opt/k3s/install.sh', `echo "installing as $INSTALL_K3S_EXEC with ${TOKEN}"`);
  });

  describe('the example for k3s', { skip }, () => {
    test('joins with the values of the document, once, and the token is exposed nowhere', async () => {
      const model = await example('bootstrap-k3s');
      const first = await provision(model);
      assert.deepEqual(first.states, ['files Succeeded', 'exec-bootstrapper Succeeded', 'exec-readiness Succeeded']);
      assert.deepEqual(trace(), ['install.sh', 'systemctl is-active --quiet k3s-agent']);
      assert.deepEqual(JSON.parse(readFileSync('/etc/rancher/k3s/config.yaml', 'utf8')), {
        server: 'https://10.0.0.10:6443',
        token: TOKEN,
        'node-name': 'node-1',
      });
      assert.equal(statSync('/etc/rancher/k3s/config.yaml').mode & 0o777, 0o600);
      assert.equal(first.output, 'installing as agent with [redacted]');
      assert.ok(!readFileSync(JOURNAL, 'utf8').includes(TOKEN));

      const second = await provision(model);
      assert.deepEqual(second.states, ['files Unchanged', 'exec-bootstrapper Unchanged', 'exec-readiness Unchanged']);
      assert.deepEqual(trace(), []);
    });

    test('fails with the reason that the document gives; the next run undoes it and resumes', async () => {
      const model = await example('bootstrap-k3s');
      standIn('/opt/k3s/install.sh', 'echo "dial tcp 10.0.0.10:6443: connection refused" >&2; exit 1');
      standIn('/usr/local/sbin/systemctl', 'exit 3');
      await assert.rejects(provision(model), (thrown) => {
        assert.ok(thrown instanceof StepFailure);
        assert.equal(thrown.step, 'exec-bootstrapper');
        const { error } = thrown;
        assert.ok(error instanceof MachineadmError);
        assert.deepEqual([error.reason, error.retryable], ['ExecBootstrapperFailed', true]);
        assert.match(error.message, /^The k3s server does not answer\./);
        return true;
      });
      trace();
      standIn('/opt/k3s/install.sh', `echo 'echo up' > /tmp/up; printf '#!/bin/sh\\n' > /usr/local/sbin/systemctl`);
      assert.ok((await provision(model)).states.includes('exec-bootstrapper Succeeded'));
      assert.deepEqual(trace(), ['systemctl is-active --quiet k3s-agent', 'k3s-agent-uninstall.sh', 'install.sh']);
    });

    test('that had succeeded when it was killed is only recorded', async () => {
      const model = await example('bootstrap-k3s');
      standIn('/opt/k3s/install.sh', 'exit 1');
      await assert.rejects(provision(model));
      trace();
      const { states } = await provision(model);
      assert.ok(states.includes('exec-bootstrapper Succeeded'));
      assert.ok(!trace().includes('install.sh'), 'it did not run again');
    });
  });

  test('the example for MicroK8s installs the channel of the version', { skip }, async () => {
    standIn('/usr/local/bin/snap');
    standIn('/usr/local/bin/microk8s');
    const { states } = await provision(await example('bootstrap-microk8s'));
    assert.deepEqual(states, ['files Succeeded', 'exec-bootstrapper Succeeded', 'exec-readiness Succeeded']);
    assert.deepEqual(trace(), [
      'snap install microk8s --classic --channel=1.30',
      'microk8s status --wait-ready --timeout 5',
    ]);
  });
});
