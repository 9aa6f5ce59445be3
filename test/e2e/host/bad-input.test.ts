import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Reason } from '@machineadm/document/outcomes/reasons.ts';
import { SHARED_SETTINGS } from '../../../scripts/lab/host-changes.ts';
import { hostDocument, initDocument, merge, newSeeds, toYaml } from '../../support/documents.ts';
import { AGENT, DOCUMENT, Fleet, LAB, type Node, type Run, told } from '../../support/lab.ts';
import { needs } from '../../support/needs.ts';
import { differences, takeSnapshot } from '../../support/snapshot.ts';

const MINUTE = 60_000;

describe('a command is refused before anything is changed because of', {
  skip: needs(...LAB),
  timeout: 8 * MINUTE,
}, () => {
  const seeds = newSeeds();
  let node: Node;

  const fleet = Fleet.ofSuite(
    async () => {
      node = await fleet.start({ name: 'e2e-b1', ip: '10.99.0.41' });
    },
    { kind: 'host' },
  );

  /** Runs `provision` and asserts that it was refused with one clear message and that the host is as it was. */
  async function refused(exitCode: number, reason: Reason, run: () => Promise<Run>): Promise<Run> {
    const before = await takeSnapshot(node.machine);
    const refusal = await run();
    const after = await takeSnapshot(node.machine);
    assert.equal(refusal.exitCode, exitCode, told(refusal));
    assert.match(refusal.stderr + refusal.stdout, new RegExp(`\\b${reason}\\b`), told(refusal));
    assert.deepEqual(
      differences(before, after).filter((line) => !isOfOthers(line)),
      [],
    );
    return refusal;
  }

  /** What the agent keeps of its own runs is not the host, and the kubelets of other machines write to the same kernel. */
  function isOfOthers(line: string): boolean {
    return (
      /^files \/var\/lib(\/machineadm\b.*)?: /.test(line) ||
      SHARED_SETTINGS.some((name) => line.startsWith(`settings ${name.replaceAll('/', '.')}: `))
    );
  }

  const provision = (wrapper: readonly string[] = []) => node.agent(['provision', '-d', DOCUMENT], wrapper);

  const documents: readonly (readonly [title: string, reason: Reason, text: string, says: RegExp])[] = [
    ['empty', 'DocumentInvalid', '', /empty/],
    ['not YAML', 'DocumentInvalid', 'apiVersion: [machineadm.dev/v1alpha1\nkind: {', /document\.yaml:\d+:\d+/],
    ['larger than 4 MiB', 'DocumentTooLarge', `# ${'x'.repeat(4 * 1024 * 1024)}\n`, /4 MiB/],
    [
      'of an unknown apiVersion',
      'DocumentInvalid',
      'apiVersion: machineadm.dev/v9\nkind: MachineBootstrap\nmetadata: {name: a}\n',
      /v1alpha1/,
    ],
    [
      'of another kind',
      'DocumentInvalid',
      'apiVersion: machineadm.dev/v1alpha1\nkind: Machine\nmetadata: {name: a}\n',
      /MachineBootstrap/,
    ],
    [
      'written for a newer agent',
      'RequiresNewerAgent',
      'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: a}\nrequires: {agentVersion: ">=99.0.0"}\n',
      /99\.0\.0/,
    ],
  ];
  for (const [title, reason, text, says] of documents) {
    test(`a document that is ${title}`, async () => {
      await node.lay(text);
      const run = await refused(3, reason, provision);
      assert.match(run.stdout + run.stderr, says);
    });
  }

  test('a document that does not exist', async () => {
    const run = await refused(3, 'DocumentNotFound', () => node.agent(['provision', '-d', '/root/nothing.yaml']));
    assert.match(run.stdout + run.stderr, /\/root\/nothing\.yaml/);
  });

  test('a directory without documents', async () => {
    await node.machine.shell('mkdir -p /root/empty.d');
    await refused(3, 'DocumentNotFound', () => node.agent(['provision', '-d', '/root/empty.d']));
  });

  test('ten different mistakes, which are ten problems, each with its line', async () => {
    const lines = [
      'apiVersion: machineadm.dev/v1alpha1',
      'kind: MachineBootstrap',
      'metadata: {nmae: node-1, name: node-1}', // 3: unknown key
      'host:',
      '  hostname: Node_1', // 5: not a host name
      '  swap: Enabled', // 6: not one of the words
      '  files:',
      '    - {path: etc/motd, content: hello}', // 8: not absolute
      '    - {path: /etc/motd, mode: 0644, content: hello}', // 9: a mode is a string
      '    - {path: /etc/issue}', // 10: no content
      'containerRuntime: {containerd: {cgroupDriver: cgroups}}', // 11: not one of the words
      'kubernetes:',
      '  version: "1.20.2"', // 13: no v
      '  role: Wroker', // 14: not one of the words
      'reporting: {deadline: "30"}', // 15: no unit
    ];
    await node.lay(lines.join('\n'));
    const run = await node.agent(['validate', '-d', DOCUMENT]);
    assert.equal(run.exitCode, 3, told(run));
    const said = (run.stdout + run.stderr).split('\n');
    const places = said.flatMap((line) => /document\.yaml:(\d+):\d+/.exec(line)?.[1] ?? []).map(Number);
    assert.deepEqual(places, [3, 5, 6, 8, 9, 10, 11, 13, 14, 15], told(run));
    await refused(3, 'DocumentInvalid', provision);
  });

  test('a user other than root', async () => {
    const readable = '/tmp/document.yaml';
    await node.machine.write(
      readable,
      toYaml(merge(hostDocument(node.site, seeds), { secrets: { password: { value: 'unused!' } } })),
    );
    const nobody = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups'];
    await refused(4, 'NotPrivilegedUser', () => node.agent(['provision', '-d', readable], nobody));
  });

  const missing: readonly (readonly [program: string, stand: string | undefined, reason: Reason])[] = [
    ['/usr/bin/kubeadm', undefined, 'KubeadmNotInstalled'],
    ['/usr/bin/kubelet', undefined, 'KubeletNotInstalled'],
    ['/usr/bin/containerd', undefined, 'ContainerRuntimeMissing'],
    [
      '/usr/bin/kubeadm',
      '#!/bin/sh\nv=v1.19.16\ncase "$*" in *json*) echo "{\\"clientVersion\\":{\\"gitVersion\\":\\"$v\\"}}";; *) echo $v;; esac\n',
      'KubeadmUnsupported',
    ],
  ];
  for (const [program, stand, reason] of missing) {
    test(`a program that does not fit: ${program} is ${stand === undefined ? 'missing' : 'too old'}`, async () => {
      await node.machine.shell(`cp -a ${program} /run/hidden && rm ${program}`);
      if (stand !== undefined) await node.machine.write(program, stand, '755');
      // Without hooks: they may install what is missing, and it is looked for after them.
      const { host: _, ...document } = initDocument(node.site, seeds);
      await node.lay(document);
      await refused(4, reason, provision);
      await node.machine.shell(`rm -f ${program} && mv /run/hidden ${program}`);
    });
  }

  test('another run that is active', async () => {
    await node.lay(
      merge(hostDocument(node.site, seeds), {
        host: { hooks: { early: { commands: ['touch /run/e2e-in-hook; sleep 8'] } } },
      }),
    );
    const first = provision();
    await node.machine.shell('for i in $(seq 100); do [ -e /run/e2e-in-hook ] && exit 0; sleep 0.1; done; exit 1');
    const second = await node.agent(['provision', '-d', DOCUMENT]);
    assert.equal(second.exitCode, 4, told(second));
    assert.match(second.stderr, /Locked/);
    const done = await first;
    assert.equal(done.exitCode, 0, `the run that came first is not disturbed:\n${told(done)}`);
  });

  test('an unknown command or an unknown option, which are usage errors', async () => {
    assert.equal((await node.agent(['provsion'])).exitCode, 2);
    assert.equal((await node.agent(['provision', '--docment', DOCUMENT])).exitCode, 2);
    assert.match((await node.machine.exec([AGENT, '--help'])).stdout, /provision/);
  });
});
