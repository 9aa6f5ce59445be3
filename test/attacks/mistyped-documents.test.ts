import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { stringify } from 'yaml';
import { formatDiagnostic } from '../../src/document/diagnostics.ts';
import { MachineadmError } from '../../src/document/errors.ts';
import { ATTACK_TRIES, reportAttack } from '../support/attacks.ts';
import { CanaryDocuments, DOCUMENTS } from '../support/canary-documents.ts';
import { load } from '../support/document.ts';

const SIGNS = [...':"\'{}[]\t&*!|>%@`#-,?\\\n \r', ': ', '- ', '\n  ', '{{', '${', '<<: *'];

let state = 13;

/** Mulberry32: the same damages in each run. */
function below(limit: number): number {
  state = (state + 0x6d2b79f5) | 0;
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
  return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
}

/** What a hand slips into: most of it near a secret, where a message would quote it. */
const DAMAGES: readonly ((text: string, at: number) => string)[] = [
  (text, at) => text.slice(0, at) + text.slice(at + 1),
  (text, at) => text.slice(0, at) + SIGNS[below(SIGNS.length)] + text.slice(at),
  (text, at) => text.slice(0, at) + SIGNS[below(SIGNS.length)] + text.slice(at + 1),
  (text, at) => text.slice(0, at) + text.slice(at + 2 + below(12)),
  (text, at) => text.slice(0, at),
  // A line is joined with the next, indented deeper, or written twice.
  (text, at) => text.slice(0, at) + text.slice(at).replace(/\n\s*/, ' '),
  (text, at) => text.slice(0, at) + text.slice(at).replace('\n', '\n '),
  (text, at) => text.slice(0, at) + text.slice(at).replace(/\n(.*)\n/, '\n$1\n$1\n'),
  // A key is misspelt, or stands where its value should.
  (text, at) => text.slice(0, at) + text.slice(at).replace(/(\w+)(["']?:)/, '$1x$2'),
  (text, at) => text.slice(0, at) + text.slice(at).replace(/: ([^\n]+)/, ': {$1: true}'),
  (text, at) => text.slice(0, at) + text.slice(at).replace(/: ([^\n]+)/, ': [$1]'),
];

describe('a document with a slip of the hand', () => {
  const documents = new CanaryDocuments();
  const surroundings = { url: 'http://127.0.0.1:9', received: '/tmp/received', last: 'true' };
  const trees = DOCUMENTS.map((name) => documents.tree(name, surroundings));
  const texts = trees.flatMap((tree) => [stringify(tree, { lineWidth: 0 }), JSON.stringify(tree, undefined, 1)]);
  const secrets = documents.canaries.secrets;
  /** The damage may have cut a secret: a third of it is enough. */
  const pieces = secrets.flatMap((secret) => [secret.slice(0, 8), secret.slice(8, 16), secret.slice(-8)]);

  async function messageOf(text: string): Promise<string> {
    try {
      const result = await load(text);
      return result.ok ? '' : result.problems.map(formatDiagnostic).join('\n');
    } catch (error) {
      assert.ok(error instanceof MachineadmError, String(error));
      return `${error.message}\n${error.remedy}\n${JSON.stringify(error.evidence)}`;
    }
  }

  test('is refused without a word of its secrets', async () => {
    let [tries, wins, attempts] = [0, 0, 0];
    for (; tries < ATTACK_TRIES && attempts < ATTACK_TRIES * 5; attempts += 1) {
      const text = texts[attempts % texts.length] ?? '';
      const near = text.indexOf(secrets[below(secrets.length)] ?? '');
      const at = near < 0 ? below(text.length) : Math.max(0, near - 12 + below(48));
      const message = await messageOf(DAMAGES[below(DAMAGES.length)]?.(text, at) ?? '');
      if (message === '') continue;
      tries += 1;
      const quoted = pieces.find((piece) => message.includes(piece));
      if (quoted === undefined) continue;
      wins += 1;
      if (wins <= 5) console.log(`quoted: ${message}`);
    }
    assert.ok(tries > ATTACK_TRIES / 2, `only ${tries} of ${attempts} documents were refused`);
    const attack = 'an error message quotes a secret of a mistyped document';
    reportAttack({ kind: 'Secrets on the machine', attack, tries, wins });
  });
});
