import { isDeepStrictEqual } from 'node:util';
import { loadDocument } from '@machineadm/document/loading/load.ts';
import type { Model } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { PRIOR_STATE_DIRECTORY } from '@machineadm/document/ownership/paths.ts';
import { withChecksum } from '../../../src/host/files/checksum.ts';
import type { Host } from '../../../src/host/seam/host.ts';
import { afterRecord, newJournalState, readJournal } from '../../../src/pipeline/journal.ts';
import type { JournalRecord } from '../../../src/pipeline/journal-record.ts';
import { ALL_STEPS } from '../../../src/pipeline/pipeline.ts';
import { planSteps } from '../../../src/pipeline/plan.ts';
import type { RunJournal } from '../../../src/pipeline/run-journal.ts';
import { runSteps, StepFailure } from '../../../src/pipeline/runner.ts';
import { stepRecord } from '../../../src/pipeline/step-record.ts';
import { facts } from '../../../test/support/facts.ts';
import { type MemoryHost, type MemoryProgram, memoryHost } from '../../../test/support/memory-host.ts';
import { AT, begun, identity } from '../../../test/unit/pipeline/records.ts';
import { yaml } from '../mutators/yaml.ts';
import type { FuzzTarget, Mutation } from '../target.ts';

/** The steps that a machine in memory can run to the end. Their programs are below. */
const STEPS = ALL_STEPS.filter(({ id }) =>
  [
    'hostname',
    'proxy',
    'kernel-modules',
    'sysctl',
    'swap',
    'groups',
    'users',
    'files',
    'services',
    'sentinel',
  ].includes(id),
);

const DOCUMENT = `apiVersion: machineadm.dev/v1alpha1
kind: MachineBootstrap
metadata: {name: n}
host:
  hostname: n
  proxy: {http: "http://proxy.example:3128", for: [containerd, kubelet]}
  kernelModules: [overlay, br_netfilter]
  sysctl: {net.ipv4.ip_forward: 1, kernel.panic: 10}
  swap: Disabled
  groups: [{name: g}]
  users:
    - {name: ada, groups: [g], shell: /bin/sh, gecos: Ada, sudo: ["ALL=(ALL) ALL"]}
    - {name: bob, system: true}
  files:
    - {path: /etc/a/b, content: "text\\n", mode: "0600", owner: ada}
    - {path: /etc/motd, content: "more\\n", append: true}
    - {path: /etc/c, content: "c"}
  services:
    - {name: chrony, state: Started, enabled: true}
    - {name: cups, state: Stopped, enabled: false, masked: true}
`;

const append = (host: MemoryHost, path: string, text: string) => host.put(path, (host.text(path) ?? '') + text);

/** Changes one line of an account file. */
function change(host: MemoryHost, path: string, name: string, to: (fields: string[]) => readonly string[]): void {
  const lines = (host.text(path) ?? '').split('\n');
  host.put(path, lines.map((line) => (line.startsWith(`${name}:`) ? to(line.split(':')).join(':') : line)).join('\n'));
}

const option = (args: readonly string[], name: string) =>
  args.includes(name) ? args[args.indexOf(name) + 1] : undefined;

