import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { formatDiagnostic, formatReplacedPart, type Place } from '@machineadm/document/diagnostics/index.ts';
import { loadDocument } from '@machineadm/document/loading/load.ts';
import { mergeSources } from '@machineadm/document/trees/merge.ts';
import { leaves, type MapTree, type ScalarTree, type Tree, toPlain } from '@machineadm/document/trees/tree.ts';
import { ENTRY_KEYS, entryKeys } from '@machineadm/document/versions/v1alpha1/entry-keys.ts';
import { sections } from '@machineadm/document/versions/v1alpha1/sections.ts';
import { parseYaml } from '@machineadm/document/yaml/parse.ts';
import type * as z from 'zod';
import fc from '../../../support/property.ts';

function tree(text: string, name = 'd'): MapTree {
  const parsed = parseYaml(name, text, []);
  assert.ok(parsed?.kind === 'map', text);
  return parsed;
}

function merged(...texts: string[]): unknown {
  const result = mergeSources(
    texts.map((text, index) => tree(text, `${index}.yaml`)),
    entryKeys,
  );
  return result.tree && toPlain(result.tree);
}

const HEADER = 'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: n}\n';

async function load(...texts: string[]) {
  const sources = texts.map((text, index) => ({ name: `${index}.yaml`, bytes: new TextEncoder().encode(text) }));
  return await loadDocument(sources, { agentVersion: '0.1.0' });
}

describe('sources of a document', () => {
  test('merge lists of things by their key, entry by entry', () => {
    assert.deepEqual(
      merged(
        'host: {files: [{path: /a, content: x, mode: "0600"}, {path: /b, content: x}], kernelModules: [a]}\n',
        'host: {files: [{path: /c, content: y}, {path: /a, content: y}], kernelModules: [b]}\n',
      ),
      {
        host: {
          files: [
            { path: '/a', content: 'y', mode: '0600' },
            { path: '/b', content: 'x' },
            { path: '/c', content: 'y' },
          ],
          kernelModules: ['b'],
        },
      },
    );
  });

  test('tell devices apart by all they say, in any order, and taints by key and effect', () => {
    const disks = (body: string) => `host: {storage: {disks: [${body}]}}\n`;
    assert.deepEqual(
      merged(
        disks('{device: {path: /dev/sda, timeout: 5s}, table: gpt}'),
        disks('{device: {timeout: 5s, path: /dev/sda}, wipe: true}, {device: {path: /dev/sdb}}'),
      ),
      {
        host: {
          storage: {
            disks: [
              { device: { path: '/dev/sda', timeout: '5s' }, table: 'gpt', wipe: true },
              { device: { path: '/dev/sdb' } },
            ],
          },
        },
      },
    );
    const taints = (body: string) => `kubernetes: {node: {taints: [${body}]}}\n`;
    assert.deepEqual(
      merged(
        taints('{key: k, effect: NoExecute, value: a}'),
        taints('{key: k, effect: NoSchedule}, {key: k, effect: NoExecute, value: b}'),
      ),
      {
        kubernetes: {
          node: {
            taints: [
              { key: 'k', effect: 'NoExecute', value: 'b' },
              { key: 'k', effect: 'NoSchedule' },
            ],
          },
        },
      },
    );
  });

  test('replace repeated arguments together', () => {
    const args = (body: string) => `kubernetes: {node: {kubelet: {args: [${body}]}}}\n`;
    assert.deepEqual(
      merged(
        args('{name: a, value: "1"}, {name: b, value: "1"}, {name: a, value: "2"}'),
        args('{name: a, value: "3"}, {name: a, value: "4"}'),
      ),
      {
        kubernetes: {
          node: {
            kubelet: {
              args: [
                { name: 'a', value: '3' },
                { name: 'a', value: '4' },
                { name: 'b', value: '1' },
              ],
            },
          },
        },
      },
    );
  });

  test('null removes what was there, and does nothing where nothing was', async () => {
    const result = await load(
      `${HEADER}host: {swap: Disabled}\n`,
      'host: {swap: null, hostname: null}\nkubernetes: {join: {discovery: null}}\nsecrets: null\n',
    );
    assert.deepEqual(result.ok ? [] : result.problems.map(formatDiagnostic), []);
    assert.ok(result.ok);
    assert.deepEqual(toPlain(result.document.tree), {
      apiVersion: 'machineadm.dev/v1alpha1',
      kind: 'MachineBootstrap',
      metadata: { name: 'n' },
      host: {},
    });
  });

  test('report each list that took the place of another, with both places', async () => {
    const result = await load(
      `${HEADER}host: {kernelModules: [a], time: {servers: []}}\n`,
      'host:\n  kernelModules: [b]\n  time: {servers: [c]}\n  files: [{path: /a, content: x}]\n',
    );
    assert.ok(result.ok);
    assert.deepEqual(result.document.replaced.map(formatReplacedPart), [
      'note: 1.yaml:2:18  host.kernelModules: replaces the list at 0.yaml:4:23',
    ]);
  });

  test('report every value that is replaced or removed, with both places', async () => {
    const result = await load(
      `${HEADER}host: {hostname: a, swap: Disabled, sysctl: {net.a: 1, net.b: 2}}\n`,
      'host: {hostname: b, swap: Disabled, sysctl: {net.c: 3}}\n',
      'host: {sysctl: null}\n',
    );
    assert.ok(result.ok);
    assert.deepEqual(result.document.replaced.map(formatReplacedPart), [
      'note: 1.yaml:1:18  host.hostname: replaces the value at 0.yaml:4:18',
      'note: 2.yaml:1:16  host.sysctl["net.a"]: removes the value at 0.yaml:4:53',
      'note: 2.yaml:1:16  host.sysctl["net.b"]: removes the value at 0.yaml:4:63',
      'note: 2.yaml:1:16  host.sysctl["net.c"]: removes the value at 1.yaml:1:53',
    ]);
  });

  test('an alias sees the anchors of its own file only', async () => {
    const result = await load(`${HEADER}host: &h {swap: Disabled}\n`, 'host: *h\n');
    assert.ok(!result.ok);
    assert.deepEqual(
      result.problems.map(({ place, message }) => `${place.file}:${place.line}:${place.column} ${message}`),
      ['1.yaml:1:7 not YAML: an alias without an anchor of its name before it'],
    );
  });
});

