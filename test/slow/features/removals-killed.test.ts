import assert from 'node:assert/strict';
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { openHost } from '../../../src/host/index.ts';
import type { Host } from '../../../src/host/seam/host.ts';
import { killPoints } from '../../support/kill-points.ts';
import { lifetime } from '../../support/lifetime.ts';
import { inThrowAwayMachine } from '../../support/namespace.ts';

const ROOT = '/srv/lifetime';
const NOTHING = 'host: {}\n';
const EVERYTHING = `host:
  directories:
    - {path: ${ROOT}/made, mode: "0750", owner: "1234:1235"}
    - {path: ${ROOT}/there, recursive: {mode: "0640", directoryMode: "0750"}}
    - {path: ${ROOT}/old, absent: true, recursive: true}
  files:
    - {path: ${ROOT}/made/deep/er/file, content: "content\\n", mode: "0600", owner: "1234:1235"}
    - {path: ${ROOT}/lines, content: "ours\\n", block: {name: test}}
  links: [{path: ${ROOT}/link, target: made/deep}]
`;
const MUTATIONS = [
  'writeFile',
  'writeLink',
  'linkFile',
  'removeFile',
  'removeDirectory',
  'makeDirectory',
  'chmod',
  'chown',
] as const;

class Killed extends Error {}

/** Dies instead of the nth change to the machine or record in the journal, or right behind it. */
class Death {
  count = 0;
  at: number | undefined;
  isBehind = false;

  step(): void {
    this.count += 1;
    if (this.count === this.at && !this.isBehind) throw new Killed();
  }

  behind(): void {
    if (this.count === this.at && this.isBehind) throw new Killed();
  }
}

/** Every entry with its type, mode, owner and content. */
function treeAt(directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .sort()
    .map((name) => {
      const path = join(directory, name);
      const { mode, uid, gid } = lstatSync(path);
      const stat = lstatSync(path);
      const content = stat.isSymbolicLink() ? readlinkSync(path) : stat.isFile() ? readFileSync(path, 'utf8') : '';
      return `${name} ${mode.toString(8)} ${uid}:${gid} ${content}`;
    });
}

inThrowAwayMachine(import.meta.filename, () => {
  const real = openHost({ runId: 'test' });

  function machine(death: Death) {
    const host: Host = { ...real };
    for (const name of MUTATIONS) {
      Object.assign(host, {
        [name]: async (...args: readonly never[]) => {
          death.step();
          const result: unknown = await Reflect.apply(real[name], real, args);
          death.behind();
          return result;
        },
      });
    }
    const life = lifetime(host);
    const append = life.journal.append.bind(life.journal);
    life.journal.append = (record) => {
      death.step();
      append(record);
      death.behind();
    };
    return life;
  }

  async function lay(): Promise<void> {
    rmSync(ROOT, { recursive: true, force: true });
    mkdirSync(`${ROOT}/there/sub`, { recursive: true, mode: 0o755 });
    writeFileSync(`${ROOT}/there/sub/file`, 'x', { mode: 0o600 });
    symlinkSync('/etc/passwd', `${ROOT}/there/link`);
    writeFileSync(`${ROOT}/lines`, 'of others\n', { mode: 0o644 });
    mkdirSync(`${ROOT}/old/sub`, { recursive: true });
    writeFileSync(`${ROOT}/old/sub/file`, 'old');
    symlinkSync('/etc', `${ROOT}/old/etc`);
    // The host keeps directories open until the end of a turn of the event loop (src/host/linux/directories.ts).
    await nextTurn();
  }

  /** Runs a document and dies at its changes and records in turn; gives how many there were. */
  async function dying(
    prepare: (life: ReturnType<typeof machine>) => Promise<void>,
    document: string,
    wanted: readonly string[],
  ): Promise<number> {
    const begun = async () => {
      await lay();
      const death = new Death();
      const life = machine(death);
      await prepare(life);
      return { life, death: Object.assign(death, { count: 0 }) };
    };
    const whole = await begun();
    await whole.life.run(document);
    const { count } = whole.death;
    for (const isBehind of [false, true]) {
      for (const at of killPoints(count, 12)) {
        const { life, death } = await begun();
        Object.assign(death, { at, isBehind });
        await assert.rejects(life.run(document));
        death.at = undefined;
        await life.run(document);
        assert.deepEqual(treeAt(ROOT), wanted, `killed ${isBehind ? 'behind' : 'before'} ${at}`);
        assert.deepEqual(await life.plan(document), []);
      }
    }
    return count;
  }

  describe('files, directories, links and their removal on a real tree', () => {
    test('a run that is killed anywhere is completed by the next', async () => {
      await lay();
      await machine(new Death()).run(EVERYTHING);
      const wanted = treeAt(ROOT);
      assert.ok(wanted.includes('made 40750 1234:1235 '));
      assert.ok(wanted.includes('there/sub/file 100640 0:0 x'));
      assert.equal(
        wanted.some((line) => line.startsWith('old')),
        false,
      );
      const deaths = await dying(async () => {}, EVERYTHING, wanted);
      assert.ok(deaths > 20, String(deaths));
    });

    test('a removal that is killed anywhere is completed by the next, and earlier files stay', async () => {
      await lay();
      const life = machine(new Death());
      await life.run(EVERYTHING);
      await life.run(NOTHING);
      const wanted = treeAt(ROOT);
      assert.deepEqual(
        wanted.map((line) => line.split(' ')[0]),
        ['lines', 'there', 'there/link', 'there/sub', 'there/sub/file'],
      );
      assert.equal(readFileSync(`${ROOT}/lines`, 'utf8'), 'of others\n');
      const deaths = await dying(async (made) => void (await made.run(EVERYTHING)), NOTHING, wanted);
      assert.ok(deaths > 8, String(deaths));
    });

    test('no link leads a removal elsewhere, and no unprivileged user a recursion', async () => {
      await lay();
      await assert.rejects(
        machine(new Death()).run(`host: {directories: [{path: ${ROOT}/there/link, absent: true, recursive: true}]}\n`),
      );
      assert.ok(lstatSync('/etc/passwd').isFile());
    });
  });
});
