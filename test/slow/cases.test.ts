import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, readSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createSilentServer, type Server, type Socket } from 'node:net';
import { join, matchesGlob } from 'node:path';
import { describe, test } from 'node:test';
import { type AgentRun, agent, statusOf } from '../support/agent.ts';
import {
  type Case,
  caseNames,
  disksOf,
  type Expected,
  type ExpectedFailure,
  type ExpectedLooks,
  type Preparation,
  readCase,
} from '../support/case-files.ts';
import { CaseRoot } from '../support/case-root.ts';
import { type LoopDevice, loopDevice } from '../support/loop-device.ts';
import { inNamespaces } from '../support/namespace.ts';
import { needs, needsPrograms } from '../support/needs.ts';

const HEADER = 'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\n';

/** A case in its root, with what belongs to it outside. */
interface Stage {
  readonly root: CaseRoot;
  readonly expected: Expected;
  readonly disks: readonly LoopDevice[];
  readonly printed: string[];
  run(...args: readonly string[]): Promise<AgentRun>;
}

inNamespaces(import.meta.filename, () => {
  describe('the cases', { concurrency: 3 }, () => {
    for (const name of caseNames()) {
      const disks = Object.entries(disksOf(name));
      const { expected } = readCase(name, new Map());
      const skip = needsPrograms(expected.needs) || (disks.length > 0 && needs('loop devices'));

      test(`${name}: ${expected.shows}`, { skip }, async () => {
        using devices = new DisposableStack();
        const made = new Map(disks.map(([disk, size]) => [disk, devices.use(loopDevice(size))] as const));
        const paths = new Map([...made].map(([disk, { path }]) => [disk, path] as const));
        const found = readCase(name, paths);
        const root = devices.use(new CaseRoot(name));
        const printed: string[] = [];
        const stage: Stage = {
          root,
          expected: found.expected,
          disks: [...made.values()],
          printed,
          async run(...args) {
            const done = await agent([...args, '-d', '/run/case/documents', '-o', 'json'], {
              wrapper: root.wrapper,
              env: found.expected.env,
            });
            printed.push(done.stdout, done.stderr);
            return done;
          },
        };
        await play(stage, found);
      });
    }
  });
});

/** Fails as it must, is mended, and comes to its good end: or goes there at once. */
async function play(stage: Stage, found: Case): Promise<void> {
  const { root, expected } = stage;
  layDocuments(root, found.documents);
  root.prepare(found.before);
  {
    await using _servers = await startServers(found.before.servers);
    if (expected.failure === undefined) await endWell(stage);
    else await fail(stage, expected.failure);
  }
  if (expected.failure !== undefined) {
    root.prepare(found.mend);
    layDocuments(root, found.mendedDocuments);
    await using _servers = await startServers(found.mend.servers);
    await endWell(stage);
  }
  assertNoSecrets(stage);
}

async function endWell(stage: Stage): Promise<void> {
  const { root, expected } = stage;
  const before = root.changed();
  const planned = await stage.run('plan');
  assert.equal(planned.status, 0, planned.stdout + planned.stderr);
  const listed = plannedChanges(planned);
  const needless = listed.filter(({ id, knownAfter }) => knownAfter !== undefined && expected.needless.includes(id));
  assert.deepEqual(ids(listed.filter((change) => !needless.includes(change))), expected.changes, 'what plan lists');
  assert.deepEqual(ids(needless), expected.needless, 'what plan lists as known later');
  assert.deepEqual(differences(before, root.changed()), [], 'plan changes nothing');

  const run = await stage.run('provision');
  const status = statusOf(run);
  assert.equal(run.status, 0, run.stderr);
  assert.deepEqual(madeChanges(run), expected.changes, 'what provision changes');
  assertPieces(status.warnings, expected.warnings);
  for (const piece of expected.prints) assert.ok(`${run.stdout}${run.stderr}`.includes(piece), `prints: ${piece}`);
  assertLooks(root, before, expected);

  const after = root.changed();
  const again = await stage.run('provision');
  assert.equal(again.status, 0, again.stderr);
  assert.deepEqual(madeChanges(again), [], 'a second run changes nothing');
  assert.deepEqual(differences(after, root.changed()), [], 'a second run touches nothing');
}

async function fail(stage: Stage, failure: ExpectedFailure): Promise<void> {
  const { root } = stage;
  const before = root.changed();
  const onDisks = contents(stage.disks);
  const planned = await stage.run('plan');
  if (failure.plan === undefined) {
    // What steps lack is part of the plan, beside what is known; everything else refuses to plan, too.
    const lacks: unknown = JSON.parse(planned.stdout).refusal?.reason;
    if (lacks === undefined) {
      assert.deepEqual([planned.status, told(planned).reason], [failure.exit, failure.reason], planned.stderr);
    } else assert.deepEqual([planned.status, lacks], [failure.exit, failure.reason], planned.stderr);
  } else {
    assert.deepEqual([planned.status, ids(plannedChanges(planned))], [0, failure.plan], planned.stderr);
    const doctor = await stage.run('doctor');
    for (const [command, printed] of Object.entries({ plan: planned, doctor })) {
      const findings: readonly { reason?: string }[] = JSON.parse(printed.stdout).findings;
      const isNamed = findings.some((finding) => finding.reason === failure.reason);
      const says = `${command} names ${failure.reason} before the run, unless the case says why it cannot`;
      assert.ok(isNamed || failure.unforeseen !== undefined, says);
    }
  }
  assert.deepEqual(differences(before, root.changed()), [], 'plan changes nothing');

  const run = await stage.run('provision');
  const { reason, step } = told(run);
  assert.deepEqual([run.status, reason, step], [failure.exit, failure.reason, failure.step], run.stderr);
  for (const piece of failure.says) assert.ok(run.stderr.includes(piece), `says "${piece}": ${run.stderr}`);
  assert.deepEqual(madeChanges(run), failure.changes, 'what was changed before it failed');
  assertLooks(root, before, failure);
  if (failure.changes.length === 0) assert.deepEqual(contents(stage.disks), onDisks, 'the disks are untouched');
}

