import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { stringify } from 'yaml';
import { type AgentRun, agent, startAgent } from '../support/agent.ts';
import { IS_WHOLE_ATTACK, reportAttack } from '../support/attacks.ts';
import {
  CanaryDocuments,
  DOCUMENTS,
  type DocumentName,
  isPublicField,
  PRINT_COUNT,
  TELL_ALL,
} from '../support/canary-documents.ts';
import { type CanaryInput, CanaryInputs, mistyped } from '../support/canary-inputs.ts';
import { ENCODINGS } from '../support/encodings.ts';
import { startServer, type TestServer } from '../support/http-servers.ts';
import { startJournald } from '../support/journald.ts';
import { installStandIn, put } from '../support/kubeadm-stand-in.ts';
import { inThrowAwayMachine, WRITTEN } from '../support/namespace.ts';
import { needs } from '../support/needs.ts';
import { fieldsForSecrets } from '../support/schema-fields.ts';
import { freshMachine } from '../support/sink-faults.ts';

const DOCUMENT = '/tmp/canaries.yaml';
const RECEIVED = '/tmp/received';
const BUNDLE = '/tmp/canaries.tar.gz';
const STAMP = '/tmp/canaries-began';
const HANGS = '/run/stand-in/hangs';

const documents = new CanaryDocuments();
const { canaries } = documents;

/**
 * Where secrets belong, and only as files that no other user may read: the documents and what they are taken from, the
 * files that they are for, what is handed to kubeadm, and what machineadm keeps of them until it needs it no more
 * (SECURITY.md, "Where secrets rest"): in memory the secrets of sinks and of a hook that runs or was killed; on disk
 * URLs of sinks beside reports that wait, and the shell of a hook that is not done.
 */
const TARGETS = [
  /^\/tmp\/(?:canar|order$)/,
  /^\/(?:run\/kubeadm|etc\/kubernetes)\//,
  /^\/etc\/g?shadow/,
  /^\/run\/machineadm\/(?:reporting|hooks-\w+)\//,
  /^\/var\/lib\/machineadm\/(?:hooks\/|spool\/[^/]*~sink\.json$)/,
];

/** For `machineadm reset` the journal keeps the command that undoes a bootstrap, which is an argument list for everybody to see. */
const KEPT = '/var/lib/machineadm/journal: kubernetes.bootstrapper.exec.reset.command[]';

/** The documents whose runs come as far as the program that gets the secrets. */
const KUBERNETES: readonly DocumentName[] = ['init', 'webhooks', 'control-plane', 'worker', 'exec'];
const UNCHANGING: readonly DocumentName[] = IS_WHOLE_ATTACK ? DOCUMENTS : ['machine', 'init'];

describe('the fields of the document', () => {
  const fields = fieldsForSecrets();

  test('each have a seeded secret in this test, or are declared to be public', () => {
    const forgotten = [...fields.keys()].filter((field) => !canaries.fields.has(field) && !isPublicField(field));
    assert.deepEqual(forgotten, []);
    const secret = [...fields].filter(([, kind]) => kind === 'secret').map(([field]) => field);
    assert.deepEqual(secret.filter(isPublicField), [], 'a field for secrets is not public');
    assert.deepEqual(
      [...canaries.fields].filter((field) => !fields.has(field) || isPublicField(field)),
      [],
    );
    assert.ok(canaries.names.length >= 60, `${canaries.names.length} places`);
  });
});

