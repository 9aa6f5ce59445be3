import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { cpeOf, linkedLibraries } from '../../../scripts/build/node-libraries.ts';

/** The pattern of cpe-naming_2.3.xsd for a formatted string (NISTIR 7695, appendix). */
const VALUE = /(\?*|\*?)([a-zA-Z0-9\-._]|(\\[\\*?!"#$%&'()+,/:;<=>@[\]^`{|}~]))+(\?*|\*?)|[*-]/.source;
const LANGUAGE = /([a-zA-Z]{2,3}(-([a-zA-Z]{2}|[0-9]{3}))?)|[*-]/.source;
const CPE = new RegExp(`^cpe:2\\.3:[aho*-](:(${VALUE})){5}(:(${LANGUAGE}))(:(${VALUE})){4}$`);

/** The eleven attributes of a formatted string, with the quotes taken off. */
function attributes(cpe: string): readonly string[] {
  assert.match(cpe, CPE);
  return (cpe.match(/(?:\\.|[^:\\])+/g) ?? []).slice(2).map((value) => value.replace(/\\(.)/g, '$1'));
}

/** As the NVD's API describes what a vulnerability affects: a name, and a range where its version is `*`. */
interface Criterion {
  readonly criteria: string;
  readonly versionStartIncluding?: string;
  readonly versionEndExcluding?: string;
  readonly versionEndIncluding?: string;
}

/** Name matching of NISTIR 7696, 6.2, where neither side has wildcards inside of a value; then the range. */
function affects(criterion: Criterion, cpe: string): boolean {
  const [affected, own] = [attributes(criterion.criteria), attributes(cpe)];
  if (!affected.every((value, index) => value === '*' || own[index] === '*' || value === own[index])) return false;
  const version = own[3] ?? '';
  const { versionStartIncluding: from, versionEndExcluding: before, versionEndIncluding: upTo } = criterion;
  return (
    (from === undefined || compare(version, from) >= 0) &&
    (before === undefined || compare(version, before) < 0) &&
    (upTo === undefined || compare(version, upTo) <= 0)
  );
}

function compare(a: string, b: string): number {
  const [left, right] = [a, b].map((text) => text.split('.').map(Number));
  for (let index = 0; index < Math.max(left?.length ?? 0, right?.length ?? 0); index++) {
    const difference = (left?.[index] ?? 0) - (right?.[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Published vulnerabilities as the NVD describes them, and the component that each one is in. */
const VULNERABILITIES: readonly (readonly [id: string, component: string, vulnerable: string, Criterion])[] = [
  [
    'CVE-2022-3602',
    'openssl',
    '3.0.6',
    {
      criteria: 'cpe:2.3:a:openssl:openssl:*:*:*:*:*:*:*:*',
      versionStartIncluding: '3.0.0',
      versionEndExcluding: '3.0.7',
    },
  ],
  [
    'CVE-2023-44487',
    'nghttp2',
    '1.56.0',
    { criteria: 'cpe:2.3:a:nghttp2:nghttp2:*:*:*:*:*:*:*:*', versionEndExcluding: '1.57.0' },
  ],
  [
    'CVE-2022-37434',
    'zlib',
    '1.2.12',
    { criteria: 'cpe:2.3:a:zlib:zlib:*:*:*:*:*:*:*:*', versionEndIncluding: '1.2.12' },
  ],
  [
    'CVE-2023-32067',
    'c-ares',
    '1.19.0',
    { criteria: 'cpe:2.3:a:c-ares_project:c-ares:*:*:*:*:*:*:*:*', versionEndExcluding: '1.19.1' },
  ],
  [
    'CVE-2024-24806',
    'libuv',
    '1.47.0',
    {
      criteria: 'cpe:2.3:a:libuv:libuv:*:*:*:*:*:*:*:*',
      versionStartIncluding: '1.45.0',
      versionEndExcluding: '1.48.0',
    },
  ],
  [
    'CVE-2020-8927',
    'brotli',
    '1.0.7',
    { criteria: 'cpe:2.3:a:google:brotli:*:*:*:*:*:*:*:*', versionEndExcluding: '1.0.8' },
  ],
  [
    'CVE-2022-35737',
    'sqlite',
    '3.39.1',
    {
      criteria: 'cpe:2.3:a:sqlite:sqlite:*:*:*:*:*:*:*:*',
      versionStartIncluding: '1.0.12',
      versionEndExcluding: '3.39.2',
    },
  ],
  [
    'CVE-2024-30260',
    'undici',
    '6.11.0',
    { criteria: 'cpe:2.3:a:nodejs:undici:*:*:*:*:*:node.js:*:*', versionEndExcluding: '6.11.1' },
  ],
];

describe('the libraries of Node', () => {
  const libraries = linkedLibraries(process.versions as Record<string, string>);
  const cpesOf = (component: string): readonly string[] =>
    libraries.find(({ name }) => name === component)?.cpes ?? assert.fail(`no ${component}`);

  test('are all described, with a licence, a supplier and a package URL of their version', () => {
    for (const { name, version, license, supplier, purl, cpes } of libraries) {
      assert.match(version, /^\d/, name);
      assert.match(license, /^[\w.-]+( (AND|OR) [\w.-]+)*$/, name);
      assert.notEqual(supplier, '');
      assert.match(
        purl,
        new RegExp(`^pkg:(npm|github|generic)/[a-z0-9/_-]+@[a-z0-9.-]*${version.replace(/-.*/, '')}$`),
      );
      for (const cpe of cpes) assert.match(cpe, CPE, name);
    }
    for (const name of ['openssl', 'v8', 'zlib', 'nghttp2', 'libuv', 'icu', 'brotli', 'zstd']) {
      assert.notEqual(cpesOf(name).length, 0, name);
    }
  });

  test('are found by published vulnerabilities in the versions that have them, and not in those inside', () => {
    for (const [id, component, vulnerable, criterion] of VULNERABILITIES) {
      const inside = cpesOf(component);
      const old = inside
        .map((cpe) => attributes(cpe))
        .map(([, vendor, product]) => cpeOf(`${vendor}:${product}`, vulnerable));
      assert.ok(
        old.some((cpe) => affects(criterion, cpe)),
        `${id} does not find ${component} ${vulnerable}`,
      );
      for (const cpe of inside) assert.ok(!affects(criterion, cpe), `${id} finds ${cpe}`);
      // No other component goes by that name.
      for (const { name, cpes } of libraries.filter(({ name }) => name !== component)) {
        assert.ok(!cpes.some((cpe) => affects({ criteria: criterion.criteria }, cpe)), `${id} finds ${name}`);
      }
    }
  });

  test('have the version that databases know, without the marks of a fork', () => {
    const [v8, zlib] = linkedLibraries({ v8: '13.6.233.17-node.53', zlib: '1.3.2.1-motley-8002e91' });
    assert.deepEqual(v8?.cpes, ['cpe:2.3:a:google:v8:13.6.233.17:*:*:*:*:*:*:*']);
    assert.deepEqual(
      [zlib?.version, zlib?.purl, zlib?.cpes[0]],
      ['1.3.2.1-motley-8002e91', 'pkg:generic/zlib@1.3.2.1', 'cpe:2.3:a:zlib:zlib:1.3.2.1:*:*:*:*:*:*:*'],
    );
  });

  test('that are not linked are not listed; one that is not known stops the build', () => {
    assert.deepEqual(linkedLibraries({ node: '24.0.0', nghttp3: '', tz: '2026c' }), []);
    assert.throws(() => linkedLibraries({ newlib: '1.0.0' }), /does not describe newlib 1\.0\.0/);
  });

  test('have characters with a meaning in CPE quoted', () => {
    assert.equal(cpeOf('a:b++', '1.0~rc+1'), 'cpe:2.3:a:a:b\\+\\+:1.0\\~rc\\+1:*:*:*:*:*:*:*');
    assert.match(cpeOf('a:b++', '1.0~rc+1'), CPE);
  });
});