/** Stand-ins for the programs of the steps. Those for accounts change the same files as shadow-utils do. */
const PROGRAMS: Readonly<Record<string, MemoryProgram>> = {
  modprobe: ({ args }, host) => {
    if (args[0] === '-c') return {};
    host.put(`/sys/module/${args.at(-1)}`, { type: 'directory' });
    return {};
  },
  hostnamectl: ({ args }, host) => {
    host.put('/etc/hostname', `${args.at(-1)}\n`);
    host.put('/proc/sys/kernel/hostname', `${args.at(-1)}\n`);
    return {};
  },
  swapoff: ({ args }, host) => {
    const kept = (host.text('/proc/swaps') ?? '').split('\n').filter((line) => !line.startsWith(args.at(-1) ?? ''));
    host.put('/proc/swaps', kept.join('\n'));
    return {};
  },
  groupadd: ({ args }, host) => {
    append(host, '/etc/group', `${args.at(-1)}:x:${option(args, '--gid') ?? 1000 + (args.at(-1)?.length ?? 0)}:\n`);
    return {};
  },
  useradd: ({ args }, host) => {
    const name = args.at(-1) ?? '';
    const id = option(args, '--uid') ?? `${2000 + name.length * 10 + name.charCodeAt(0)}`;
    const home = option(args, '--home-dir') ?? `/home/${name}`;
    const own = option(args, '--gid') === undefined ? id : '100';
    if (own === id) append(host, '/etc/group', `${name}:x:${id}:\n`);
    append(
      host,
      '/etc/passwd',
      `${name}:x:${id}:${own}:${option(args, '--comment') ?? ''}:${home}:${option(args, '--shell') ?? '/bin/sh'}\n`,
    );
    append(host, '/etc/shadow', `${name}:!:19000:0:99999:7:::\n`);
    for (const group of option(args, '--groups')?.split(',') ?? [])
      change(host, '/etc/group', group, (fields) => fields.with(3, [fields[3], name].filter(Boolean).join(',')));
    if (args.includes('--create-home')) host.put(home, { type: 'directory', uid: Number(id), gid: Number(own) });
    return {};
  },
  usermod: ({ args }, host) => {
    const name = args.at(-1) ?? '';
    const set = (path: string, flag: string, field: number) => {
      const value = option(args, flag);
      if (value !== undefined) change(host, path, name, (fields) => fields.with(field, value));
    };
    set('/etc/passwd', '--shell', 6);
    set('/etc/passwd', '--comment', 4);
    set('/etc/shadow', '--expiredate', 7);
    if (args.includes('--lock')) change(host, '/etc/shadow', name, (fields) => fields.with(1, `!${fields[1]}`));
    if (args.includes('--unlock'))
      change(host, '/etc/shadow', name, (fields) => fields.with(1, (fields[1] ?? '').replace(/^!/, '')));
    for (const group of option(args, '--groups')?.split(',') ?? [])
      change(host, '/etc/group', group, (fields) => fields.with(3, [fields[3], name].filter(Boolean).join(',')));
    return {};
  },
  chpasswd: () => ({}),
  visudo: () => ({}),
};

function machine(): MemoryHost {
  const host = memoryHost({
    files: {
      '/etc/passwd': 'root:x:0:0:root:/root:/bin/sh\n',
      '/etc/group': 'root:x:0:\n',
      '/etc/shadow': 'root:*:19000:0:99999:7:::\n',
      '/etc/sudoers': '@includedir /etc/sudoers.d\n',
      '/etc/motd': 'hello',
      '/etc/fstab': '/dev/sda2\tnone\tswap\tsw\t0 0\n',
      '/proc/swaps': 'Filename\tType\n/dev/sda2 partition 1 0 -2\n',
      '/proc/sys/kernel/hostname': 'localhost\n',
    },
    kernelFiles: {
      '/proc/sys/net/ipv4/ip_forward': '0\n',
      '/proc/sys/kernel/panic': '0\n',
      '/proc/sys/vm/overcommit_memory': '0\n',
    },
    programs: PROGRAMS,
    services: {
      containerd: { active: true, enabled: true },
      kubelet: {},
      chrony: {},
      cups: { active: true, enabled: true },
    },
  });
  const idIn = (path: string) => async (name: string) => {
    const line = (host.text(path) ?? '').split('\n').find((one) => one.startsWith(`${name}:`));
    return /^\d+$/.test(name) ? Number(name) : line === undefined ? undefined : Number(line.split(':')[2]);
  };
  return Object.assign(host, { userId: idIn('/etc/passwd'), groupId: idIn('/etc/group') });
}

/** Records the files that the service manager or a service read at its last reload or restart: this reveals a missing restart. */
async function remember(host: MemoryHost, name: string): Promise<void> {
  const read: string[] = [];
  for (const directory of [
    '/etc/machineadm',
    '/etc/systemd/system/containerd.service.d',
    '/etc/systemd/system/kubelet.service.d',
  ])
    for (const file of (await host.list(directory)) ?? []) read.push(file, host.text(`${directory}/${file}`) ?? '');
  host.put(`/run/read-by/${name}`, read.join('\n'));
}

/** The machine has lost power. */
class Killed extends Error {}

/** Counts the changes of a machine, and can simulate a loss of power immediately before or after one of them. */
class Life {
  changes = 0;
  #killed = false;
  readonly #at: number;
  readonly #isBefore: boolean;

