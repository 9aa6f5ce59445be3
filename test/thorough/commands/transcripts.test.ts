import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { stringify } from 'yaml';
import { fakeClock } from '../../support/fake-clock.ts';
import { startServer } from '../../support/http-servers.ts';
import { compareTranscript, Transcript } from '../../support/machine-in-memory.ts';
import type { MemoryMachine } from '../../support/memory-host.ts';

/** The files of a bundle, in its order. */
function unpacked(archive: string): readonly (readonly [string, string])[] {
  const tar = gunzipSync(readFileSync(archive));
  const files: [string, string][] = [];
  for (let at = 0; tar[at] !== 0; ) {
    const name = tar.toString('utf8', at, at + 100).replace(/\0.*$/s, '');
    const size = Number.parseInt(tar.toString('utf8', at + 124, at + 135), 8);
    files.push([name, tar.toString('utf8', at + 512, at + 512 + size)]);
    at += 512 + 512 * Math.ceil(size / 512);
  }
  return files;
}

function documentOf(different: object): string {
  const head = { apiVersion: 'machineadm.dev/v1alpha1', kind: 'MachineBootstrap', metadata: { name: 'web-1' } };
  return stringify({ ...head, reporting: { sinks: [] }, ...different });
}

const NAMED: MemoryMachine = {
  files: { '/etc/os-release': 'ID=debian\n' },
  kernelFiles: { '/proc/sys/kernel/hostname': 'node-1' },
};
const HOST = { hostname: 'node-1', files: [{ path: '/etc/motd', content: 'hello' }] };

/** A node that a program of the site makes. */
const SITE_NODE = {
  version: 'v1.30.4+k3s1',
  role: 'Worker',
  bootstrapper: {
    exec: {
      command: '/usr/local/sbin/make-node',
      successTest: { command: ['is-node'] },
      reset: { command: ['/usr/local/sbin/unmake-node'] },
      failurePatterns: [{ pattern: 'no route', reason: 'The server is not reachable.', remedy: 'Check the network.' }],
    },
  },
  join: {
    discovery: { token: { token: { secret: 'token' }, endpoint: '10.0.0.1:6443', unsafeSkipCAVerification: true } },
  },
};

const SECRETS = { secrets: { token: { file: '/run/secrets/token' } } };

