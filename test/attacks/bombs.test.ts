import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { reportAttack } from '../support/attacks.ts';
import { load } from '../support/document.ts';

const MIB = 1024 * 1024;
/** What a refusal may cost: the document's limit a few times over, far from what the bombs unpack to. */
const MEMORY_LIMIT_BYTES = 192 * MIB;

/** Members of a gzip file are unpacked one behind the other (RFC 1952). */
const ZEROS = Buffer.concat(Array<Buffer>(32).fill(gzipSync(Buffer.alloc(16 * MIB))));
const NESTED = gzipSync(gzipSync(Buffer.alloc(16 * MIB)));
const LAUGHS = [...'abcdefghi']
  .map(
    (name, index, all) =>
      `  ${name}: &${name} [${
        index === 0
          ? 'ha'
          : Array(9)
              .fill(`*${all[index - 1]}`)
              .join(', ')
      }]\n`,
  )
  .join('');

/** Documents that are small and would be huge; each is refused, and refused cheaply. */
const BOMBS: Readonly<Record<string, () => Promise<boolean>>> = {
  'a gzip bomb as the document': () => isRefused(ZEROS.toString('base64')),
  'a gzip bomb in a gzip bomb as the document': () => isRefused(NESTED.toString('base64')),
  'a gzip bomb as the content of a file': () =>
    isRefused(document(`host: {files: [{path: /a, encoding: gzip+base64, content: ${ZEROS.toString('base64')}}]}`)),
  'aliases of aliases (a billion laughs)': () => isRefused(document(`variables:\n${LAUGHS}`)),
};

function document(body: string): string {
  return `apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: n1}\n${body}`;
}

async function isRefused(text: string): Promise<boolean> {
  try {
    return !(await load(text)).ok;
  } catch (error) {
    return error instanceof MachineadmError;
  }
}

describe('a small document that unpacks to something huge', () => {
  for (const [attack, refused] of Object.entries(BOMBS)) {
    test(`${attack} is refused within ${MEMORY_LIMIT_BYTES / MIB} MiB`, async () => {
      const before = process.memoryUsage.rss();
      const isSafe = (await refused()) && process.memoryUsage.rss() - before < MEMORY_LIMIT_BYTES;
      reportAttack({ kind: 'Bombs', attack, tries: 1, wins: isSafe ? 0 : 1 });
    });
  }
});
