import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { agent, MAIN } from '../support/agent.ts';
import { needs } from '../support/needs.ts';
import { Terminal } from '../support/terminal.ts';

const PROMPT = '% ';
const BASH_COMPLETION = '/usr/share/bash-completion/bash_completion';

/** A shell with the completion installed as its users do, in a home of its own. */
interface ShellSetup {
  readonly program: string;
  readonly shell: 'bash' | 'zsh' | 'fish';
  /** Why it cannot be tested here. */
  readonly skip: string | false;
  /** Files below its home; the script of `completion SHELL` is put in for `SCRIPT`. */
  readonly files: Readonly<Record<string, string>>;
  readonly args: readonly string[];
  /** The same shell, installed otherwise: only what may differ by that is tested again. */
  readonly isVariant?: true;
}

const SCRIPT = 'SCRIPT';

const SHELLS: Readonly<Record<string, ShellSetup>> = {
  bash: {
    program: 'bash',
    shell: 'bash',
    skip: false,
    files: { machineadm: SCRIPT, '.bashrc': `PS1='${PROMPT}'; . ~/machineadm\n` },
    args: ['--rcfile', '.bashrc', '-i'],
  },
  'bash with bash-completion': {
    program: 'bash',
    shell: 'bash',
    skip: needs(BASH_COMPLETION),
    files: {
      '.local/share/bash-completion/completions/machineadm': SCRIPT,
      '.bashrc': `PS1='${PROMPT}'; . ${BASH_COMPLETION}\n`,
    },
    args: ['--rcfile', '.bashrc', '-i'],
    isVariant: true,
  },
  'zsh, on its fpath': {
    program: 'zsh',
    shell: 'zsh',
    skip: needs('zsh'),
    files: {
      'site-functions/_machineadm': SCRIPT,
      '.zshrc': `PROMPT='%% '; fpath=(~/site-functions $fpath); autoload -Uz compinit; compinit -u\n`,
    },
    args: ['-d', '-i'],
  },
  'zsh, by source': {
    program: 'zsh',
    shell: 'zsh',
    skip: needs('zsh'),
    files: { machineadm: SCRIPT, '.zshrc': `PROMPT='%% '; autoload -Uz compinit; compinit -u; source ~/machineadm\n` },
    args: ['-d', '-i'],
    isVariant: true,
  },
  fish: {
    program: 'fish',
    shell: 'fish',
    skip: needs('fish'),
    files: {
      '.config/fish/completions/machineadm.fish': SCRIPT,
      // Without this directory fish reads all manual pages when it starts.
      '.local/share/fish/generated_completions/none.fish': '',
      '.config/fish/config.fish': `set -g fish_greeting; set -g fish_autosuggestion_enabled 0; function fish_prompt; echo -n '${PROMPT}'; end\n`,
    },
    args: ['-i'],
  },
};

/** What is typed before the TAB, and the line after it. */
const CASES: readonly (readonly [string, string, string])[] = [
  ['a command', 'machineadm stat', 'machineadm status'],
  ['a subcommand', 'machineadm config s', 'machineadm config show'],
  ['an option', 'machineadm status --timeo', 'machineadm status --timeout'],
  ['a value of an option', 'machineadm status -o h', 'machineadm status -o html'],
  ['a value behind =', 'machineadm status --output=h', 'machineadm status --output=html'],
  ['a value of an argument', 'machineadm completion f', 'machineadm completion fish'],
  ['a file for a document', 'machineadm validate -f boot', 'machineadm validate -f bootstrap.yaml'],
  ['a file with a blank', 'machineadm verify my', 'machineadm verify my\\ file'],
  [
    'a directory where no file is taken',
    'machineadm fetch --output-dir sub',
    'machineadm fetch --output-dir subdirectory/',
  ],
  ['a field of the document', 'machineadm explain host.hooks.ear', 'machineadm explain host.hooks.early'],
  [
    'a version of the document',
    'machineadm render kubeadm -f bootstrap.yaml --kubeadm-version v',
    'machineadm render kubeadm -f bootstrap.yaml --kubeadm-version v1.35.2',
  ],
];

