import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { convert } from '@machineadm/convert/index.ts';
import { formatDiagnostic } from '@machineadm/document/diagnostics/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { stringify } from 'yaml';
import { ATTACK_TRIES, reportAttack } from '../support/attacks.ts';
import { CanaryDocuments, DOCUMENTS } from '../support/canary-documents.ts';
import { CanaryInputs } from '../support/canary-inputs.ts';
import { load } from '../support/document.ts';
import { piecesOf, withSlip } from '../support/slips.ts';

/** Tries texts until enough of them were refused with a message. */
async function trySlips(
  attack: string,
  texts: readonly string[],
  secrets: readonly string[],
  messageOf: (text: string, index: number) => Promise<string>,
): Promise<void> {
  const pieces = piecesOf(secrets);
  let [tries, wins, attempts] = [0, 0, 0];
  for (; tries < ATTACK_TRIES && attempts < ATTACK_TRIES * 5; attempts += 1) {
    const index = attempts % texts.length;
    const message = await messageOf(withSlip(texts[index] ?? '', secrets), index);
    if (message === '') continue;
    tries += 1;
    const quoted = pieces.find((piece) => message.includes(piece));
    if (quoted === undefined) continue;
    wins += 1;
    if (wins <= 5) console.log(`quoted: ${message}`);
  }
  assert.ok(tries > ATTACK_TRIES / 2, `only ${tries} of ${attempts} texts were refused`);
  reportAttack({ kind: 'Secrets on the machine', attack, tries, wins });
}

describe('a document with a typing mistake', () => {
  const documents = new CanaryDocuments();
  const places = { url: 'http://127.0.0.1:9', received: '/tmp/received', last: 'true' };
  const trees = DOCUMENTS.map((name) => documents.tree(name, places));
  const texts = trees.flatMap((tree) => [stringify(tree, { lineWidth: 0 }), JSON.stringify(tree, undefined, 1)]);

  async function messageOf(text: string): Promise<string> {
    try {
      const result = await load(text);
      return result.ok ? '' : result.problems.map(formatDiagnostic).join('\n');
    } catch (error) {
      assert.ok(error instanceof MachineadmError, String(error));
      return `${error.message}\n${error.remedy}\n${JSON.stringify(error.evidence)}`;
    }
  }

  test('is refused without quoting any of its secrets', () =>
    trySlips('an error message quotes a secret of a mistyped document', texts, documents.canaries.secrets, messageOf));
});

describe('an input of convert with a typing mistake', () => {
  const { canaries, inputs } = new CanaryInputs();
  const cases = Object.values(inputs).flatMap((input) => {
    const [first, ...others] = Object.entries(input).map(([name, value]) => ({
      name,
      texts:
        typeof value === 'string' ? [value] : [stringify(value, { lineWidth: 0 }), JSON.stringify(value, undefined, 1)],
    }));
    const beside = others.map(({ name, texts }) => ({ name, text: texts[0] ?? '' }));
    return (first?.texts ?? []).map((text) => ({ name: first?.name ?? '', text, beside }));
  });

  /** As the converter tells it, before known secrets are taken out of it. */
  async function decisionsOn(text: string, index: number): Promise<string> {
    const { name = '', beside = [] } = cases[index] ?? {};
    const options = { inlineSecrets: true, kubernetesVersion: 'v1.35.2' };
    const { decisions } = await convert([{ name, text }, ...beside], options);
    return decisions.map(({ code, at, message }) => `${code} ${at}: ${message}`).join('\n');
  }

  test('is reported without quoting any of its secrets', () =>
    trySlips(
      'a decision of convert quotes a secret of a mistyped input',
      cases.map(({ text }) => text),
      canaries.secrets,
      decisionsOn,
    ));
});