inThrowAwayMachine(import.meta.filename, () => {
  describe('seeded secrets', { skip: needs('root') }, () => {
    let server: TestServer;
    let journald: ChildProcess | undefined;
    const healthz = createServer((_request, response) => response.end('ok'));

    before(async () => {
      installStandIn('/usr/local/sbin/kubeadm-stand-in');
      // Whatever it gets it tells, in whatever form; then it does what kubeadm does.
      const told = '/run/kubeadm/* /run/kubeadm/*/* /etc/kubernetes/pki/* /etc/kubernetes/pki/*/* /etc/kubernetes/*.*';
      const kubeadm = `case $1 in init|join) set -- "$@"; tell() { ${TELL_ALL}; }; tell ${told}; env | base64 -w0; echo;; esac`;
      put('/usr/local/sbin/kubeadm', `#!/bin/sh\n${kubeadm}\nexec /usr/local/sbin/kubeadm-stand-in "$@"\n`, 0o755);
      const order = `cat >/tmp/order; echo "$*"; env | base64 -w0; set -- /tmp/order /run/kubeadm/* /etc/kubernetes/*.*; ${TELL_ALL}`;
      const end = `[ ! -e /run/stand-in/fail ] || { read -r _ how </run/stand-in/fail; [ "$how" != hang ] || { touch ${HANGS}; sleep 300; }; exit 3; }`;
      put('/usr/local/sbin/bootstrap', `#!/bin/sh\n${order}\n${end}\n`, 0o755);
      for (const [path, content] of Object.entries(documents.sources.files)) put(path, content, 0o600);
      const { served } = documents.sources;
      server = await startServer(() => ({ body: JSON.stringify({ data: { value: served } }) }));
      await new Promise<void>((done) => healthz.listen(10248, '127.0.0.1', done));
      journald = await startJournald();
    });
    after(async () => {
      await server[Symbol.asyncDispose]();
      await new Promise((done) => healthz.close(done));
      journald?.kill();
    });
    beforeEach(async () => {
      await freshMachine();
      for (const path of ['/run/kubeadm', '/etc/kubernetes', '/var/lib/kubelet', '/var/lib/etcd', '/run/stand-in'])
        rmSync(path, { recursive: true, force: true });
      for (const path of ['/tmp/canary-target', RECEIVED, BUNDLE]) rmSync(path, { recursive: true, force: true });
      begin();
    });

    const textOf = (name: DocumentName, last = 'true'): string =>
      JSON.stringify(documents.tree(name, { url: server.url, received: RECEIVED, last }));
    const write = (name: DocumentName, last?: string): void =>
      writeFileSync(DOCUMENT, textOf(name, last), { mode: 0o600 });
    const env = documents.sources.environment;
    const run = async (args: readonly string[], wanted?: readonly number[]): Promise<AgentRun> => {
      const done = await agent(args, { env });
      const { status, stderr } = done;
      const isExpected =
        wanted === undefined ? status !== null && ![1, 2, 3].includes(status) : wanted.includes(status ?? -1);
      assert.ok(isExpected, `${args.join(' ')}: ${status} ${stderr}`);
      return done;
    };
    const leaksOf = async (args: readonly string[], wanted?: readonly number[]): Promise<string[]> => {
      const { stdout, stderr } = await run(args, wanted);
      return canaries.leaksIn(args.join(' '), stdout + stderr);
    };
    const places = (name: DocumentName): number =>
      new Set(canaries.leaksIn('', textOf(name)).map((leak) => leak.split(' as ')[0])).size +
      (name === 'host' ? Object.keys(documents.sources.files).length + 2 : 0);
    const report = (attack: string, leaks: readonly string[], searches: number): void => {
      assert.deepEqual(leaks, [], attack);
      reportAttack({ kind: 'Canaries', attack, tries: searches * ENCODINGS.length, wins: leaks.length });
    };

    /** What tells of a run afterwards, all of it or the most telling, and what it left anywhere. Returns leaks and the count of outputs. */
    async function aftermath(isTelling: boolean): Promise<{ readonly leaks: string[]; readonly outputs: number }> {
      const commands = [
        ['status'],
        ['status', '-o', 'json'],
        ['status', '-o', 'html'],
        ['timeline'],
        ['diagnose'],
        ['diagnose', '-o', 'json'],
        ['plan', '--diff', '-d', DOCUMENT],
        ['audit', '--residue', '-d', DOCUMENT],
        ['report', 'flush', '-d', DOCUMENT, '--within', '1s'],
      ];
      const leaks: string[] = [];
      const asked = IS_WHOLE_ATTACK ? (isTelling ? commands : commands.slice(1, 2)) : [];
      for (const args of asked) leaks.push(...(await leaksOf(args)));
      await agent(['bundle', '-d', DOCUMENT, '--output-file', BUNDLE], { env });
      leaks.push(...canaries.leaksIn('bundle', gunzipSync(readFileSync(BUNDLE)).toString('latin1')));
      leaks.push(...leftBehind());
      if (journald !== undefined) {
        const text = execFileSync('journalctl', ['-q', '-a', '-o', 'export', '--no-pager'], {
          encoding: 'latin1',
          maxBuffer: 2 ** 28,
        });
        leaks.push(...canaries.leaksIn('the journal', text));
      }
      return { leaks, outputs: asked.length + 3 };
    }

    /** Kills a run in its last words. */
    async function killed(isThere: () => boolean): Promise<string[]> {
      const started = startAgent(['provision', '-d', DOCUMENT], { env });
      started.stdin.end();
      for (let count = 0; !isThere() && count < 1500; count += 1) await sleep(20);
      assert.ok(isThere(), 'the run did not come to its last words');
      started.kill('SIGKILL');
      const { stdout, stderr } = await started.ended;
      return canaries.leaksIn('provision, killed', stdout + stderr);
    }

    test('are found by the search where they belong', () => {
      const seeded = [
        ...DOCUMENTS.map((name) => textOf(name)),
        ...Object.values(documents.sources.files),
        ...Object.values(env),
        documents.sources.served,
      ];
      const found = canaries.leaksIn('', seeded.join('\n')).map((leak) => leak.slice(2).split(' as ')[0]);
      // Gzip is no encoding that is undone; its file is searched for once it is written.
      assert.deepEqual(
        canaries.names.filter((name) => !found.includes(name)),
        ['host.files[].content (in gzip and base64)'],
      );
      for (const text of canaries.written('host.hooks.early.environment.*'))
        assert.notDeepEqual(canaries.leaksIn('', `x ${text} y`), [], text);
    });

    test('are found in a file that was written anywhere on the machine', () => {
      const [secret = ''] = canaries.written('host.hooks.early.environment.*');
      const paths = ['/etc/leaked', '/srv/new/leaked', '/root/.cache/leaked', '/run/leaked', '/tmp/leaked'];
      for (const path of paths) put(path, secret);
      for (const path of paths)
        assert.ok(
          leftBehind().some((leak) => leak.startsWith(`${path}: `)),
          path,
        );
      for (const path of paths) rmSync(path);
      assert.deepEqual(leftBehind(), []);
    });

    test('are not leaked by commands that change nothing', async () => {
      const leaks: string[] = [];
      let searches = 0;
      const others = [
        ['validate', '-d', DOCUMENT],
        ['plan', '-d', DOCUMENT],
        ['plan', '-o', 'json', '-d', DOCUMENT],
        ['config', 'show', '-d', DOCUMENT, '-o', 'json'],
        ['config', 'show', '--origin', '-d', DOCUMENT],
        ['images', 'list', '-d', DOCUMENT],
        ['doctor', '-d', DOCUMENT],
      ];
      for (const name of UNCHANGING) {
        write(name);
        const commands = [
          ['plan', '--diff', '-d', DOCUMENT],
          ['config', 'show', '-d', DOCUMENT],
          ...(KUBERNETES.includes(name) && name !== 'exec' ? [['render', 'kubeadm', '-d', DOCUMENT]] : []),
          ...(IS_WHOLE_ATTACK ? [['config', 'show', '--origin', '-d', DOCUMENT, '-o', 'json']] : []),
          ...(IS_WHOLE_ATTACK && (name === 'host' || name === 'init') ? others : []),
        ];
        for (const args of commands) leaks.push(...(await leaksOf(args)).map((leak) => `${name}: ${leak}`));
        searches += commands.length * places(name);
      }
      const whole = IS_WHOLE_ATTACK ? 'validate, plan, images list, doctor, ' : '';
      report(`${whole}plan --diff, config show, render kubeadm`, leaks, searches);
    });

    test('are not leaked by commands that write them into user data', {
      skip: needs('npm run test:attacks'),
    }, async () => {
      const leaks: string[] = [];
      let searches = 0;
      for (const name of DOCUMENTS) {
        write(name);
        const file = '/tmp/canaries.user-data';
        const { stdout, stderr } = await run(['wrap', '--format', 'cloud-init', '--to', file, '-d', DOCUMENT], [0]);
        assert.ok(statSync(file).size > 0);
        assert.equal(statSync(file).mode & 0o077, 0);
        leaks.push(...canaries.leaksIn('wrap', stdout + stderr));
        // Standard output is what was asked for; the rest is not.
        const printed = await run(['wrap', '--format', 'ignition', '-d', DOCUMENT], [0]);
        leaks.push(...canaries.leaksIn('wrap', printed.stderr));
        leaks.push(...leftBehind());
        searches += 3 * places(name);
      }
      report('wrap: all but the user data', leaks, searches);
    });

    describe('that convert reads from Cluster API objects', () => {
      const { canaries: converted, inputs } = new CanaryInputs();
      const INPUTS = '/tmp/canary-inputs';
      const CONVERTED = '/tmp/canary-converted';
      const textsOf = (input: CanaryInput): readonly (readonly [string, string])[] =>
        Object.entries(input).map(([name, value]) => [name, typeof value === 'string' ? value : stringify(value)]);
      const namesIn = (text: string): ReadonlySet<string> =>
        new Set(converted.leaksIn('', text).map((leak) => leak.slice(2).replace(/ as [^)]*$/, '')));
      const lay = (input: CanaryInput): readonly string[] => {
        rmSync(INPUTS, { recursive: true, force: true });
        mkdirSync(INPUTS, { mode: 0o700 });
        for (const [name, text] of textsOf(input)) put(join(INPUTS, name), text, 0o600);
        return [
          'convert',
          '--kubernetes-version',
          'v1.35.2',
          ...Object.keys(input).flatMap((name) => ['-f', join(INPUTS, name)]),
        ];
      };
      beforeEach(() => rmSync(CONVERTED, { recursive: true, force: true }));

      for (const [what, input] of Object.entries(inputs)) {
        test(`are not leaked from a ${what}`, async () => {
          const seeded = namesIn(
            textsOf(input)
              .map(([, text]) => text)
              .join('\n'),
          );
          const command = lay(input);
          const ways: readonly (readonly [number, readonly string[]])[] = [
            [0, ['--accept', 'all', '--inline-secrets', '--output-dir', CONVERTED]],
            [0, ['--accept', 'all', '--report', 'json']],
            [3, ['--strict', '--accept', 'all', '--inline-secrets']],
            ...(IS_WHOLE_ATTACK
              ? ([
                  [0, ['--accept', 'all', '--inline-secrets', '--structure']],
                  [3, ['--strict', '--inline-secrets', '--report', 'json']],
                ] as const)
              : []),
          ];
          const leaks: string[] = [];
          let kept: ReadonlySet<string> = new Set();
          for (const [expected, options] of ways) {
            const { stdout, stderr } = await run([...command, ...options], [expected]);
            // Standard output is the target, unless there is nothing to write.
            const told = expected === 0 && !options.includes('--output-dir') ? stderr : stdout + stderr;
            leaks.push(...converted.leaksIn(options.join(' '), told));
            if (!options.includes('--output-dir')) continue;
            const paths = globSync(`${CONVERTED}/**/*.yaml`);
            kept = namesIn(paths.map((path) => readFileSync(path, 'utf8')).join('\n'));
          }
          const dropped = /chpasswd|that nothing names/;
          const missing = [...seeded].filter((name) => !kept.has(name) && !dropped.test(name));
          assert.deepEqual(missing, [], 'the search finds them where they belong');
          leaks.push(...leftBehind(converted));
          report(`convert: all but the document (${what})`, leaks, (ways.length + 1) * seeded.size);
        });
      }

      test('are not leaked from a mistyped field', async () => {
        const leaks: string[] = [];
        let searches = 0;
        for (const what of ['control plane', 'worker'] as const) {
          const [[first = '', tree] = [], ...beside] = Object.entries(inputs[what]);
          assert.ok(typeof tree === 'object');
          const mistakes = [...mistyped(tree, converted)].filter((_, index) => IS_WHOLE_ATTACK || index % 20 === 0);
          for (const [mistake, wrong] of mistakes) {
            const command = lay({ [first]: wrong, ...Object.fromEntries(beside) });
            const { status, stdout, stderr } = await run([...command, '--inline-secrets', '--report', 'json'], [0, 3]);
            leaks.push(...converted.leaksIn(mistake, status === 0 ? stderr : stdout + stderr));
            searches += 1;
          }
        }
        leaks.push(...leftBehind(converted));
        report('convert: what it tells of a mistyped field', leaks, searches);
      });
    });

    for (const [outcome, last, expected] of [
      ['succeeds', 'true', 0],
      ['fails', 'echo the last words; exit 7', 10],
    ] as const) {
      test(`are not leaked by a run that ${outcome}, or by the commands that report on it`, {
        skip: expected === 0 && needs('npm run test:attacks'),
      }, async () => {
        write('host', last);
        const { stdout, stderr } = await run(['provision', '-d', DOCUMENT], [expected]);
        // The search is worth nothing where nothing was printed.
        for (let index = 0; index < PRINT_COUNT + 5; index += 1)
          assert.match(stderr, new RegExp(`\\[redacted\\].* print ${index}$`, 'm'));
        const { leaks, outputs } = await aftermath(true);
        assert.ok(statSync(RECEIVED).size > 0);
        if (expected === 0) assert.ok(existsSync('/tmp/canary-target/packed'));
        leaks.push(...canaries.leaksIn('provision', stdout + stderr));
        report(`a run that ${outcome}`, leaks, (outputs + 1) * places('host'));
      });

      // A control plane is believed only when its API server answers, which no stand-in has.
      const programs = expected === 0 ? (['worker', 'exec'] as const) : KUBERNETES;
      for (const name of IS_WHOLE_ATTACK ? programs : programs.filter((program) => program === 'init')) {
        test(`are not leaked by a run of ${name} that ${outcome} and whose bootstrapper prints all its input`, async () => {
          write(name);
          if (expected !== 0) put('/run/stand-in/fail', 'kubelet-start old');
          const { stdout, stderr } = await run(['provision', '-d', DOCUMENT], [expected === 0 ? 0 : 11]);
          assert.match(stderr, /== \/run\/kubeadm|BootstrapOrder/);
          assert.match(stderr, /\[redacted\]/);
          const { leaks, outputs } = await aftermath(name === 'init');
          leaks.push(...canaries.leaksIn('provision', stdout + stderr));
          report(
            `a bootstrapper that prints all it has, in a run that ${outcome} (${name})`,
            leaks,
            (outputs + 1) * places(name),
          );
        });
      }
    }

    test('are not leaked by a run that is refused before any change', {
      skip: needs('npm run test:attacks'),
    }, async () => {
      for (const name of ['machine', 'domain', 'account'] as const) {
        write(name);
        const { stdout, stderr, status } = await run(['provision', '-d', DOCUMENT]);
        assert.notEqual(status, 0);
        const { leaks, outputs } = await aftermath(false);
        leaks.push(...canaries.leaksIn('provision', stdout + stderr));
        report(`a run that is refused (${name})`, leaks, (outputs + 1) * places(name));
      }
    });

    test('are not leaked by a run that is killed', async () => {
      write('host', 'touch /tmp/canary-target-last; sleep 30');
      const leaks = await killed(() => existsSync('/tmp/canary-target-last'));
      const told = await aftermath(true);
      report('a run that is killed', [...leaks, ...told.leaks], (told.outputs + 1) * places('host'));
    });

    for (const name of IS_WHOLE_ATTACK ? (['init', 'worker', 'exec'] as const) : []) {
      test(`are not leaked by a run of ${name} that is killed with its bootstrapper`, async () => {
        write(name);
        put('/run/stand-in/fail', 'kubelet-start hang');
        const leaks = await killed(() => existsSync(HANGS));
        const told = await aftermath(false);
        report(
          `a bootstrapper that prints all it has, in a run that is killed (${name})`,
          [...leaks, ...told.leaks],
          (told.outputs + 1) * places(name),
        );
      });
    }
  });
});

