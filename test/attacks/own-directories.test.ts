import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { beforeEach, describe, test } from 'node:test';
import { type AgentRun, agent } from '../support/agent.ts';
import { ATTACKER_UID, attack, IS_WHOLE_ATTACK } from '../support/attacks.ts';
import { inThrowAwayMachine } from '../support/namespace.ts';
import { needs } from '../support/needs.ts';
import { freshMachine } from '../support/sink-faults.ts';

const KIND = 'Directories of machineadm';
const DOCUMENT = '/tmp/own.yaml';
const WRITTEN = '/tmp/written-by-the-run';
const ELSEWHERE = '/tmp/elsewhere';
const OF_ROOT = `${ELSEWHERE}/of-root`;
const OURS = ['/run/machineadm', '/var/lib/machineadm'];
const SPOOL = '/var/lib/machineadm/spool';

const madeWith = (mode: number) => (path: string) => {
  mkdirSync(path);
  chmodSync(path, mode);
};
const fifo = (path: string): void => void execFileSync('mkfifo', [path]);

/** What is wrong with a directory of ours, and how an attacker or a mistake makes it so. */
const WRONG_DIRECTORIES: Readonly<Record<string, (path: string) => void>> = {
  'belongs to another user': (path) => {
    mkdirSync(path);
    chownSync(path, ATTACKER_UID, ATTACKER_UID);
  },
  'is a FIFO': fifo,
  'is writable for all': madeWith(0o777),
  'is writable for all, with the sticky bit': madeWith(0o1777),
  'is writable for its group': madeWith(0o775),
  'is a file': (path) => writeFileSync(path, ''),
  'is a link to a directory of another user': (path) => {
    chownSync(ELSEWHERE, ATTACKER_UID, ATTACKER_UID);
    symlinkSync(ELSEWHERE, path);
  },
};

const WRONG_FILES: Readonly<Record<string, (path: string) => void>> = {
  // Whoever opens it waits for its other end.
  'is a FIFO': fifo,
  'is a link to a file of root': (path) => symlinkSync(OF_ROOT, path),
  'is a directory': (path) => mkdirSync(path),
};

/** Beside the integration tests the first of each is enough. */
function tried<T>(cases: Readonly<Record<string, T>>): (readonly [string, T])[] {
  return Object.entries(cases).slice(0, IS_WHOLE_ATTACK ? undefined : 1);
}

inThrowAwayMachine(import.meta.filename, () => {
  describe('a run that finds its own directory altered', { skip: needs('root') }, () => {
    beforeEach(async () => {
      for (const path of OURS) if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === false) rmSync(path);
      await freshMachine();
      for (const path of [...OURS, WRITTEN, ELSEWHERE]) rmSync(path, { recursive: true, force: true });
      mkdirSync(ELSEWHERE, { mode: 0o755 });
      writeFileSync(OF_ROOT, 'of root\n', { mode: 0o600 });
    });

    function lay(path: string, make: (path: string) => void): () => string {
      mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
      make(path);
      return () => {
        const { mode, uid, ino } = lstatSync(path);
        return `${mode.toString(8)} ${uid} ${ino} ${readFileSync(OF_ROOT, 'utf8')}${readdirSync(ELSEWHERE).join(' ')}`;
      };
    }

    function provision(sinks = '[]', wrapper: readonly string[] = []): Promise<AgentRun> {
      const header = 'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: n1}\n';
      const body = `host: {files: [{path: ${WRITTEN}, content: x}]}\nreporting: {sinks: ${sinks}}\n`;
      writeFileSync(DOCUMENT, header + body, { mode: 0o600 });
      return agent(['provision', '-d', DOCUMENT], { wrapper: ['timeout', '-s', 'KILL', '90', ...wrapper] });
    }

    function refused({ status, stderr }: AgentRun, path: string): void {
      assert.equal(status, 4, stderr);
      assert.ok(stderr.includes(path), stderr);
      assert.match(stderr, /UnsafePath|FileNotWritten/);
      assert.ok(!existsSync(WRITTEN), 'the host was changed');
    }

    const places = [
      [OURS, WRONG_DIRECTORIES],
      [['/run/machineadm/lock', '/var/lib/machineadm/journal'], WRONG_FILES],
    ] as const;
    for (const [paths, alterations] of places) {
      for (const path of paths) {
        for (const [wrong, make] of tried(alterations)) {
          test(
            `${path} ${wrong}: the run is refused, says why and changes nothing`,
            attack(KIND, `${path} ${wrong}`, async () => {
              const looks = lay(path, make);
              const before = looks();
              refused(await provision(), path);
              assert.equal(looks(), before);
            }),
          );
        }
      }
    }

    for (const [wrong, make] of tried(WRONG_FILES)) {
      const path = '/run/machineadm/status.json';
      test(
        `${path} ${wrong}: nothing is read or written through it`,
        attack(KIND, `${path} ${wrong}`, async () => {
          lay(path, make);
          const { status, stderr } = await provision();
          assert.ok(status === 0 || status === 4, `${status} ${stderr}`);
          assert.equal(readFileSync(OF_ROOT, 'utf8'), 'of root\n');
        }),
      );
    }

    for (const [wrong, make] of tried(WRONG_DIRECTORIES)) {
      test(
        `${SPOOL} ${wrong}: no report is stored there, and the result of the run stays the same`,
        attack(KIND, `${SPOOL} ${wrong}`, async () => {
          const looks = lay(SPOOL, make);
          const before = looks();
          const { status, stderr } = await provision(`[{type: Exec, command: ['false']}]`);
          assert.equal(status, 0, stderr);
          assert.equal(looks(), before);
          if (lstatSync(SPOOL).isDirectory()) assert.deepEqual(readdirSync(SPOOL), []);
        }),
      );
    }

    test(
      '/proc is not mounted: the run is refused, says why and changes nothing',
      attack(KIND, '/proc is not mounted', async () => {
        const { status, stderr } = await provision('[]', [
          'unshare',
          '-m',
          'sh',
          '-c',
          'umount -l /proc && exec "$@"',
          'sh',
        ]);
        assert.equal(status, 4, stderr);
        assert.match(
          stderr,
          /\/proc is not mounted: .*\[PreflightFailed\]\n(?:.*\n)*Mount it with "mount -t proc proc \/proc"/,
        );
        assert.ok(!existsSync(WRITTEN));
      }),
    );
  });
});