describe('the order of sources', () => {
  const name = fc.constantFrom('a', 'b', 'c', 'd', 'e');
  const value = fc.constantFrom('x', 'y', '1', 'true');
  /** One field or one entry each; two of them are about different things where their names differ. */
  const piece = fc.oneof(
    fc
      .tuple(name, value)
      .map(([key, text]) => ({ about: `sysctl ${key}`, text: `host: {sysctl: {net.${key}: "${text}"}}\n` })),
    fc
      .tuple(name, value)
      .map(([key, text]) => ({ about: `file ${key}`, text: `host: {files: [{path: /${key}, content: "${text}"}]}\n` })),
    fc
      .tuple(name, value)
      .map(([key, text]) => ({ about: `label ${key}`, text: `metadata: {labels: {${key}: "${text}"}}\n` })),
    fc.tuple(name, value).map(([key, text]) => ({
      about: `arg ${key}`,
      text: `kubernetes: {controlPlane: {scheduler: {args: [{name: ${key}, value: "${text}"}]}}}\n`,
    })),
    fc.tuple(name, value).map(([key, text]) => ({
      about: `drop-in ${key}`,
      text: `host: {services: [{name: s, dropIns: [{name: ${key}.conf, content: "${text}"}]}]}\n`,
    })),
    fc.constantFrom('hostname', 'swap').map((key) => ({ about: key, text: `host: {${key}: ${key}}\n` })),
  );

  test('does not matter for sources about different things, but for the order of entries', () => {
    const pieces = fc.uniqueArray(piece, { selector: ({ about }) => about, minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(pieces, fc.infiniteStream(fc.nat()), (all, ranks) => {
        const shuffled = all
          .map((one) => ({ one, rank: ranks.next().value }))
          .sort((a, b) => a.rank - b.rank)
          .map(({ one }) => one);
        const texts = (list: typeof all) => list.map(({ text }) => text);
        assert.deepEqual(unordered(merged(...texts(all))), unordered(merged(...texts(shuffled))));
      }),
      { numRuns: 300 },
    );
  });

  test('decides alone: merging some of them first changes nothing', () => {
    const pieces = fc.array(piece, { minLength: 3, maxLength: 6 });
    fc.assert(
      fc.property(pieces, fc.nat(), (all, cut) => {
        const trees = all.map(({ text }) => tree(text));
        const at = 1 + (cut % (trees.length - 1));
        const plain = (list: readonly MapTree[]) => {
          const { tree: whole } = mergeSources(list, entryKeys);
          assert.ok(whole !== undefined);
          return whole;
        };
        const grouped = plain([plain(trees.slice(0, at)), plain(trees.slice(at))]);
        assert.deepEqual(toPlain(grouped), toPlain(plain(trees)));
      }),
      { numRuns: 300 },
    );
  });
});

describe('conservation', () => {
  const scalar = fc.constantFrom<unknown>('scalar', null);
  const loose = fc.letrec<{ part: unknown }>((tie) => ({
    part: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      scalar,
      fc.array(tie('part'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom('k', 'l', 'm'), tie('part'), { maxKeys: 3 }),
    ),
  })).part;
  const named = fc.array(
    fc.record({ name: fc.constantFrom('x', 'y'), value: loose, more: loose }, { requiredKeys: [] }),
    { maxLength: 3 },
  );
  const source = fc.record(
    {
      metadata: loose,
      host: fc.record({ groups: fc.oneof(named, scalar), services: named, kernelModules: loose }, { requiredKeys: [] }),
      other: loose,
    },
    { requiredKeys: [] },
  );

  test('every scalar of every source is in the result, or in a part that is reported as replaced or removed', () => {
    fc.assert(
      fc.property(fc.array(source, { minLength: 2, maxLength: 4 }), (documents) => {
        let count = 0;
        // Each scalar is another one, so that only its own place can hold it.
        const unique = (_key: string, value: unknown) => (value === 'scalar' ? `scalar-${count++}` : value);
        const trees = documents.map((document, index) => tree(JSON.stringify(document, unique), `${index}.yaml`));
        const { tree: result, replaced } = mergeSources(trees, entryKeys);
        assert.ok(result);
        const key = ({ file, line, column }: Place) => `${file}:${line}:${column}`;
        const kept = new Set(leaves(result).map(({ at }) => key(at)));
        const reported = new Set(replaced.map(({ previous }) => key(previous)));
        const lost: string[] = [];
        const visit = (part: Tree, path: string, isReported: boolean): void => {
          const known = isReported || reported.has(key(part.at));
          if (part.kind === 'list')
            for (const [index, item] of part.items.entries()) visit(item, `${path}.${index}`, known);
          else if (part.kind === 'map') {
            for (const [name, { value }] of part.entries) visit(value, `${path}.${name}`, known);
          } else if (part.value !== null && !known && !kept.has(key(part.at)) && !isName(part)) lost.push(path);
        };
        // Entries of one name merge: the name stands there once.
        const names = new Set(leaves(result).map(({ value }) => value));
        const isName = ({ value }: ScalarTree): boolean =>
          (value === 'x' || value === 'y') && (names.has(value) || replaced.length > 0);
        for (const one of trees) visit(one, one.at.file, false);
        assert.deepEqual(lost, []);
      }),
      { numRuns: 2000 },
    );
  });
});

/** Lists in an order of their own, at every depth. */
function unordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => JSON.stringify(unordered(item))).sort();
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, item]) => [key, unordered(item)] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}

