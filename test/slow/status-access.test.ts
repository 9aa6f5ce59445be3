import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import type { RunSummary } from '@machineadm/status/summary.ts';
import { stringify } from 'yaml';
import { withoutChecksum } from '../../src/host/files/checksum.ts';
import { makeDirectories } from '../../src/host/local-files/place.ts';
import { type AgentOptions, agent, startAgent } from '../support/agent.ts';
import { endBackground } from '../support/background.ts';
import { inThrowAwayMachine } from '../support/namespace.ts';
import { waitUntil } from '../support/wait-until.ts';

const STATE = '/var/lib/machineadm';
const RUN = '/run/machineadm';
const DOCUMENT = '/tmp/document.yaml';
const PROVISION = ['provision', '-d', DOCUMENT] as const;
const GROUP_ID = 4711;
const NOBODY: AgentOptions = { wrapper: ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups'] };
const MEMBER: AgentOptions = {
  wrapper: ['setpriv', '--reuid', '65534', '--regid', '65534', '--groups', String(GROUP_ID)],
};
const SECRET = 'c4nary-0f-the-document';
const TEXT = 'words-that-a-hook-printed';

function lay(host: object, more: object = {}): void {
  const header = { apiVersion: 'machineadm.dev/v1alpha1', kind: 'MachineBootstrap' };
  const document = { metadata: { name: 'secret-name-of-the-node' }, host, reporting: { sinks: [] }, ...more };
  writeFileSync(DOCUMENT, stringify({ ...header, ...document }), { mode: 0o600 });
}

function shell(script: string): string {
  const { status, stdout, stderr } = spawnSync('sh', ['-ec', script], { encoding: 'utf8' });
  assert.equal(status, 0, `${script}: ${stderr}`);
  return stdout;
}

/** Mode, owner and group of a file or directory. */
function access(path: string): string {
  const { mode, uid, gid } = statSync(path);
  return `${(mode & 0o7777).toString(8)} ${uid}:${gid}`;
}

function summaryIn(directory = RUN): RunSummary {
  return JSON.parse(withoutChecksum(readFileSync(join(directory, 'summary.json'), 'utf8')) ?? '') as RunSummary;
}

/** The files below our directories that an unprivileged user can read, and those that he can write. */
function openToNobody(): string[] {
  const find = `find ${STATE} ${RUN} \\( -type f -readable -o ! -type l -writable \\) -print 2>/dev/null || true`;
  const { stdout } = spawnSync('setpriv', [...(NOBODY.wrapper ?? []).slice(1), 'sh', '-c', find], { encoding: 'utf8' });
  return stdout.split('\n').filter((line) => line !== '');
}

function setGroup(line: string | undefined): void {
  const others = readFileSync('/etc/group', 'utf8').replace(/^machineadm:.*\n/m, '');
  writeFileSync('/etc/group', line === undefined ? others : `${others}${line}\n`);
}

/** What it prints stands in no command: the redactor knows those. */
const FAILS = {
  hooks: {
    early: {
      commands: [
        `printf '%s-%s\\n' ${TEXT.split('-').slice(0, 2).join('-')} ${TEXT.split('-').slice(2).join('-')}`,
        `echo ${SECRET} >/dev/null; exit 7`,
      ],
    },
  },
};
const WRITES = { files: [{ path: '/etc/machineadm-test/secret', content: SECRET, mode: '0600' }] };

inThrowAwayMachine(import.meta.filename, () => {
  beforeEach(async () => {
    await endBackground();
    for (const path of [STATE, RUN, '/tmp/go', '/etc/machineadm-test']) rmSync(path, { recursive: true, force: true });
    setGroup(undefined);
  });
  afterEach(() => setGroup(undefined));

  for (const umask of ['000', '077']) {
    const wrapper = ['sh', '-c', `umask ${umask}; exec "$@"`, 'sh'];

    for (const group of [undefined, `machineadm:x:${GROUP_ID}:`]) {
      const gid = group === undefined ? 0 : GROUP_ID;
      test(`umask ${umask}, ${group === undefined ? 'no group' : 'the group'}: users reach the summary and nothing else`, async () => {
        setGroup(group);
        // A sink that nobody answers fills the spool; a hook of every boot and a secret leave files of their own.
        lay(
          { ...WRITES, hooks: { early: { commands: ['true'], frequency: 'Always' } } },
          {
            reporting: {
              deadline: '1s',
              sinks: [{ type: 'Webhook', url: 'https://127.0.0.1:9/', secret: { secret: 'hook' } }],
            },
            secrets: { hook: { value: 'whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=' } },
          },
        );
        const run = await agent([...PROVISION, '-o', 'json'], { wrapper });
        assert.equal(run.status, 0, run.stderr);
        for (const directory of [STATE, RUN]) {
          assert.equal(access(directory), '755 0:0');
          assert.equal(access(join(directory, 'status.json')), `640 0:${gid}`);
          assert.equal(access(join(directory, 'summary.json')), '644 0:0');
        }
        assert.ok(readdirSync(STATE).length >= 5, readdirSync(STATE).join());
        assert.deepEqual(openToNobody().sort(), [`${RUN}/summary.json`, `${STATE}/summary.json`]);
      });
    }
  }

  describe('a user who may not read the status', () => {
    test('sees the reason and the exit code of a failed run, and none of its output', async () => {
      lay(FAILS);
      const run = await agent([...PROVISION, '-o', 'json']);
      assert.equal(run.status, 10, run.stderr);
      assert.match(readFileSync(`${RUN}/status.json`, 'utf8'), new RegExp(TEXT));

      const text = await agent(['status'], NOBODY);
      assert.equal(text.status, 0, text.stderr);
      assert.match(text.stdout, /^provision Failed \(exit 10\)\n {2}run \S+\n {2}started .*\n {2}HookFailed: /);
      assert.match(text.stderr, /^This is the public summary\. Run the command as root\.\n$/);

      const json = await agent(['status', '-o', 'json'], NOBODY);
      assert.equal(json.status, 0, json.stderr);
      const { kind, reason, exitCode, outcome } = JSON.parse(json.stdout) as RunSummary;
      assert.deepEqual([kind, outcome, reason, exitCode], ['BootstrapSummary', 'Failed', 'HookFailed', 10]);

      for (const directory of [RUN, STATE]) {
        const stored = readFileSync(join(directory, 'summary.json'), 'utf8');
        for (const canary of [TEXT, SECRET, 'secret-name-of-the-node', DOCUMENT]) {
          for (const told of [stored, text.stdout, text.stderr, json.stdout]) assert.ok(!told.includes(canary), told);
        }
      }
    });

    test('can wait for the end of a run, and gets its exit code', async () => {
      lay({ hooks: { early: { commands: ['while [ ! -e /tmp/go ]; do sleep 0.05; done', 'exit 3'] } } });
      const waiting = agent(['status', '--wait', '--timeout', '1m', '-o', 'json'], NOBODY);
      const run = startAgent([...PROVISION, '-o', 'json']);
      await waitUntil(() => existsSync(`${RUN}/summary.json`), 'there is a summary');
      try {
        const early = await agent(['status', '--wait', '--timeout', '0s', '-o', 'json'], NOBODY);
        assert.equal(early.status, 13, early.stderr);
        assert.equal(JSON.parse(early.stdout).outcome, undefined);
      } finally {
        writeFileSync('/tmp/go', '');
        assert.equal((await run.ended).status, 10);
      }
      const waited = await waiting;
      assert.equal(waited.status, 10, waited.stderr);
      assert.equal(JSON.parse(waited.stdout).reason, 'HookFailed');
    });

    test('sees a killed run as interrupted', async () => {
      lay({ hooks: { early: { commands: ['sleep 600'] } } });
      const run = startAgent(PROVISION);
      await waitUntil(() => existsSync(`${STATE}/summary.json`) && summaryIn(STATE).phase === 'Host', 'the hook runs');
      run.kill('SIGKILL');
      await run.ended;
      for (const options of [NOBODY, {}]) {
        const told = await agent(['status', '--wait', '-o', 'json'], options);
        assert.equal(told.status, 14, told.stderr);
        assert.equal(JSON.parse(told.stdout).outcome, 'Interrupted');
      }
    });

    test('sees an active run as running, also where /proc hides the processes of others', async () => {
      lay({ hooks: { early: { commands: ['while [ ! -e /tmp/go ]; do sleep 0.05; done'] } } });
      const run = startAgent(PROVISION);
      await waitUntil(() => existsSync(`${RUN}/summary.json`), 'there is a summary');
      shell('mount -o remount,hidepid=2 /proc');
      try {
        const told = await agent(['status', '-o', 'json'], NOBODY);
        assert.equal(told.status, 0, told.stderr);
        assert.equal(JSON.parse(told.stdout).outcome, undefined, told.stdout);
      } finally {
        shell('mount -o remount,hidepid=0 /proc');
        writeFileSync('/tmp/go', '');
        assert.equal((await run.ended).status, 0);
      }
    });

    test('is shown which right the rest needs: the timeline, a summary that is missing or damaged', async () => {
      setGroup(`machineadm:x:${GROUP_ID}:`);
      lay(WRITES);
      assert.equal((await agent(PROVISION)).status, 0);
      const refused = async (args: readonly string[], reason: string, words: RegExp) => {
        const told = await agent([...args, '-o', 'json'], NOBODY);
        assert.equal(told.status, 4, told.stderr);
        assert.equal(JSON.parse(told.stdout).error.reason, reason);
        assert.match(told.stderr, words);
      };
      await refused(['timeline'], 'NotPrivilegedUser', /as root, or as a member of the group machineadm/);
      for (const directory of [RUN, STATE]) writeFileSync(join(directory, 'summary.json'), '{"kind":');
      await refused(['status'], 'StatusUnreadable', /summary\.json cannot be read: it is not JSON/);
      for (const directory of [RUN, STATE]) rmSync(join(directory, 'summary.json'));
      await refused(['status'], 'NotPrivilegedUser', /it has no summary/);
      chmodSync(RUN, 0o700);
      await refused(['status'], 'NotPrivilegedUser', /as root/);
      assert.equal((await agent(['status'])).status, 0);
    });
  });

  test('a member of the group reads the status, and nothing else of ours', async () => {
    setGroup(`machineadm:x:${GROUP_ID}:`);
    lay(WRITES);
    assert.equal((await agent(PROVISION)).status, 0);
    const told = await agent(['status', '-o', 'json'], MEMBER);
    assert.equal(told.status, 0, told.stderr);
    assert.equal(JSON.parse(told.stdout).kind, 'BootstrapStatus');
    assert.equal(told.stderr, '');
    assert.equal((await agent(['timeline'], MEMBER)).status, 0);
    const find = `find ${STATE} ${RUN} \\( -type f -readable -o ! -type l -writable \\) -print 2>/dev/null || true`;
    const { stdout } = spawnSync('setpriv', [...(MEMBER.wrapper ?? []).slice(1), 'sh', '-c', find], {
      encoding: 'utf8',
    });
    const both = (directory: string) => [`${directory}/status.json`, `${directory}/summary.json`];
    assert.deepEqual(stdout.trim().split('\n').sort(), [...both(RUN), ...both(STATE)]);
  });

  test('the status of an earlier version, which all could read, is closed by the next run', async () => {
    setGroup(`machineadm:x:${GROUP_ID}:`);
    lay(WRITES);
    assert.equal((await agent(PROVISION)).status, 0);
    for (const directory of [RUN, STATE]) {
      rmSync(join(directory, 'summary.json'));
      chmodSync(join(directory, 'status.json'), 0o644);
    }
    assert.equal((await agent(['status'], NOBODY)).status, 0);
    assert.equal((await agent(PROVISION)).status, 0);
    for (const directory of [RUN, STATE]) {
      assert.equal(access(join(directory, 'status.json')), `640 0:${GROUP_ID}`);
      assert.equal(access(join(directory, 'summary.json')), '644 0:0');
    }
  });

  test('what the deliverer adds to the status leaves both files as they have to be, with the rights of its unit', async () => {
    setGroup(`machineadm:x:${GROUP_ID}:`);
    lay(WRITES, { reporting: { deadline: '1s', sinks: [{ type: 'Exec', command: ['/bin/sh', '-c', 'exit 75'] }] } });
    assert.equal((await agent(PROVISION)).status, 0);
    const unit = readFileSync(
      join(import.meta.dirname, '../../packaging/systemd/machineadm-report-flush.service'),
      'utf8',
    );
    const capabilities = (/^CapabilityBoundingSet=(.*)$/m.exec(unit)?.[1] ?? '').toLowerCase().split(' ');
    const set = ['-all', ...capabilities.map((name) => name.replace('cap_', '+'))].join(',');
    rmSync(`${RUN}/summary.json`);
    const flushed = await agent(['report', 'flush', '--within', '1s'], { wrapper: ['setpriv', '--bounding-set', set] });
    assert.equal(flushed.status, 20, flushed.stderr);
    assert.match(readFileSync(`${RUN}/status.json`, 'utf8'), /"state": "Pending"/);
    for (const directory of [RUN, STATE]) {
      assert.equal(access(join(directory, 'status.json')), `640 0:${GROUP_ID}`);
      assert.equal(access(join(directory, 'summary.json')), '644 0:0');
      assert.equal(summaryIn(directory).outcome, 'Succeeded');
    }
    assert.equal((await agent(['status'], NOBODY)).status, 0);
  });

  test('a user who creates a directory below ours leaves ours accessible', () => {
    for (const directory of [STATE, RUN]) {
      makeDirectories(join(directory, 'spool'), 0o700);
      assert.deepEqual([access(directory), access(join(directory, 'spool'))], ['755 0:0', '700 0:0']);
    }
  });

  test('an image contains neither the status nor its summary', async () => {
    lay({ sysctl: {}, kernelModules: [] });
    assert.equal((await agent(['prepare', '-d', DOCUMENT])).status, 0);
    assert.deepEqual(
      readdirSync(STATE).filter((name) => /status|summary/.test(name)),
      [],
    );
  });
});
