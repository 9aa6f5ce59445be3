import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { beforeEach, test } from 'node:test';
import { stringify } from 'yaml';
import { MAIN } from '../support/agent.ts';
import { inThrowAwayMachine } from '../support/namespace.ts';
import { needs } from '../support/needs.ts';
import { Terminal } from '../support/terminal.ts';

const DIRECTORY = '/tmp/checklist';
const DOCUMENT = `${DIRECTORY}/document.yaml`;
/** The hook of the document waits for it. */
const GO = `${DIRECTORY}/go`;
const RUNNING = /^ {2}[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] early hooks +(\d+ m \d+ s|\d+ s)(?: |$)/m;

function write(commands: readonly string[]): void {
  const document = {
    apiVersion: 'machineadm.dev/v1alpha1',
    kind: 'MachineBootstrap',
    metadata: { name: 'throw-away' },
    host: { hooks: { early: { commands } }, files: [{ path: '/etc/machineadm-test/file', content: 'x' }] },
  };
  writeFileSync(DOCUMENT, stringify(document), { mode: 0o600 });
}

/** A shell in a terminal that runs provision, and then prints its status. */
function provisioning(columns: number, environment = ''): Terminal {
  // The environment here, as tmux sets TERM itself; the trap, as a shell in a script ends with its child at Ctrl-C.
  const line = `trap : INT; ${environment} '${process.execPath}' '${MAIN}' provision -f ${DOCUMENT}; echo "status=$?"; exec sh -i`;
  const { PATH = '' } = process.env;
  return new Terminal({
    command: ['sh', '-c', line],
    columns,
    rows: 40,
    cwd: DIRECTORY,
    env: { PATH, TERM: 'screen-256color', PS1: 'ready> ' },
  });
}

const countOf = (screen: string, words: string): number => screen.split(words).length - 1;

inThrowAwayMachine(import.meta.filename, () => {
  beforeEach(() => {
    for (const path of [DIRECTORY, '/var/lib/machineadm', '/run/machineadm', '/etc/machineadm-test'])
      rmSync(path, { recursive: true, force: true });
    mkdirSync(DIRECTORY, { recursive: true });
    write([`echo a line of the hook; while [ ! -e ${GO} ]; do sleep 0.1; done`]);
  });
  const options = { skip: needs('tmux'), timeout: 600_000 };

  test(
    'provision shows a list of its steps that is rewritten in place, whatever the size of the terminal',
    options,
    async () => {
      await using terminal = provisioning(80);
      await terminal.until((screen) => RUNNING.test(screen) && screen.includes('a line of the hook'));
      for (const columns of [60, 200, 80]) {
        terminal.resize(columns, 40);
        const before = RUNNING.exec(terminal.screen())?.[1];
        // The time that is shown changed: it was drawn anew since.
        const screen = await terminal.until((one) => RUNNING.test(one) && RUNNING.exec(one)?.[1] !== before);
        assert.equal(countOf(screen, 'provision of throw-away'), 1, screen);
        assert.equal(countOf(screen, 'early hooks'), 1, screen);
        assert.match(screen, /^ {2}· files$/m);
        for (const line of screen.split('\n')) assert.ok(line.length < columns, line);
        assert.ok(terminal.isCursorVisible());
      }
      writeFileSync(GO, '');
      const end = await terminal.until((screen) => screen.includes('status='));
      assert.match(end, /status=0/);
      assert.equal(countOf(end, 'throw-away: provision Succeeded'), 1, end);
      assert.doesNotMatch(end, /✓|· |\[\d\/\d\]/, 'the status says it all');
    },
  );

  test('Ctrl-C ends it with the status, and leaves the terminal as it was', options, async () => {
    await using terminal = provisioning(80);
    await terminal.until((screen) => RUNNING.test(screen));
    terminal.press('C-c');
    const end = await terminal.until((screen) => screen.includes('status='));
    assert.match(end, /status=14/);
    assert.match(end, /the run was ended by Ctrl-C/);
    assert.ok(terminal.isCursorVisible());
    await terminal.until((screen) => screen.includes('ready>'));
    terminal.type('echo typed"-and-"run');
    terminal.press('Enter');
    await terminal.until((screen) => screen.includes('typed-and-run'));
  });

  test('a run that failed has one headline, its reason and its place once, and what to try next', options, async () => {
    write(['echo the disk is full >&2; exit 3']);
    await using terminal = provisioning(100);
    const end = await terminal.until((screen) => screen.includes('status='));
    assert.match(end, /status=10/);
    assert.equal(countOf(end, 'provision Failed (exit 10)'), 1, end);
    assert.equal(countOf(end, 'HookFailed'), 1, end);
    assert.match(end, /^ {2}\/tmp\/checklist\/document\.yaml:\d+:\d+ {2}host\.hooks\.early/m);
    assert.match(end, /the disk is full/);
    assert.match(end, /^Try next: machineadm doctor -f \/tmp\/checklist\/document\.yaml$/m);
  });

  test('a dumb terminal and CI get one line for each event', options, async () => {
    for (const environment of ['TERM=dumb', 'CI=true']) {
      rmSync('/var/lib/machineadm', { recursive: true, force: true });
      writeFileSync(GO, '');
      await using terminal = provisioning(80, environment);
      const screen = await terminal.until((one) => one.includes('status='));
      assert.match(screen, /^early hooks: started$/m);
      assert.match(screen, /^early hooks: done, 1 change in /m);
      assert.match(screen, /^ {2}.*: a line of the hook$/m);
      assert.doesNotMatch(screen, /✓/);
    }
  });
});
