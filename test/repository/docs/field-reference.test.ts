import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { REASONS } from '@machineadm/document/outcomes/reasons.ts';
import { jsonSchema } from '@machineadm/document/versions/json-schema.ts';
import { slugOf } from '../../../site/pages.ts';
import { OUTPUT_KINDS } from '../../../src/cli/output-kinds.ts';

const ROOT = resolve(import.meta.dirname, '../../..');

interface Schema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: boolean | Schema;
  readonly anyOf?: readonly Schema[];
}

/** Every path of the published schema, found without the code that writes the pages. */
function pathsOf(root: Schema): ReadonlySet<string> {
  const paths = new Set<string>();
  const visit = (schema: Schema, path: string, isAlternative: boolean, references: readonly string[]): void => {
    const { $ref: reference, properties = {}, items, additionalProperties, anyOf = [] } = schema;
    if (reference !== undefined) {
      if (references.includes(reference)) return;
      const definition = root.$defs?.[reference.replace('#/$defs/', '')];
      assert.ok(definition, reference);
      visit(definition, path, isAlternative, [...references, reference]);
    }
    const kind = isAlternative ? properties.type?.const : undefined;
    const at = typeof kind === 'string' ? `${path}.${kind}` : path;
    if (at !== '') paths.add(at);
    for (const [name, child] of Object.entries(properties))
      visit(child, at === '' ? name : `${at}.${name}`, false, references);
    if (items !== undefined) visit(items, at, false, references);
    if (typeof additionalProperties === 'object') visit(additionalProperties, at, false, references);
    for (const one of anyOf) visit(one, at, true, references);
  };
  visit(root, '', false, []);
  return paths;
}

describe('the reference of the fields', () => {
  const pages = globSync('docs/reference/fields/*.md', { cwd: ROOT }).filter((file) => !file.endsWith('README.md'));
  const entries = new Map(
    pages.flatMap((file) =>
      readFileSync(join(ROOT, file), 'utf8')
        .split(/^## /m)
        .slice(1)
        .map((entry) => [/^`([^`]+)`/.exec(entry)?.[1] ?? entry, entry] as const),
    ),
  );

  test('has every path of the schema, once: as a heading, or as an anchor of the entry that it shares', () => {
    const schema = pathsOf((jsonSchema() ?? {}) as Schema);
    assert.ok(schema.size > 740, String(schema.size));
    const anchors = pages.flatMap((file) => {
      const text = readFileSync(join(ROOT, file), 'utf8');
      const headings = [...text.matchAll(/^## (.*)$/gm)].map(([, heading = '']) => slugOf(heading));
      return [...headings, ...[...text.matchAll(/<a id="([^"]+)">/g)].map(([, id = '']) => id)];
    });
    assert.deepEqual(anchors.toSorted(), [...schema].map(slugOf).toSorted());
  });

  test('has one entry for fields that differ in their names only', () => {
    assert.match(entries.get('host.limits.services.as') ?? '', /^The same holds for `core`, .*`nofile`/m);
    assert.ok(entries.has('host.limits.services.as.soft') && !entries.has('host.limits.services.nofile'));
    // One of these has another default.
    assert.ok(entries.has('kubernetes.timeouts.kubelet') && entries.has('kubernetes.timeouts.controlPlane'));
  });

  test('has the type, the version, an example and the meaning of absence for each', () => {
    for (const [path, entry] of entries) {
      assert.match(entry, /\n\n\S.*\n\n\| \| \|\n/, path);
      assert.match(entry, /^\| Type \| `.+\|$/m, path);
      assert.match(entry, /^\| Since \| \d+\.\d+\.\d+ \|$/m, path);
      assert.ok(/^\| Example \|/m.test(entry) || entry.includes('```text\n'), path);
    }
  });

  test('says what every part of the document changes, and the field and versions of kubeadm', () => {
    const row = (path: string, name: string) =>
      new RegExp(`^\\| ${name} \\| (.*) \\|$`, 'm').exec(entries.get(path) ?? '')?.[1];
    for (const path of entries.keys()) if (/^[^.]+$|^host\.[^.]+$/.test(path)) assert.ok(row(path, 'Changes'), path);
    assert.equal(row('host.sysctl', 'Platform'), 'Linux only (Windows: these are settings of the Linux kernel)');
    assert.equal(row('host.sysctl', 'Default'), '`{}`');
    assert.equal(
      row('reporting.sinks.WindowsEventLog', 'Platform'),
      'Windows only (Linux: Linux has no Windows event log)',
    );
    assert.equal(row('host.files.path', 'Platform'), undefined);
    assert.equal(
      row('kubernetes.cluster.certificateValidity', 'kubeadm'),
      '`ClusterConfiguration.certificateValidityPeriod`<br>1.31 and later',
    );
    assert.equal(
      row('kubernetes.cluster.dnsDomain', 'kubeadm'),
      '`ClusterConfiguration.networking.dnsDomain`<br>every version',
    );
    assert.equal(row('kubernetes.timeouts.etcd', 'kubeadm')?.split('<br>').at(-1), '1.32 and later');
    assert.match(row('kubernetes.role', 'Values') ?? '', /`Worker`: Adds any other machine to a cluster\./);
  });
});

describe('the other generated pages', () => {
  const sectionsOf = (page: string) =>
    new Map(
      readFileSync(join(ROOT, `docs/reference/${page}.md`), 'utf8')
        .split(/^## /m)
        .slice(1)
        .map((entry) => [entry.split('\n', 1)[0]?.replaceAll('`', '') ?? '', entry] as const),
    );

  test('have a cause, a fix and an exit code for every reason', () => {
    const pages = globSync('docs/reference/reasons/*.md', { cwd: ROOT });
    const reasons = new Map(pages.flatMap((page) => [...sectionsOf(page.slice('docs/reference/'.length, -3))]));
    assert.deepEqual([...reasons.keys()].toSorted(), Object.keys(REASONS).toSorted());
    for (const [name, entry] of reasons)
      for (const row of ['Cause', 'Fix', 'Exit code'])
        assert.match(entry, new RegExp(`^- \\*\\*${row}\\*\\*: \\S`, 'm'), name);
  });

  test('keep the address that every reason had on the page of all reasons', () => {
    const list = readFileSync(join(ROOT, 'docs/reference/reasons.md'), 'utf8');
    for (const name of Object.keys(REASONS)) {
      const [letter, anchor] = [name.slice(0, 1).toLowerCase(), name.toLowerCase()];
      assert.ok(list.includes(`<a id="${anchor}"></a>[${name}](reasons/${letter}.md#${anchor})`), name);
    }
  });

  test('have the fields of every JSON object', () => {
    const objects = sectionsOf('json');
    for (const kind of [...OUTPUT_KINDS, 'BootstrapStatus', 'BootstrapSummary', 'BootstrapEvent'])
      assert.match(objects.get(kind) ?? '', /^\| `kind` \|/m, kind);
  });

  test('have the meaning of every field of every JSON object', () => {
    for (const [kind, entry] of sectionsOf('json')) {
      const rows = entry.split('\n').filter((line) => line.startsWith('| `'));
      assert.ok(rows.length > 3, kind);
      for (const line of rows) assert.match(line, /\| [^|]*\S[^|]* \|$/, `${kind}: ${line}`);
    }
  });
});
