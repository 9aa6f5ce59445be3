import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { afterEach, describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { HooksModel } from '@machineadm/document/host-parts/hooks.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { afterBootstrapHooks, beforeBootstrapHooks } from '../../../src/features/hooks/index.ts';
import { openHost } from '../../../src/host/index.ts';
import { readSealedText } from '../../../src/host/secrets/sealed-files.ts';
import { inShellEnvironment } from '../../../src/kubernetes/shell-environment.ts';
import { scriptEnvironment, wipeScript } from '../../../src/shell/single-script.ts';
import { hostModel } from '../../support/host-model.ts';
import { inThrowAwayMachine } from '../../support/namespace.ts';
import { planned, runStep } from '../../support/run-step.ts';

const OUT = '/tmp/out';
const STATE = '/var/lib/machineadm/hooks/hooks-before-bootstrap';

/** Writes down what it runs with. The variables that every program has differ between a shell of ours and a bare one. */
const PROGRAM = `#!/bin/sh
{ echo "argv $*"; pwd; umask; env | grep -vE '^(PATH|HOME|LANG|PWD|OLDPWD|SHLVL|_|MACHINEADM_[A-Z]+)=' | sort; echo "PATH $PATH"; } >>${OUT}
`;

interface Script {
  readonly before: readonly string[];
  readonly after: readonly string[];
  readonly shell?: 'sh' | 'bash';
}

/** What differs between a provider's one script and three runs of a shell, if nothing carries it over. */
const SCRIPTS: Readonly<Record<string, Script>> = {
  'an exported variable, also one with quotes and line breaks': {
    before: [`export HTTPS_PROXY="http://a:3128"; export ODD="it's \\$x\n'y'"`],
    after: [`echo "$HTTPS_PROXY $ODD" >>${OUT}`],
  },
  'a variable that is not exported': { before: ['plain=1'], after: [`echo "[$plain]" >>${OUT}`] },
  'the status of the command before': {
    before: ['false', `echo $? >>${OUT}`, '(exit 3)'],
    after: ['(exit 4)', `echo $? >>${OUT}`],
  },
  'the working directory and the umask': { before: ['cd /var', 'umask 077'], after: [`pwd >>${OUT}; umask >>${OUT}`] },
  'positional parameters and options': { before: ['set -- a "b c"; set -f'], after: [`echo "$# $2 *" >>${OUT}`] },
  'the search path': { before: ['export PATH=/opt/site:$PATH'], after: [`echo "$PATH" >>${OUT}`] },
  'a variable that is removed': { before: ['export A=1', 'unset A'], after: [`echo "[\${A-none}]" >>${OUT}`] },
  'a command that fails': { before: ['false', `echo on >>${OUT}`], after: ['false', `echo after >>${OUT}`] },
  'a trap of the end, which runs after the last command': {
    before: [`trap 'echo end >>${OUT}' EXIT`],
    after: [`echo after >>${OUT}`],
  },
  'functions, arrays and shopt of bash': {
    before: ['f() { echo "f $1"; }; list=(a "b c"); shopt -s nullglob'],
    after: [`f 1 >>${OUT}; echo "\${list[1]}" >>${OUT}; echo /none* >>${OUT}`],
    shell: 'bash',
  },
  'set -e, and a test that does not count': {
    before: ['set -e', 'test -f /none && true', `echo on >>${OUT}`],
    after: [],
  },
  'set -e, where a command fails before the program': {
    before: ['set -e', 'false', `echo never >>${OUT}`],
    after: [`echo never >>${OUT}`],
  },
  'set -e, where a command fails after the program': {
    before: ['set -e'],
    after: [`echo a >>${OUT}`, 'false', `echo never >>${OUT}`],
  },
  'set -u': { before: ['set -u', 'echo "$NOT_THERE"'], after: [`echo never >>${OUT}`] },
  'exit before the program': { before: ['exit 0', `echo never >>${OUT}`], after: [] },
  'exit after the program': { before: ['true'], after: [`echo a >>${OUT}`, 'exit 0', `echo never >>${OUT}`] },
};

inThrowAwayMachine(import.meta.filename, () => {
  const host = openHost({ runId: 'test' });
  mkdirSync('/opt/site', { recursive: true });
  writeFileSync('/opt/site/program', PROGRAM);
  chmodSync('/opt/site/program', 0o755);

  const lines = () => (existsSync(OUT) ? readFileSync(OUT, 'utf8').split('\n') : []);
  const modelOf = ({ before, after, shell = 'sh' }: Script) => {
    const group = { shell, onError: 'Script', timeoutMs: 20_000, frequency: 'Once' } as const;
    const hooks: HooksModel = {
      early: undefined,
      beforeBootstrap: { ...group, commands: before },
      afterBootstrap: after.length === 0 ? undefined : { ...group, commands: after },
    };
    return hostModel({ hooks });
  };

  /** As the pipeline does: the group, the program, the group. */
  async function inParts(script: Script): Promise<boolean> {
    const model = modelOf(script);
    try {
      await runStep(beforeBootstrapHooks, host, model);
      // What the commands exported may be a secret.
      const { mode } = statSync('/var/lib/machineadm/hooks/hooks-before-bootstrap.environment');
      assert.equal(mode & 0o777, 0o600);
      const program = inShellEnvironment('/opt/site/program', ['init', 'a b'], await scriptEnvironment(host));
      assert.equal((await host.run({ ...program, supervised: true })).status, 0);
      if (model.host.hooks.afterBootstrap !== undefined) await runStep(afterBootstrapHooks, host, model);
      return true;
    } catch (error) {
      assert.ok(error instanceof MachineadmError && /HookFailed$/.test(error.reason), String(error));
      return false;
    }
  }

  /** As the provider does: one script. */
  function asScript({ before, after, shell = 'sh' }: Script): boolean {
    writeFileSync('/tmp/script', [...before, "/opt/site/program init 'a b'", ...after, ''].join('\n'));
    const env = {
      PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/bin',
      HOME: '/root',
      LANG: 'C.UTF-8',
    };
    spawnSync('sh', ['-c', `umask 022; exec ${shell} /tmp/script`], { env, cwd: '/', stdio: 'ignore' });
    return lines().some((line) => line.startsWith('argv'));
  }

  afterEach(async () => {
    await nextTurn();
    for (const path of [OUT, '/var/lib/machineadm', '/run/machineadm']) rmSync(path, { recursive: true, force: true });
  });

  describe('beforeBootstrap, the bootstrapper and afterBootstrap of a single script do what one script does', () => {
    for (const [what, script] of Object.entries(SCRIPTS)) {
      test(what, async () => {
        const runs = asScript(script);
        const wanted = lines();
        rmSync(OUT, { force: true });
        const works = await inParts(script);
        assert.deepEqual(lines(), wanted);
        // What a script passes over in silence, because it ends, is a failure that is named.
        const failsAfter = /after the program$/.test(what) && script.before.includes('set -e');
        assert.equal(works, runs && !failsAfter);
      });
    }
  });

  test('a function of sh that a later group calls is refused before the bootstrapper, with the remedy', async () => {
    const script = { before: ['f() { :; }'], after: ['f'] };
    await assert.rejects(
      runStep(beforeBootstrapHooks, host, modelOf(script)),
      ({ message, remedy }: MachineadmError) => {
        assert.match(
          message,
          /host\.hooks\.afterBootstrap\.commands\[0\].*cannot be restored \(sh cannot write down its functions/s,
        );
        assert.match(remedy, /shell to bash/);
        return true;
      },
    );
  });

  test('redirections and limits of the shell do not reach the bootstrapper, and a warning says so', async () => {
    const { warnings } = await runStep(
      beforeBootstrapHooks,
      host,
      modelOf({ before: ['exec >/tmp/log'], after: ['true'] }),
    );
    assert.match(warnings.join(), /do not get all of its shell: it had changed its descriptors or limits/);
  });

  test('a first command after the bootstrapper that failed runs again, in the shell of the script', async () => {
    const model = modelOf({ before: ['export A=1'], after: [`set -e; test -f /tmp/ready; echo "$A" >>${OUT}`] });
    await runStep(beforeBootstrapHooks, host, model);
    await assert.rejects(runStep(afterBootstrapHooks, host, model), { reason: 'AfterBootstrapHookFailed' });
    writeFileSync('/tmp/ready', '');
    await runStep(afterBootstrapHooks, host, model);
    assert.deepEqual(lines(), ['1', '']);
  });

  test('what the script leaves is of root alone, and a run that succeeded removes it', async () => {
    const model = modelOf({ before: ['export TOKEN=hunter-two'], after: ['true'] });
    await runStep(beforeBootstrapHooks, host, model);
    await runStep(afterBootstrapHooks, host, model);
    const kept = [STATE, `${STATE}.environment`];
    for (const path of kept) assert.match((await readSealedText(host, path)) ?? '', /hunter-two/);
    assert.equal(spawnSync('find', [...kept, '-perm', '/077'], { encoding: 'utf8' }).stdout, '');
    await wipeScript(host);
    assert.deepEqual(readdirSync('/var/lib/machineadm/hooks'), []);
  });

  test('a plan shows the commands of both groups', async () => {
    const model = modelOf({ before: ['true'], after: ['true'] });
    assert.equal((await planned(beforeBootstrapHooks, host, model)).length, 1);
    assert.equal((await planned(afterBootstrapHooks, host, model)).length, 1);
  });
});
