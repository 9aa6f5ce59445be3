import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { before, describe, test } from 'node:test';
import { inThrowAwayMachine } from '../../support/namespace.ts';
import { needs } from '../../support/needs.ts';

const PROGRAM = resolve(import.meta.dirname, '../../fixtures/features/write-files.ts');
const COUNT = 1000;
const UNFINISHED = ' <unfinished ...>';

/** In a directory that is open: no name of a directory is resolved between the check and the write. */
const BIRTH = /^openat\(AT_FDCWD, "\/proc\/self\/fd\/\d+\/\.file-.*O_CREAT.* = (\d+)$/;
const RENAMED = /^rename\("\/proc\/self\/fd\/(\d+)\/\.file-.*", "\/proc\/self\/fd\/\1\/file-/;

/**
 * The system calls of a trace by `strace -f`, without the number of the process, in the order in which they began. A call
 * during which another thread made one is printed in two parts, `… <unfinished ...>` and `<... name resumed>…`.
 */
function callsOf(trace: string): string[] {
  const calls: string[] = [];
  const unfinished = new Map<string, number>();
  for (const line of trace.split('\n')) {
    const [, thread = '', text = ''] = /^(\d+)\s+(.*)$/.exec(line) ?? [];
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(text)?.[1];
    const begun = unfinished.get(thread);
    if (resumed !== undefined && begun !== undefined) {
      // strace aligns the results of second parts.
      calls[begun] += resumed.replace(/\) += /, ') = ');
      unfinished.delete(thread);
    } else {
      if (text.endsWith(UNFINISHED)) unfinished.set(thread, calls.length);
      calls.push(text.replace(UNFINISHED, ''));
    }
  }
  return calls;
}

inThrowAwayMachine(import.meta.filename, () => {
  describe(`${COUNT} files`, { skip: needs('strace') }, () => {
    let calls: string[];
    before(() => {
      const done = spawnSync(process.execPath, [PROGRAM, '/srv/plain', String(COUNT)], { encoding: 'utf8' });
      assert.equal(done.status, 0, done.stderr);
      const filter =
        'trace=openat,open,creat,chmod,fchmod,fchmodat,chown,fchown,fchownat,write,rename,renameat,renameat2,fsync,fdatasync,syncfs,sync';
      const args = ['-f', '-e', filter, '-o', '/tmp/trace', process.execPath, PROGRAM, '/srv/traced', String(COUNT)];
      const traced = spawnSync('strace', args, { encoding: 'utf8' });
      assert.equal(traced.status, 0, traced.stderr);
      calls = callsOf(readFileSync('/tmp/trace', 'utf8'));
      writeFileSync('/tmp/trace', '');
    });

    test('are each born under another name, private, and appear whole with their owner and mode', () => {
      const born = calls.filter((call) => BIRTH.test(call));
      assert.equal(born.length, COUNT);
      for (const call of born)
        assert.match(call, /\.machineadm-new", O_WRONLY\|O_CREAT\|O_EXCL\|O_NOFOLLOW\|O_CLOEXEC, 0600\) = \d+$/);
      assert.equal(calls.filter((call) => RENAMED.test(call)).length, COUNT);
      for (const [index, call] of calls.entries()) {
        const descriptor = BIRTH.exec(call)?.[1];
        if (descriptor === undefined) continue;
        const own = calls
          .slice(index + 1, index + 40)
          .filter((next) => next.includes(`(${descriptor},`) || next.startsWith('rename'));
        const order = own.slice(0, 4).map((next) => next.slice(0, next.indexOf('(')));
        assert.deepEqual(order, ['fchown', 'fchmod', 'write', 'rename'], own.join('\n'));
        assert.match(own[1] ?? '', /, 0640\) += 0/);
      }
    });

    test('have their owner and mode never changed by name', () => {
      const byName = calls.filter((call) => /^(chmod|chown|fchmodat|fchownat)\(.*\/file-/.test(call));
      assert.deepEqual(byName, []);
    });

    test('are flushed once for all, by their file system', () => {
      assert.equal(calls.filter((call) => /^syncfs\(/.test(call)).length, 1);
      assert.deepEqual(
        calls.filter((call) => /^(fsync|fdatasync|sync)\(/.test(call)),
        [],
      );
    });
  });
});
