import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { killPoints } from './kill-points.ts';
import { commandOn, machineInMemory } from './machine-in-memory.ts';
import type { MemoryHost } from './memory-host.ts';
import fc from './property.ts';
import { treeOf } from './undo-bench.ts';
import { wholeMachine } from './whole-machine.ts';

type Host = Readonly<Record<string, unknown>>;

/** Some of these entries of a list, or none of the list. */
const some = (...entries: readonly unknown[]) =>
  fc.option(fc.subarray([...entries], { minLength: 1 }), { nil: undefined });
/** Some of these keys, each with one of its values. */
const keys = (values: Readonly<Record<string, readonly unknown[]>>) =>
  fc.option(
    fc.record(Object.fromEntries(Object.entries(values).map(([key, of]) => [key, fc.constantFrom(...of)])), {
      requiredKeys: [],
    }),
    { nil: undefined },
  );

/**
 * The host of a document. Few values, so that two documents often ask for the same, and sometimes for something else at
 * the same place.
 */
export const hosts: fc.Arbitrary<Host> = fc.record(
  {
    kernelModules: some('overlay', 'br_netfilter'),
    sysctl: keys({ 'vm.overcommit_memory': [1, 1, 1, 2], 'kernel.panic': [10], 'net.ipv4.ip_forward': [1] }),
    limits: fc.option(fc.constant({ services: { nofile: 1048576 }, sessions: { '*': { nofile: 65536 } } }), {
      nil: undefined,
    }),
    hosts: fc.option(
      some({ address: '10.0.0.1', names: ['a.example'] }, { address: '10.0.0.2', names: ['b.example', 'b'] }).map(
        (entries) => ({ ...(entries === undefined ? {} : { entries }) }),
      ),
      { nil: undefined },
    ),
    groups: some({ name: 'operators' }, { name: 'backup', system: true }),
    users: some({ name: 'grace', sudo: 'ALL=(ALL) ALL' }, { name: 'linus', groups: ['operators'] }),
    directories: some({ path: '/srv/app', mode: '0750' }, { path: '/srv/app/data' }),
    files: some(
      { path: '/etc/motd', content: 'one\n' },
      { path: '/etc/app/a', content: 'a\n' },
      { path: '/etc/app/b', content: 'b\n' },
      { path: '/etc/app/c', content: 'c\n', mode: '0600' },
    ),
    links: some({ path: '/usr/local/bin/app', target: '/opt/app' }),
    services: some(
      { name: 'legacy', dropIns: [{ name: '20-a.conf', content: '[Service]\nNice=1\n' }] },
      { name: 'legacy', dropIns: [{ name: '30-b.conf', content: '[Service]\nNice=2\n' }] },
    ).map((entries) => entries?.slice(0, 1)),
    hooks: fc.option(
      fc.record({
        early: fc.record({
          commands: fc.constantFrom(['true'], ['echo one'], ['echo two', 'true']),
          frequency: fc.constantFrom('Once', 'Always'),
        }),
      }),
      { nil: undefined },
    ),
    timezone: fc.option(fc.constant('Europe/Zurich'), { nil: undefined }),
  },
  { requiredKeys: [] },
);

/** A machine in memory with documents, and the promises about several of them. */
export class Documents implements Disposable {
  readonly #directory = mkdtempSync(join(tmpdir(), 'machineadm-several-'));
  readonly host: MemoryHost;
  readonly #machine: ReturnType<typeof machineInMemory>;

  constructor() {
    this.host = wholeMachine({
      programs: { sh: () => ({}), visudo: () => ({}) },
      services: { 'machineadm-hooks.service': {}, 'machineadm-sentinel.service': {} },
      files: { '/run/systemd/system/x': '', '/etc/sudoers': '@includedir /etc/sudoers.d\n' },
    });
    this.#machine = { ...machineInMemory(), host: this.host };
  }

