import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { parse } from 'yaml';
import { agent, MAIN } from '../support/agent.ts';
import { needs } from '../support/needs.ts';

/** What every colour begins with. */
const ESCAPE = '\u001b';

/** As a process; the commands one by one are run within the test's own in test/unit/cli/command-line.test.ts. */
describe('the command line', () => {
  let directory = '';
  let document = '';

  before(async () => {
    directory = mkdtempSync(join(tmpdir(), 'machineadm-cli-'));
    document = join(directory, 'document.yaml');
    writeFileSync(document, (await agent(['example', '--role', 'InitControlPlane'])).stdout, { mode: 0o600 });
  });
  after(() => rmSync(directory, { recursive: true }));

  for (const [args, ends] of [
    [
      ['validate', '-d', 'DOCUMENT'],
      [0, /^valid: /, /^$/],
    ],
    [
      ['validate', '-d', '/nowhere.yaml', '-o', 'json'],
      [3, /"DocumentNotFound"/, /\[DocumentNotFound\]/],
    ],
    [['provison'], [2, /^$/, /Did you mean provision\?/]],
    [['--help'], [0, /^Usage: machineadm /, /^$/]],
  ] as const) {
    test(`machineadm ${args.join(' ')} ends with ${ends[0]}`, async () => {
      const run = await agent(args.map((word) => (word === 'DOCUMENT' ? document : word)));
      assert.equal(run.status, ends[0], run.stderr);
      assert.match(run.stdout, ends[1]);
      assert.match(run.stderr, ends[2]);
    });
  }

  describe('the terminal', () => {
    /** On a terminal, as script(1) gives one. */
    const onTerminal = (command: string, env: Readonly<Record<string, string>> = {}) =>
      spawnSync('script', ['-qec', `${process.execPath} ${MAIN} ${command}`, '/dev/null'], {
        env: { PATH: process.env.PATH, HOME: '/root', TERM: 'xterm', ...env },
        encoding: 'utf8',
        input: '',
      }).stdout;
    const paths = () => {
      mkdirSync(join(directory, 'status'), { recursive: true });
      return join(directory, 'status');
    };

    test('gets no colour in help or in errors, with or without NO_COLOR', { skip: needs('Linux') }, () => {
      for (const env of [{}, { NO_COLOR: '1' }, { FORCE_COLOR: '1' }]) {
        assert.ok(!onTerminal('--help', env).includes(ESCAPE));
        assert.ok(!onTerminal('provison', env).includes(ESCAPE));
      }
    });

    test('that goes away early harms nothing: `| head -1` gets its line, and the status is kept', () => {
      const script = `cd ${paths()}; { ${process.execPath} ${MAIN} schema; echo $? >&3; } 3>code | head -1`;
      const { stdout, stderr } = spawnSync('sh', ['-c', script], { encoding: 'utf8' });
      assert.equal(stdout, '{\n');
      assert.equal(stderr, '');
      assert.equal(readFileSync(join(paths(), 'code'), 'utf8'), '0\n');
    });

    test('closed on both ends is no reason to crash', () => {
      const script = `exec ${process.execPath} ${MAIN} version >&- 2>&-`;
      assert.equal(spawnSync('sh', ['-c', script]).status, 0);
      const full = `${process.execPath} ${MAIN} version >/dev/full`;
      assert.equal(spawnSync('sh', ['-c', full], { encoding: 'utf8' }).signal, null);
    });
  });

  describe('standard input', () => {
    test('takes what config show prints', async () => {
      const input = (await agent(['config', 'show', '-d', document])).stdout.replaceAll(
        '[redacted]',
        'abcdef.0123456789abcdef',
      );
      const { status, stderr } = await agent(['validate', '-d', '-'], { input });
      assert.equal(status, 0, stderr);
    });
    test('of a document without kubernetes has nothing to render', async () => {
      const input = 'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: a}\n';
      const { status, stderr } = await agent(['render', 'kubeadm', '-d', '-'], { input });
      assert.equal(status, 3, stderr);
      assert.match(stderr, /no "kubernetes" section/);
    });
    test('example prints a document for each role that validate accepts from standard input', async () => {
      for (const role of ['InitControlPlane', 'JoinControlPlane', 'Worker']) {
        const { stdout } = await agent(['example', '--role', role]);
        assert.equal(parse(stdout).kubernetes.role, role);
        const { status, stderr } = await agent(['validate', '-d', '-'], { input: stdout });
        assert.equal(status, 0, stderr);
      }
    });
  });
});