/** Asserts that the root is as the tree says, and that nothing else in it differs from before. */
function assertLooks(root: CaseRoot, before: ReadonlyMap<string, string>, looks: ExpectedLooks): void {
  assert.deepEqual(root.differencesFrom(looks.tree), []);
  for (const { run, prints } of looks.shell) assert.equal(root.shell(run), prints, run);
  const allowed = [...Object.keys(looks.tree), ...looks.alsoChanged];
  const others = differences(before, root.changed()).filter((path) => !allowed.some((one) => matchesGlob(path, one)));
  assert.deepEqual(others, [], 'nothing else is touched');
}

/** Asserts that no secret of the case is in anything printed, or in the agent's records. */
function assertNoSecrets({ root, expected, printed }: Stage): void {
  const kept = ['/var/lib/machineadm', '/run/machineadm'].flatMap((directory) =>
    textsBelow(join(root.path, directory)),
  );
  for (const secret of expected.secrets) {
    for (const text of [...printed, ...kept]) assert.ok(!text.includes(secret), `a secret is told: ${text}`);
  }
}

function textsBelow(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((found) => found.isFile())
    .map((found) => readFileSync(join(found.parentPath, found.name), 'latin1'));
}

function layDocuments(root: CaseRoot, documents: ReadonlyMap<string, string>): void {
  const directory = root.outside('/run/case/documents');
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { mode: 0o700 });
  // Where there is no journal, the sink that is there by default would warn of that.
  const sinks = ['no-sinks.yaml', `${HEADER}reporting: {sinks: []}\n`] as const;
  let number = 0;
  for (const [name, text] of [sinks, ...documents])
    writeFileSync(join(directory, `${number++}-${name}`), text, { mode: 0o600 });
}

interface Planned {
  readonly id: string;
  readonly knownAfter?: string;
}

function plannedChanges(run: AgentRun): readonly Planned[] {
  return JSON.parse(run.stdout).changes ?? [];
}

function ids(changes: readonly Planned[]): string[] {
  return changes.map(({ id }) => id);
}

function madeChanges(run: AgentRun): string[] {
  const answer = JSON.parse(run.stdout);
  // What is refused before a run began has no steps.
  return 'error' in answer ? [] : statusOf(run).steps.flatMap(({ changes }) => changes);
}

/** The failure that a command tells of: one of a run, or of what could not begin. */
function told(run: AgentRun): { readonly reason?: string; readonly step?: string } {
  const { error, failure } = JSON.parse(run.stdout);
  return error ?? failure ?? {};
}

function assertPieces(texts: readonly string[], pieces: readonly string[]): void {
  assert.equal(texts.length, pieces.length, texts.join('\n'));
  for (const piece of pieces)
    assert.ok(
      texts.some((text) => text.includes(piece)),
      `no "${piece}" in ${texts.join('\n')}`,
    );
}

/** The paths at which two states of a root differ. */
function differences(one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>): string[] {
  return [...new Set([...one.keys(), ...other.keys()])].filter((path) => one.get(path) !== other.get(path));
}

function contents(disks: readonly LoopDevice[]): string[] {
  return disks.map(({ path }) => digestOf(path));
}

/** In pieces: a process with a whole disk in memory takes long to start others. */
function digestOf(path: string): string {
  const hash = createHash('sha256');
  const piece = Buffer.alloc(2 ** 20);
  const descriptor = openSync(path, 'r');
  try {
    for (let length = 1; length > 0; ) {
      length = readSync(descriptor, piece);
      hash.update(piece.subarray(0, length));
    }
    return hash.digest('hex');
  } finally {
    closeSync(descriptor);
  }
}

async function startServers(wanted: Preparation['servers']): Promise<AsyncDisposable> {
  const started: Server[] = [];
  const sockets = new Set<Socket>();
  for (const { address, port, silent, answers } of wanted) {
    if (!address.startsWith('127.')) spawnSync('ip', ['address', 'add', `${address}/32`, 'dev', 'lo']);
    const server =
      silent === true
        ? createSilentServer(() => {})
        : createServer((request, response) => {
            const answer = answers?.[request.url ?? ''];
            response.writeHead(answer?.status ?? (answer === undefined ? 404 : 200)).end(answer?.body ?? '');
          });
    server.on('connection', (socket: Socket) => void sockets.add(socket));
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, address, resolve);
    });
    started.push(server);
  }
  return {
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await Promise.all(started.map((server) => new Promise((resolve) => server.close(resolve))));
    },
  };
}
