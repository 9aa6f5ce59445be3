import assert from 'node:assert/strict';
import { attempts, type DocumentTree, merge, type Seeds } from './documents.ts';
import { assertSucceeded, type Node, type Provisioned, told } from './lab.ts';
import { findLeaks, watchProcesses } from './leaks.ts';

const EXECS = '/root/execs.strace';

/**
 * The life of a good document on a machine: planned, provisioned, provisioned again.
 *
 * Asserts that what `plan` listed is what `provision` did; that the second run finds nothing to do, says so, and leaves
 * containerd and the kubelet running untouched; and that no secret shows in anything printed or left, nor in the
 * arguments or the environment of any program started. Returns the first run.
 */
export async function provisionTwice(node: Node, document: DocumentTree, seeds: Seeds): Promise<Provisioned> {
  await node.lay(document);
  const planned = (await node.plan()).map((change) => change.id);
  assert.notDeepEqual(planned, []);

  await using processes = watchProcesses(node.machine);
  const first = await node.provision(tracingExecs());
  await assertSucceeded(node, first);
  assert.deepEqual([...first.changes].sort(), [...planned].sort(), 'plan listed what provision did');

  const daemons = await node.daemons();
  const second = await node.provision();
  await assertSucceeded(node, second);
  assert.deepEqual(second.changes, [], 'the second run changes nothing');
  assert.equal(second.status.attempt, first.status.attempt + 1);
  assert.deepEqual(await node.daemons(), daemons, 'containerd and the kubelet were not restarted');
  assert.deepEqual(await node.plan(), [], 'nothing is left to plan');

  const execs = (await node.read(EXECS)) ?? '';
  assert.match(execs, /execve\("/, 'strace saw programs start');
  await node.machine.shell(`rm ${EXECS}`);
  const seen = await processes.stop();
  assert.match(seen, /containerd/, 'the processes of the machine were seen');
  await assertNoLeaks(
    node,
    seeds,
    { first, second },
    {
      'arguments and environments of the programs that the agent started': execs,
      'arguments and environments of all processes': seen,
    },
  );
  return first;
}

/**
 * The life of a document that fails: the same failure twice, told in full, without a secret. `check` judges each run.
 * Each run is one attempt, unless the document says otherwise.
 */
export async function failTwice(
  node: Node,
  document: DocumentTree,
  seeds: Seeds,
  check: (run: Provisioned) => Promise<void>,
): Promise<void> {
  await node.lay(document.kubernetes === undefined ? document : merge(attempts(1), document));
  const planned = new Set((await node.plan()).map((change) => change.id));
  const first = await node.provision();
  await check(first);
  const surprises = first.changes.filter((id) => !planned.has(id));
  assert.deepEqual(surprises, [], `plan had not listed what provision did:\n${told(first)}`);
  const second = await node.provision();
  await check(second);
  await assertNoLeaks(node, seeds, { first, second });
}

/** Asserts that none of the runs printed a secret, and that none lies about on the machine. */
export async function assertNoLeaks(
  node: Node,
  seeds: Seeds,
  runs: Readonly<Record<string, { readonly stdout: string; readonly stderr: string }>>,
  texts: Readonly<Record<string, string>> = {},
): Promise<void> {
  const printed = Object.entries(runs).flatMap(([name, { stdout, stderr }]) => [
    [`stdout of the ${name} run`, stdout],
    [`stderr of the ${name} run`, stderr],
  ]);
  assert.deepEqual(await findLeaks(node.machine, seeds, { ...texts, ...Object.fromEntries(printed) }), []);
}

/** strace that writes down every program started, with its whole arguments and environment. */
function tracingExecs(): string[] {
  return [
    'strace',
    '-f',
    '--seccomp-bpf',
    '-qq',
    '-v',
    '-s',
    '100000',
    '-e',
    'trace=execve',
    '-e',
    'signal=none',
    '-o',
    EXECS,
  ];
}