describe('a TAB in a terminal', { skip: needs('tmux') }, () => {
  let home = '';
  before(async () => {
    home = mkdtempSync(join(tmpdir(), 'machineadm-completion-'));
    mkdirSync(join(home, 'bin'));
    writeFileSync(join(home, 'bin/machineadm'), `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`);
    chmodSync(join(home, 'bin/machineadm'), 0o755);
    mkdirSync(join(home, 'work/subdirectory'), { recursive: true });
    for (const name of ['subfile', 'my file']) writeFileSync(join(home, 'work', name), '');
    writeFileSync(join(home, 'work/bootstrap.yaml'), (await agent(['example', '--role', 'Worker'])).stdout);
  });
  after(() => rmSync(home, { recursive: true, force: true }));

  for (const [name, { program, shell, skip, files, args, isVariant }] of Object.entries(SHELLS)) {
    describe(`of ${name}`, { skip }, () => {
      let terminal: Terminal;
      before(async () => {
        const own = join(home, name);
        const { stdout: script } = await agent(['completion', shell]);
        for (const [path, content] of Object.entries(files)) {
          mkdirSync(join(own, path, '..'), { recursive: true });
          writeFileSync(
            join(own, path),
            content.replace(SCRIPT, () => script),
          );
        }
        const env = { HOME: own, ZDOTDIR: own, PATH: `${join(home, 'bin')}:/usr/bin:/bin` };
        const rc = args.map((arg) => (arg === '.bashrc' ? join(own, arg) : arg));
        terminal = new Terminal({ command: [program, ...rc], columns: 120, rows: 40, cwd: join(home, 'work'), env });
        await terminal.until((screen) => screen.includes(PROMPT.trim()));
      });
      after(async () => await terminal?.[Symbol.asyncDispose]());

      const cases = isVariant
        ? CASES.filter(([what]) => /^a (?:command|file|directory|value behind)/.test(what))
        : CASES;
      for (const [what, typed, expected] of cases) {
        test(`completes ${what}`, { timeout: 900_000 }, async () => {
          await completes(terminal, typed, 1, (screen) => lineOf(screen).trimEnd() === expected);
        });
      }

      test('lists what there is', { timeout: 900_000 }, async () => {
        const roles = ['InitControlPlane', 'JoinControlPlane', 'Worker'];
        // Bash lists at the second one.
        const tabs = shell === 'bash' ? 2 : 1;
        await completes(terminal, 'machineadm example --role ', tabs, (screen) =>
          roles.every((role) => screen.includes(role)),
        );
      });
    });
  }
});

/**
 * Types on an empty line of an empty screen, presses TAB, and waits for what comes of it. A shell that is late to hear of
 * the interrupt forgets what was typed since then: it is typed again, with more time for it each time.
 */
async function completes(
  terminal: Terminal,
  text: string,
  tabs: number,
  isThere: (screen: string) => boolean,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    // bash may keep an interrupt for its next completion, which it then drops: only every second attempt has one.
    for (const key of [attempt % 2 === 1 ? 'C-e' : 'C-c', 'C-u', 'C-l']) terminal.press(key);
    try {
      await terminal.until((screen) => screen.trim() === PROMPT.trim(), attempt * 5_000);
      terminal.type(text);
      await terminal.until((screen) => lineOf(screen).trimEnd() === text.trimEnd(), attempt * 5_000);
      for (let tab = 0; tab < tabs; tab += 1) terminal.press('Tab');
      await terminal.until(isThere, attempt * 10_000);
      return;
    } catch (error) {
      if (attempt === 8) throw error;
    }
  }
}

/** The line that is typed: behind the prompt. */
function lineOf(screen: string): string {
  return /^% (.*)$/m.exec(screen)?.[1] ?? '';
}

test('PowerShell gets its script', async () => {
  const { status, stdout } = await agent(['completion', 'powershell']);
  assert.equal(status, 0);
  assert.match(stdout, /Register-ArgumentCompleter -Native/);
});