/** Writes the stamp, and waits for the next tick of the clock of file times: what is written from now on is newer than it. */
function begin(): void {
  writeFileSync(STAMP, '');
  const { mtimeNs } = statSync(STAMP, { bigint: true });
  const isSameTick = (): boolean => {
    writeFileSync(`${STAMP}.next`, '');
    return statSync(`${STAMP}.next`, { bigint: true }).mtimeNs === mtimeNs;
  };
  while (isSameTick());
}

/** What is found in files that were written since the test began and are no targets, whatever their mode. */
function leftBehind(sought = canaries): string[] {
  const places = ['/tmp', '/run', WRITTEN];
  const find = ['-xdev', '-type', 'f', '-newer', STAMP, '-print0'];
  // The deliverer of a run may still be at work: a report that it removes meanwhile is none that is left.
  const written = spawnSync('find', [...places, ...find], { encoding: 'utf8' })
    .stdout.split('\0')
    .map((path) => (path.startsWith(`${WRITTEN}/`) ? path.slice(WRITTEN.length) : path))
    .filter((path) => path !== '' && !path.startsWith('/run/log/journal'));
  const leaks = written.flatMap((path) => {
    try {
      const isSearched = isForOthers(path) || !TARGETS.some((target) => target.test(path));
      return isSearched ? sought.leaksIn(path, readFileSync(path, 'latin1')) : [];
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
      throw error;
    }
  });
  return leaks.filter((leak) => !leak.startsWith(KEPT));
}

function isForOthers(path: string): boolean {
  return (statSync(path).mode & 0o004) !== 0;
}