  [Symbol.dispose](): void {
    rmSync(this.#directory, { recursive: true });
  }

  #file(name: string, host: Host): string {
    const path = join(this.#directory, `${name}.json`);
    const header = { apiVersion: 'machineadm.dev/v1alpha1', kind: 'MachineBootstrap', metadata: { name } };
    writeFileSync(path, JSON.stringify({ ...header, reporting: { sinks: [] }, host }), { mode: 0o600 });
    return path;
  }

  async run(...args: readonly string[]) {
    return await commandOn(this.#machine, ...args);
  }

  /**
   * Provisions a document on a machine that loses power right after its change with this number, its journal included.
   *
   * @returns how many changes were made
   */
  async provisionUntil(name: string, host: Host, change: number): Promise<number> {
    const dying = dyingAfter(this.host, change);
    await commandOn(
      { ...this.#machine, host: dying.host, locks: new Set() },
      'provision',
      '-f',
      this.#file(name, host),
    );
    return dying.made();
  }

  async planned(name: string, host: Host): Promise<readonly string[]> {
    const { stdout, stderr } = await this.run('plan', '-f', this.#file(name, host), '-o', 'json');
    assert.notEqual(stdout, '', stderr);
    const { changes, refusal } = JSON.parse(stdout);
    return refusal === undefined ? changes.map(({ id }: { id: string }) => id) : [`refused ${refusal.reason}`];
  }

  /**
   * Provisions a document, which must do what its plan said, and leave nothing to do.
   *
   * @returns false where it was refused, as its plan said, and nothing was changed
   */
  async provision(name: string, host: Host): Promise<boolean> {
    const planned = await this.planned(name, host);
    const before = this.tree();
    const { status, stdout, stderr } = await this.run('provision', '-f', this.#file(name, host), '-o', 'json');
    if (planned[0]?.startsWith('refused ') === true) {
      assert.equal(status, 4, stderr);
      assertSame(this.tree(), before, 'a refused run changes nothing');
      return false;
    }
    assert.equal(status, 0, `${stderr}${stdout}`);
    const { steps } = JSON.parse(stdout);
    const made = steps.flatMap((step: { changes?: readonly string[] }) => step.changes ?? []);
    assert.deepEqual([...made].sort(), [...planned].sort(), `${name}: the run did what the plan said`);
    assert.deepEqual(await this.planned(name, host), [], `${name}: nothing is left to do`);
    return true;
  }

  /** What is on the machine, without machineadm's own state. */
  tree(): readonly string[] {
    // The stand-in of a service of ours outlives its unit.
    return treeOf(this.host).filter((line) => !/^(?:\/(?:run|var\/lib|var\/log)\/|service )machineadm/.test(line));
  }
}

const CHANGING =
  /^(?:write|remove|make|ch(?:mod|own)|run|put|take|link|start|stop|restart|reload|enable|disable|mask|unmask)/;

/** A machine on which nothing changes any more after a number of changes. */
function dyingAfter(host: MemoryHost, last: number): { readonly host: MemoryHost; made(): number } {
  let changes = 0;
  const wrapped = <Target extends object>(target: Target): Target =>
    new Proxy(target, {
      get(of, name) {
        const value: unknown = Reflect.get(of, name);
        if (name === 'services') return wrapped(host.services);
        if (typeof value !== 'function' || typeof name !== 'string' || !CHANGING.test(name)) return value;
        return (...args: readonly unknown[]): unknown => {
          if (changes >= last) throw new Error('the machine has lost power');
          changes += 1;
          return Reflect.apply(value, of, args);
        };
      },
    });
  return { host: wrapped(host), made: () => changes };
}

function assertSame(found: readonly string[], wanted: readonly string[], what: string): void {
  const more = found.filter((line) => !wanted.includes(line)).map((line) => `+ ${line}`);
  const less = wanted.filter((line) => !found.includes(line)).map((line) => `- ${line}`);
  assert.deepEqual([...more, ...less], [], what);
}

/** The promises about documents on one machine, checked for these. */
export async function checkTogether(documents: readonly Host[]): Promise<void> {
  const named = documents.map((host, index) => [String.fromCharCode(97 + index), host] as const);
  using together = new Documents();
  const applied: (typeof named)[number][] = [];
  for (const [name, host] of named) if (await together.provision(name, host)) applied.push([name, host]);
  // Again, and none has anything to do.
  for (const [name, host] of applied) assert.deepEqual(await together.planned(name, host), [], `${name} again`);
  for (const [name, host] of applied) assert.ok(await together.provision(name, host));
  const last = applied.at(-1);
  if (applied.length < 2 || last === undefined) return;
  using alone = new Documents();
  for (const [name, host] of applied.slice(0, -1)) assert.ok(await alone.provision(name, host));
  const { status, stderr } = await together.run('reset', '--document', last[0], '--yes');
  assert.equal(status, 0, stderr);
  assertSame(together.tree(), alone.tree(), `without ${last[0]}`);
  for (const [name, host] of applied.slice(0, -1))
    assert.deepEqual(await together.planned(name, host), [], `${name} without ${last[0]}`);
  const { status: all, stderr: why } = await together.run('reset', '--yes');
  assert.equal(all, 0, why);
  assert.equal((await alone.run('reset', '--yes')).status, 0);
  assertSame(together.tree(), alone.tree(), 'after a reset of all');
}

/**
 * A run of a second document that is killed anywhere, and run again, ends as one that was not killed: the first document keeps
 * what it asked for, and a reset of either leaves the other.
 */
export async function checkKilled(a: Host, b: Host): Promise<void> {
  using undisturbed = new Documents();
  assert.ok(await undisturbed.provision('a', a));
  const count = await undisturbed.provisionUntil('b', b, Number.POSITIVE_INFINITY);
  assert.ok(count > 20, `b makes ${count} changes`);
  const whole = undisturbed.tree();
  assert.equal((await undisturbed.run('reset', '--document', 'b', '--yes')).status, 0);
  const without = undisturbed.tree();
  for (const change of killPoints(count, 12)) {
    using together = new Documents();
    assert.ok(await together.provision('a', a));
    assert.equal(await together.provisionUntil('b', b, change), change);
    assert.ok(await together.provision('b', b));
    assertSame(together.tree(), whole, `killed after change ${change}`);
    assert.deepEqual(await together.planned('a', a), [], `a, after b was killed at change ${change}`);
    assert.equal((await together.run('reset', '--document', 'b', '--yes')).status, 0);
    assertSame(together.tree(), without, `killed after change ${change}, without b`);
  }
}
