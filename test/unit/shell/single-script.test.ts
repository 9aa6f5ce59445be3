import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { HookGroup } from '@machineadm/document/model/index.ts';
import { hookScript } from '../../../src/shell/script.ts';
import {
  inScript,
  requireShared,
  scriptBefore,
  scriptEnvironment,
  wipeScript,
} from '../../../src/shell/single-script.ts';
import type { Execution } from '../../../src/step/index.ts';
import { hostModel } from '../../support/host-model.ts';
import { memoryHost } from '../../support/memory-host.ts';

const BEFORE = hookScript('hooks-before-bootstrap');
const AFTER = hookScript('hooks-after-bootstrap');
const ENVIRONMENT = `${BEFORE.state}.environment`;

function groupOf(onError: HookGroup['onError'], ...commands: string[]): HookGroup {
  return { shell: 'sh', onError, timeoutMs: 1_000, commands, frequency: 'Once' };
}

describe('the environment that beforeBootstrap leaves', () => {
  const left = async (content: string | undefined) =>
    await scriptEnvironment(memoryHost({ files: content === undefined ? {} : { [ENVIRONMENT]: content } }));

  test('are its directory, its umask and its variables, also those whose values have "=" in them', async () => {
    const content = ['/srv', '0027', 'A=1', 'OPTIONS=--x=y --z=', 'EMPTY=', 'LINES=a\nb', ''].join('\0');
    assert.deepEqual(await left(content), {
      cwd: '/srv',
      umask: '0027',
      env: { A: '1', OPTIONS: '--x=y --z=', EMPTY: '', LINES: 'a\nb' },
    });
  });

  test('are without what belongs to the shell that printed them, and to its run', async () => {
    const own = ['_', 'PWD', 'OLDPWD', 'SHLVL', 'MACHINEADM_RUN', 'MACHINEADM_PHASE', ''];
    const content = ['/', '0022', ...own.map((name) => `${name}=x`), 'KEPT=x'].join('\0');
    assert.deepEqual((await left(content))?.env, { KEPT: 'x' });
  });

  test('are none without a file, and for one that was cut off', async () => {
    assert.equal(await left(undefined), undefined);
    assert.equal(await left('/srv'), undefined);
    assert.deepEqual(await left('/srv\x000022'), { cwd: '/srv', umask: '0022', env: {} });
  });

  test('are removed together with the state of the shell, since both may hold secrets', async () => {
    const host = memoryHost({ files: { [BEFORE.state]: 'a', [ENVIRONMENT]: 'b' } });
    await wipeScript(host);
    assert.deepEqual(host.log, [`remove ${BEFORE.state}`, `remove ${ENVIRONMENT}`]);
  });
});

describe('a group of hooks in a single script', () => {
  const model = (before: HookGroup | undefined, after: HookGroup | undefined, early?: HookGroup) =>
    hostModel({ hooks: { early, beforeBootstrap: before, afterBootstrap: after } });
  const script = groupOf('Script', 'a');
  const next = groupOf('Script', 'b', 'c');

  const CASES = [
    ['beforeBootstrap', model(script, next), ['b', 'c'], false],
    ['beforeBootstrap', model(script, undefined), [], false],
    ['afterBootstrap', model(script, next), [], true],
    ['afterBootstrap', model(undefined, next), [], false],
    ['early', model(script, next, script), [], false],
    ['beforeBootstrap', model(groupOf('Fail', 'a'), next), [], false],
    ['afterBootstrap', model(script, groupOf('Continue', 'b')), [], false],
    ['afterBootstrap', model(undefined, undefined), [], false],
  ] as const;
  for (const [index, [phase, of, continuing, continues]] of CASES.entries())
    test(`${phase} (${index + 1}) ${continues ? 'continues a shell' : 'begins a shell'}; ${continuing.length} commands continue in it`, () => {
      assert.deepEqual(inScript(phase, of), { continuing, continues });
    });

  test('begins with the state of the one before, as a state of its own that only root can read', async () => {
    const host = memoryHost({ files: { [BEFORE.state]: '# machineadm hook old 3 whole\nexport A=1\ncd /srv\n' } });
    const found = await scriptBefore(host, AFTER, { phase: 'afterBootstrap', group: next, continues: true });
    assert.match(found?.token ?? '', /^[0-9a-f-]{36}$/);
    assert.deepEqual(found, { token: found?.token, completed: 0, kind: 'whole' });
    assert.equal(host.text(AFTER.state), `# machineadm hook ${found?.token} 0 whole\nexport A=1\ncd /srv\n`);
    assert.deepEqual(host.log, [`write ${AFTER.state} 0600 0:0`]);
  });

  test('fails where that state is gone, and looks for none where it begins a shell', async () => {
    const host = memoryHost();
    await assert.rejects(scriptBefore(host, AFTER, { phase: 'afterBootstrap', group: next, continues: true }), {
      reason: 'AfterBootstrapHookFailed',
      message: /commands\[0\]\): it continues .* cannot be restored \(what beforeBootstrap left of it is gone\)\.$/,
    });
    for (const continues of [false, undefined])
      assert.equal(
        await scriptBefore(host, AFTER, {
          phase: 'afterBootstrap',
          group: next,
          ...(continues === undefined ? {} : { continues }),
        }),
        undefined,
      );
    assert.deepEqual(host.log, []);
  });
});

describe('what later parts of a script need of its shell', () => {
  const required = async (word: string) => {
    const host = memoryHost({ files: { [BEFORE.state]: `# machineadm hook t 1 ${word}\n` } });
    const warnings: string[] = [];
    const execution: Execution = {
      signal: new AbortController().signal,
      waitingFor: () => {},
      output: () => {},
      warn: (message) => warnings.push(message),
      release: () => {},
      remember: () => {},
    };
    await requireShared(host, 'hooks-before-bootstrap', 't', groupOf('Script', 'a'), execution);
    return warnings;
  };

  test('is there where the shell was written down whole, or did not have to be', async () => {
    assert.deepEqual(await required('whole'), []);
    assert.deepEqual(await required('fresh'), []);
  });

  for (const [kind, why] of [
    ['jobs', 'programs of it ran in the background'],
    ['directories', 'its stack of directories is not empty'],
    ['descriptors', 'it had changed its descriptors or limits'],
  ] as const)
    test(`is reported as incomplete: ${why}`, async () => {
      assert.deepEqual(await required(kind), [
        `hooks-before-bootstrap: the bootstrapper and afterBootstrap do not get all of its shell: ${why}`,
      ]);
    });

  test('is missing without its functions: that is an error of afterBootstrap', async () => {
    await assert.rejects(required('functions'), {
      reason: 'AfterBootstrapHookFailed',
      message: /host\.hooks\.afterBootstrap\.commands\[0\].*\(sh cannot write down its functions and aliases\)\.$/,
    });
  });
});