describe('the output of machineadm on a machine in memory', () => {
  test('from the plan to the reset', async () => {
    using story = new Transcript(NAMED);
    story.file('node.yaml', documentOf({ host: HOST }));
    for (const line of [
      'status',
      'status --wait --timeout 1ms',
      'timeline',
      'report flush',
      'reset --yes',
      'provision --resume -f DIR/node.yaml',
      'plan -f DIR/node.yaml --exit-code --diff --ids',
      'provision --dry-run -f DIR/node.yaml -o json',
      'provision -f DIR/node.yaml',
      'plan -f DIR/node.yaml --exit-code',
      'status',
      'status -o yaml',
      'status --wait',
      'status --follow',
      'status --json-stream',
      'timeline',
      'status --timeline',
      'provision --boot -f DIR/node.yaml',
      'provision --resume -f DIR/node.yaml',
      'provision --resume --boot -f DIR/node.yaml',
      'provision -f DIR/node.yaml -o json',
      'provision -f DIR/node.yaml --json-stream',
      'diagnose',
      'sentinel restore',
      'hooks run early',
      'reset',
      'reset --dry-run',
      'reset --dry-run -o json',
      'reset --yes -o json',
      'reset --yes',
      'status',
    ])
      await story.run(line);
    compareTranscript('plan-to-reset', story);
  });

  test('of a site whose own program creates the node', async () => {
    let isNode = false;
    let answer: 'fails' | 'works' = 'fails';
    using story = new Transcript({
      ...NAMED,
      files: { ...NAMED.files, '/run/secrets/token': 'zyxwvu.zyxwvutsrqponmlk\n' },
      services: { 'machineadm-sentinel.service': {} },
      programs: {
        '/usr/local/sbin/make-node': () => {
          if (answer === 'fails') return { status: 1, stderr: 'dial tcp 10.0.0.1:6443: no route to host\n' };
          isNode = true;
          return { stdout: 'joining with zyxwvu.zyxwvutsrqponmlk\n' };
        },
        'is-node': () => ({ status: isNode ? 0 : 1 }),
        '/usr/local/sbin/unmake-node': () => {
          isNode = false;
          return {};
        },
        sh: (command) => {
          command.onDescriptorLine?.('machineadm-hook 1 begin', () => {});
          return { status: 1, stderr: 'hook failed\n' };
        },
      },
    });
    story.file('node.yaml', documentOf({ ...SECRETS, host: HOST, kubernetes: SITE_NODE }));
    await story.run('provision -f DIR/node.yaml');
    await story.run('status --wait');
    await story.run('provision -f DIR/node.yaml --json-stream --invoker cloudbase-init');
    await story.run('diagnose');
    await story.run('sentinel restore');
    answer = 'works';
    await story.run('provision -f DIR/node.yaml');
    await story.run('status -o html');
    story.machine.host.take('/run/cluster-api/bootstrap-success.complete');
    await story.run('sentinel restore');
    await story.run('plan -f DIR/node.yaml');
    story.file('other.yaml', documentOf({ ...SECRETS, host: HOST, kubernetes: { ...SITE_NODE, version: 'v1.31.0' } }));
    await story.run('provision -f DIR/other.yaml');
    await story.run('provision --boot -f DIR/other.yaml');
    story.file(
      'hook.yaml',
      documentOf({
        ...SECRETS,
        host: { ...HOST, hooks: { afterBootstrap: { commands: ['register'] } } },
        kubernetes: SITE_NODE,
      }),
    );
    await story.run('provision -f DIR/hook.yaml');
    await story.run('status --wait');
    await story.run('reset --leave-files --dry-run');
    await story.run('reset --yes');
    compareTranscript('site-node', story);
  });

  test('that a signal interrupts, and that resumes', async () => {
    let signals = true;
    using story = new Transcript({
      ...NAMED,
      files: { ...NAMED.files, '/run/systemd/system/x': '' },
      services: { containerd: {} },
      programs: {
        sh: async (command) => {
          // Only that of the run: the runner of the tests has one, too.
          if (signals) process.listeners('SIGTERM').at(-1)?.('SIGTERM');
          signals = false;
          command.signal?.throwIfAborted();
          return {};
        },
      },
    });
    story.file('node.yaml', documentOf({ host: { ...HOST, hooks: { early: { commands: ['true'] } } } }));
    await story.run('provision -f DIR/node.yaml --timeout 1h');
    await story.run('status --wait');
    await story.run('provision --boot -f DIR/node.yaml');
    compareTranscript('interrupted', story);
  });

  test('for an image', async () => {
    using story = new Transcript({ ...NAMED, files: { ...NAMED.files, '/etc/machine-id': 'x\n' } });
    story.file(
      'base.yaml',
      documentOf({ variables: { rack: { env: 'RACK' } }, host: { ...HOST, hostname: 'n-${rack}' } }),
    );
    await story.run('plan --prepare -f DIR/base.yaml');
    await story.run('prepare --dry-run -f DIR/base.yaml');
    await story.run('prepare -f DIR/base.yaml');
    await story.run('prepare --verify -f DIR/base.yaml');
    await story.run('prepare --verify -f DIR/base.yaml -o json');
    for (const line of story.machine.host.snapshot()) if (/prepared|journal/.test(line)) story.note(`left: ${line}`);
    compareTranscript('image', story);
  });

  test('whose reports wait until their receiver answers', async () => {
    let status = 503;
    const bodies: string[] = [];
    await using server = await startServer((_, body) => {
      bodies.push(body);
      return { status };
    });
    using story = new Transcript(NAMED);
    story.file(
      'node.yaml',
      documentOf({ host: HOST, reporting: { sinks: [{ type: 'Webhook', name: 'site', url: `${server.url}/hook` }] } }),
    );
    await story.run('report test -f DIR/node.yaml');
    await story.run('provision -f DIR/node.yaml');
    for (const { name, description, command, longestMs } of story.machine.started)
      story.note(`started: ${JSON.stringify({ name, description, command: command.slice(-6), longestMs })}`);
    {
      using clock = fakeClock();
      await clock.until(story.run('report flush --timeout 30s'));
    }
    await story.run('status -o json');
    status = 204;
    await story.run('report test -f DIR/node.yaml -o json');
    await story.run('report flush -f DIR/node.yaml --timeout 10s');
    await story.run('status');
    await story.run('report flush -o json');
    story.file('none.yaml', documentOf({ host: HOST }));
    await story.run('report test -f DIR/none.yaml');
    await story.run('report watch -f DIR/none.yaml');
    for (const line of story.machine.host.snapshot()) if (line.includes('/spool')) story.note(`left: ${line}`);
    compareTranscript('reports', story);
    assert.ok(bodies.some((body) => body.includes('a test of this sink')));
  });

  const COMMANDS = [
    'provision -f DIR/node.yaml',
    'prepare -f DIR/node.yaml',
    'prepare --verify -f DIR/node.yaml',
    'provision --boot -f DIR/node.yaml',
    'provision --resume -f DIR/node.yaml',
    'reset --yes',
    'report flush',
    'report test -f DIR/node.yaml',
    'report watch -f DIR/node.yaml',
    'audit --profile cis-os',
    'audit --residue -f DIR/node.yaml',
    'bundle --output-dir DIR',
    'conformance --root DIR',
    'hooks run early',
    'sentinel restore',
    'diagnose',
    'doctor',
  ];

  test('as another user than root', async () => {
    using story = new Transcript(NAMED, { isRoot: false });
    story.file('node.yaml', documentOf({ host: HOST }));
    for (const line of COMMANDS) await story.run(line);
    compareTranscript('not-root', story);
  });

  test('while another process changes it', async () => {
    using story = new Transcript(NAMED);
    story.file('node.yaml', documentOf({ host: HOST }));
    await story.run('provision -f DIR/node.yaml');
    story.machine.locks.add('/run/machineadm/lock').add('/run/machineadm/report.lock');
    for (const line of ['provision -f DIR/node.yaml', 'reset --yes', 'report flush']) await story.run(line);
    compareTranscript('locked', story);
  });

  test('in an audit', async () => {
    using story = new Transcript({
      ...NAMED,
      files: {
        ...NAMED.files,
        '/etc/kubernetes/kubelet.conf': 'clusters: []\n',
        '/var/lib/kubelet/config.yaml': 'authentication: {anonymous: {enabled: false}}\n',
        '/run/secrets/p': 'correct-horse-battery',
        '/var/lib/cloud/instance/user-data.txt': 'password: correct-horse-battery\n',
      },
    });
    story.file(
      'secret.yaml',
      documentOf({
        host: { files: [{ path: '/etc/password', contentFrom: { secret: 'p' } }] },
        secrets: { p: { file: '/run/secrets/p' } },
      }),
    );
    story.file('hardened.yaml', documentOf({ host: HOST, hardening: { profiles: ['cis-os'] } }));
    for (const line of [
      'audit',
      'audit --scrub',
      'audit --residue',
      'audit --residue --profile cis-os',
      'audit --profile cis-level-3',
      'audit --profile xyz',
      'audit --profile cis-level-1',
      'audit --profile cis-os -o junit',
      'audit --profile cis-level-1 --profile stig -o json',
      'audit --residue -f DIR/secret.yaml',
      'audit --residue -f DIR/secret.yaml -o json',
      'audit --residue -f DIR/secret.yaml -o junit',
      'audit -f DIR/hardened.yaml',
      'diagnose',
      'diagnose --kubeadm-exit-code 256',
      'facts -o jsonpath={.facts}',
    ])
      await story.run(line);
    compareTranscript('audit', story);
  });

  test('in a bundle for a bug report', async () => {
    using story = new Transcript(NAMED);
    story.file('node.yaml', documentOf({ host: HOST }));
    await story.run('provision -f DIR/node.yaml');
    await story.run('bundle --output-dir DIR --output-file x');
    await story.run('bundle --output-file - -o json');
    await story.run('bundle --output-dir DIR/a -o json');
    const archive = join(story.directory, 'a/machineadm-bundle.tar.gz');
    story.note(`mode ${(statSync(archive).mode & 0o777).toString(8)}`);
    for (const [name, text] of unpacked(archive)) {
      story.note(`${name}:`);
      if (/plan|diagnosis|facts|journal/.test(name)) story.note(text);
    }
    compareTranscript('bundle', story);
  });

  test('with early hooks that run at every boot', async () => {
    let isGood = true;
    using story = new Transcript({
      ...NAMED,
      services: { 'machineadm-hooks.service': {}, 'machineadm-resume.service': {} },
      programs: {
        bash: (command) => {
          command.onLine?.('stdout', 'offload is off');
          command.onDescriptorLine?.('machineadm-hook 1 begin', () => {});
          return { status: isGood ? 0 : 3 };
        },
      },
    });
    const hooks = { early: { frequency: 'Always', shell: 'bash', commands: ['ethtool -K eth0 tx off'] } };
    story.file('node.yaml', documentOf({ host: { ...HOST, hooks } }));
    await story.run('plan -f DIR/node.yaml --diff');
    await story.run('provision -f DIR/node.yaml');
    await story.run('hooks run early');
    isGood = false;
    await story.run('hooks run early');
    story.machine.host.put('/var/lib/machineadm/hooks/every-boot-web-1.json', '{"version": 99}');
    await story.run('hooks run early');
    await story.run('reset --dry-run');
    compareTranscript('boot-hooks', story);
  });

  test('with a watched node', async () => {
    const reasons: string[] = [];
    await using server = await startServer((_, body) => {
      const { type, data } = JSON.parse(body);
      // Whole, because a cut at a length would depend on the digits of the times. `host` describes the machine of the test.
      reasons.push(`${type} ${JSON.stringify({ ...data, host: undefined })}`);
      process.listeners('SIGTERM').at(-1)?.('SIGTERM');
      return { status: 204 };
    });
    using story = new Transcript(NAMED);
    const sink = { type: 'Webhook', name: 'site', url: `${server.url}/hook`, events: ['readinessChanged'] };
    story.file('watch.yaml', documentOf({ reporting: { sinks: [sink] } }));
    using clock = fakeClock();
    await clock.until(story.run('report watch -f DIR/watch.yaml --interval 1s --repeat 1h --boot-id-file /dev/null'));
    for (const reason of reasons) story.note(reason);
    compareTranscript('watch', story);
  });

  test('when it is checked against the contract, as an image in a directory', async () => {
    using story = new Transcript(NAMED);
    const put = (path: string, content: string, mode = 0o644) => {
      mkdirSync(dirname(join(story.directory, path)), { recursive: true });
      chmodSync(story.file(path, content), mode);
    };
    put('image/etc/os-release', 'ID=debian\nVERSION_ID="12"\n');
    put('image/usr/bin/kubelet', '#!/bin/sh\n', 0o755);
    put('image/usr/lib/systemd/system/kubelet.service', '[Service]\nExecStart=/usr/bin/kubelet\n');
    put('image/etc/fstab', '/swapfile none swap sw 0 0\n');
    put('image/etc/machine-id', 'x\n');
    for (const line of [
      'conformance --root DIR/none',
      'conformance --root DIR/image',
      'conformance --root DIR/image --as host -o json',
      'conformance --root DIR/image --as windows',
      'conformance --root DIR/image --as host -o junit',
    ])
      await story.run(line);
    compareTranscript('conformance', story);
  });

  test('when a run is refused, with each reason', async () => {
    using story = new Transcript({
      ...NAMED,
      files: { ...NAMED.files, '/data': 'a file\n', '/proc/swaps': 'Filename\n/swapfile file 1 0 -2\n' },
    });
    story.file(
      'refused.yaml',
      documentOf({
        host: {
          hostname: 'node-1',
          files: [{ path: '/data/a', content: 'x', owner: 'nobody-here' }],
          services: [{ name: 'missing.service', state: 'Started' }],
          users: [{ name: 'ada', groups: ['no-group'] }],
        },
      }),
    );
    story.file('invalid.yaml', 'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nhost: {swop: x}\n');
    for (const line of [
      'plan -f DIR/refused.yaml',
      'plan -f DIR/refused.yaml --exit-code -o jsonpath={.refusal.exitCode}',
      'plan -f DIR/refused.yaml -o json',
      'provision -f DIR/refused.yaml',
      'status --wait -o json',
      'provision -f DIR/invalid.yaml -o json',
      'provision -f DIR/nowhere.yaml',
      'provision -f DIR/refused.yaml --timeout soon',
      'bundle -f DIR/invalid.yaml',
    ])
      await story.run(line);
    compareTranscript('refused', story);
  });
});