/** Lists of maps that are replaced, and why. */
const REPLACED: Readonly<Record<string, string>> = {
  'containerRuntime.containerd.registries.*.mirrors': 'their order decides who is asked first',
  'host.storage.disks.*.partitions': 'their order is that on the disk',
  'kubernetes.cluster.bootstrapTokens': 'a token is a secret, not a name',
  'kubernetes.bootstrapper.exec.failurePatterns': 'several patterns may lead to one reason',
  'reporting.sinks': 'several of one type are usual',
};

describe('lists of maps in the schema', () => {
  test('each has a key, or is replaced on purpose, and the page on merging names those with a key', () => {
    const undecided = listsOfMaps().filter(
      (path) =>
        entryKeys(path.split('.')) === undefined &&
        REPLACED[path] === undefined &&
        !/\.(?:audit|authentication|authorization|encryptionAtRest)\./.test(path),
    );
    assert.deepEqual(undecided, []);
    const page = readFileSync(new URL('../../../../docs/merging.md', import.meta.url), 'utf8');
    for (const [path, keys] of Object.entries(ENTRY_KEYS)) {
      const last = path.split('.').at(-1) ?? '';
      assert.ok(page.includes(last), path);
      for (const key of keys.flatMap((one) => one.split('+'))) assert.ok(page.includes(`\`${key}\``), key);
    }
  });
});

function listsOfMaps(): string[] {
  const found = new Set<string>();
  const seen = new Set<unknown>();
  const visit = (schema: z.core.$ZodType, path: readonly string[]): void => {
    const { def } = schema._zod;
    if (path.length > 9) return;
    if (def.type === 'optional') visit((def as z.core.$ZodOptionalDef).innerType, path);
    else if (def.type === 'union') for (const option of (def as z.core.$ZodUnionDef).options) visit(option, path);
    else if (def.type === 'record') visit((def as z.core.$ZodRecordDef).valueType, [...path, '*']);
    else if (def.type === 'lazy') {
      if (seen.has(schema)) return;
      seen.add(schema);
      visit((def as z.core.$ZodLazyDef).getter(), path);
    } else if (def.type === 'array') {
      const { element } = def as z.core.$ZodArrayDef;
      if (element._zod.def.type === 'object') found.add(path.join('.'));
      visit(element, [...path, '*']);
    } else if (def.type === 'object') {
      for (const [key, part] of Object.entries((def as z.core.$ZodObjectDef).shape)) visit(part, [...path, key]);
    }
  };
  for (const [name, { schema }] of Object.entries(sections)) visit(schema, [name]);
  return [...found];
}