  /** @param at number of the change, from 1; 0 for no loss of power */
  constructor(at = 0, isBefore = false) {
    this.#at = at;
    this.#isBefore = isBefore;
  }

  async change<Result>(make: () => Promise<Result> | Result): Promise<Result> {
    this.requireAlive();
    this.changes += 1;
    const isLast = this.changes === this.#at;
    if (isLast && this.#isBefore) this.#end();
    const result = await make();
    if (isLast) this.#end();
    return result;
  }

  requireAlive(): void {
    if (this.#killed) throw new Killed('killed');
  }

  #end(): never {
    this.#killed = true;
    throw new Killed('killed');
  }

  hostOf(host: MemoryHost): Host {
    const { services } = host;
    const act = (make: (name: string) => Promise<void>) => (name: string) => this.change(() => make(name));
    return {
      ...host,
      writeFile: (file) => this.change(() => host.writeFile(file)),
      writeLink: (path, target) => this.change(() => host.writeLink(path, target)),
      removeFile: (path) => this.change(() => host.removeFile(path)),
      makeDirectory: (path, mode) => this.change(() => host.makeDirectory(path, mode)),
      chmod: (path, mode) => this.change(() => host.chmod(path, mode)),
      chown: (path, uid, gid) => this.change(() => host.chown(path, uid, gid)),
      writeKernelFile: (path, value) => this.change(() => host.writeKernelFile(path, value)),
      run: (command) => this.change(() => host.run(command)),
      services: {
        ...services,
        reload: () => this.change(() => services.reload().then(() => remember(host, 'manager'))),
        start: act((name) => services.start(name).then(() => remember(host, name))),
        stop: act(services.stop),
        restart: act((name) => services.restart(name).then(() => remember(host, name))),
        enable: act(services.enable),
        disable: act(services.disable),
        mask: act(services.mask),
        unmask: act(services.unmask),
      },
    };
  }

  /** A journal in memory with the format of the real one, so that the next run can read it. */
  journalOf(lines: string[]): RunJournal {
    let state = readJournal('journal', lines) ?? newJournalState(identity(), false);
    return {
      state: () => state,
      record: (step) => stepRecord(state, step),
      owed: () => state.owed,
      append: (record) => {
        this.requireAlive();
        lines.push(withChecksum(JSON.stringify(record)));
        state = afterRecord(state, record);
      },
      write() {},
      flush() {},
      close() {},
    };
  }
}

const INSTANCE: JournalRecord = { is: 'instance', identity: identity(), foreign: false, at: AT };

/** One run of the steps. Returns the changes, or the reason of its failure. */
async function run(model: Model, host: MemoryHost, lines: string[], life: Life): Promise<readonly string[] | string> {
  const changed: string[] = [];
  const journal = life.journalOf(lines);
  try {
    await runSteps(STEPS, {
      model,
      facts: facts(),
      host: life.hostOf(host),
      journal,
      observer: {
        stepStarted() {},
        stepDone: (_, { changes }) => changed.push(...changes),
        waitingFor() {},
        output() {},
        warn() {},
      },
      scope: 'all',
      signal: new AbortController().signal,
    });
    return changed;
  } catch (error) {
    const cause = error instanceof StepFailure ? error.error : error;
    if (cause instanceof Killed) return 'killed';
    // The machine in memory raises an errno where a real one throws a FileError.
    if (cause instanceof Error && cause.message.includes('simulated')) return cause.message;
    if (cause instanceof MachineadmError) return `${cause.reason} ${cause.message} ${cause.remedy}`;
    throw cause;
  }
}

/** All files of a machine and the state of its services. */
async function stateOf(host: MemoryHost): Promise<ReadonlyMap<string, unknown>> {
  const state = new Map<string, unknown>();
  const visit = async (path: string): Promise<void> => {
    for (const name of (await host.list(path)) ?? []) {
      const at = `${path === '/' ? '' : path}/${name}`;
      const stat = await host.stat(at);
      const { fingerprint: _, ...rest } = stat ?? {};
      state.set(at, { ...rest, text: stat?.type === 'file' ? host.text(at) : undefined });
      // The names of these copies depend on a random key of the machine. Only their number can be compared.
      if (at === PRIOR_STATE_DIRECTORY) state.set(`${at}/`, (await host.list(at))?.length);
      else if (stat?.type === 'directory') await visit(at);
    }
  };
  await visit('/');
  for (const name of ['containerd', 'kubelet', 'chrony', 'cups']) {
    const { active, enabled, masked, needsReload } = await host.service(name);
    state.set(`service ${name}`, { active, enabled, masked, needsReload: needsReload === true });
  }
  return state;
}

/** Mutates the document. The first line is the number of the change at which the run is killed. */
const documentOnly: Mutation = (random, input) => {
  const end = input.indexOf('\n') + 1;
  const changed = random.below(3) === 0 ? input.slice(end) : yaml(random, input.slice(end));
  return changed === undefined ? undefined : `${random.below(120)}\n${changed}`;
};

/**
 * Properties of a machine: two plans are equal, a second run changes nothing, and a run that is killed at any change and
 * repeated ends in the same state.
 */
export const life: FuzzTarget = {
  name: 'life',
  reads: 'Documents that are provisioned on a machine in memory: plan twice, run twice, kill anywhere and run again',
  seeds: [`7\n${DOCUMENT}`, `20\n${DOCUMENT}`, `43\n${DOCUMENT}`],
  tokens: ['\n', '  ', '- ', ': ', 'null', '"', "'", '[', ']', '{', '}', '0600', 'root', '/etc/', 'Stopped', '#'],
  grammar: [documentOnly],
  isGrammatical: true,
  run: async (input) => {
    const end = input.indexOf('\n') + 1;
    const source = { name: 'd.yaml', bytes: new TextEncoder().encode(input.slice(end)) };
    const loaded = await loadDocument([source], { agentVersion: '0.1.0' });
    if (!loaded.ok) return `refused ${loaded.problems[0]?.message}`;
    const { model } = loaded.document;
    if (model.host.platform !== 'linux') return 'for another platform';

    const plan = async () => {
      const options = { model, facts: facts(), host: machine(), journal: newJournalState(identity(), false) };
      return JSON.stringify(await planSteps(STEPS, { ...options, scope: 'all' }).catch(refusalOf));
    };
    const [one, other] = [await plan(), await plan()];
    if (one !== other) throw new TypeError('two plans for the same machine differ');

    const undisturbed = machine();
    const lines = [INSTANCE, begun('1')].map((record) => withChecksum(JSON.stringify(record)));
    const whole = new Life();
    const first = await run(model, undisturbed, lines, whole);
    if (typeof first === 'string') return first;
    const wanted = await stateOf(undisturbed);
    const second = await run(model, undisturbed, lines, new Life());
    if (!isDeepStrictEqual(second, [])) throw new TypeError(`a second run made changes: ${JSON.stringify(second)}`);

    const at = 1 + ((Number.parseInt(input, 10) || 0) % Math.max(1, whole.changes));
    for (const isBefore of [true, false]) {
      const host = machine();
      const kept = [INSTANCE, begun('1')].map((record) => withChecksum(JSON.stringify(record)));
      await run(model, host, kept, new Life(at, isBefore));
      const again = await run(model, host, kept, new Life());
      if (typeof again === 'string') throw new TypeError(`after a kill at change ${at}, the next run fails: ${again}`);
      const different = differences(wanted, await stateOf(host));
      if (different.length > 0)
        throw new TypeError(`after a kill at change ${at}, the next run ends in another state: ${different.join(' ')}`);
      const third = await run(model, host, kept, new Life());
      if (!isDeepStrictEqual(third, []))
        throw new TypeError(`after a kill at change ${at}, a third run made changes: ${JSON.stringify(third)}`);
    }
    return `${first.length} changes`;
  },
};

function refusalOf(error: unknown): string {
  if (error instanceof Error && error.message.includes('simulated')) return error.message;
  if (error instanceof MachineadmError) return error.message;
  throw error;
}

function differences(one: ReadonlyMap<string, unknown>, other: ReadonlyMap<string, unknown>): readonly string[] {
  return [...new Set([...one.keys(), ...other.keys()])].filter(
    (key) => !isDeepStrictEqual(one.get(key), other.get(key)),
  );
}
