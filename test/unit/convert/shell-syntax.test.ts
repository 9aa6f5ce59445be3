import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, test } from 'node:test';
import { whole } from '@machineadm/convert/host/shell-syntax.ts';

/** Lists of commands as templates have them, and how many commands a shell sees in the script of them. */
const LISTS: readonly (readonly [commands: readonly string[], joined: number])[] = [
  [['a', 'b; c', 'd && e'], 3],
  [['if [ -f /x ]; then', 'a', 'else', 'b', 'fi', 'c'], 2],
  [['for f in 1 2; do echo $f; done', 'while read l; do', 'echo "$l"', 'done </etc/fstab'], 2],
  [['cat <<EOF >/etc/x', 'a "b', '', '  if c', 'EOF', 'd'], 2],
  [['cat <<-EOF >/etc/x', '\ta', '\tEOF', 'd'], 2],
  [['cat <<EOF >/etc/x', '\tEOF', 'if b', 'EOF', 'd'], 2],
  [['echo <<<"x" y', 'd'], 2],
  [['f() {', 'a', '}', 'f'], 2],
  [['( cd /x;', 'a )', 'b'], 2],
  [['echo a \\', ' b', 'c'], 2],
  [['test -f x ||', 'a', 'b |', 'c', 'd'], 3],
  [["echo 'a", "b'", 'echo "if" done', "echo it\\'s"], 3],
  [['case $x in', 'a) b;;', '*) c;;', 'esac', 'd'], 2],
  [['echo {a,b}; echo ${x%/}; echo $(date) # if', 'd'], 2],
  [['echo if then fi do', 'echo $((1 + 2))', '[ "$(id -u)" = 0 ] && { a; }'], 3],
  [["sed -i 's/^\\(.*\\)$/{\\1/' /x", "awk '{ print $1 }' /x", 'd'], 3],
  [['until a', 'do b', 'done', 'c'], 2],
];

describe('commands of a list that only together form a command', () => {
  for (const [commands, joined] of LISTS) {
    test(`are joined: ${JSON.stringify(commands).slice(0, 70)}`, () => {
      const given = commands.map((command, index) => ({ command, at: { place: String(index) } }));
      const result = whole(given as unknown as Parameters<typeof whole>[0], true);
      assert.equal(result.length, joined, JSON.stringify(result.map(({ command }) => command)));
      assert.equal(result.map(({ command }) => command).join('\n'), commands.join('\n'));
      for (const { command } of result) {
        const checked = spawnSync('bash', ['-n'], { input: `${command}\n`, encoding: 'utf8' });
        assert.equal(checked.status, 0, `${command}: ${checked.stderr}`);
      }
    });
  }

  test('and that never end stay as they are: the shell reports the mistake', () => {
    const given = ['a', 'if b', 'c'].map((command, index) => ({ command, at: { place: String(index) } }));
    const result = whole(given as unknown as Parameters<typeof whole>[0], true);
    assert.deepEqual(
      result.map(({ command }) => command),
      ['a', 'if b', 'c'],
    );
  });
});
