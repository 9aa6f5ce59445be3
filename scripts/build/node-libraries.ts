/** A library that is linked into Node, with its identifiers in vulnerability databases and licence scanners. */
interface NodeLibrary {
  /** The project's own name, where `process.versions` abbreviates it. */
  readonly name?: string;
  /** An SPDX licence expression. */
  readonly license: string;
  readonly supplier: string;
  /** With the placeholder VERSION. https://github.com/package-url/purl-spec */
  readonly purl: string;
  /** `vendor:product` of the CPE dictionary; several if the NVD changed it. The first is the current one. */
  readonly cpe?: readonly string[];
}

/**
 * The libraries that Node can be linked with, by their names in `process.versions`. The vendors and products are those in
 * Node's own vulnerability check (nodejs/nodejs-dependency-vuln-assessments dep_checker/dependencies.py) and in newer
 * entries of the NVD. The licences are those in Node's LICENSE.
 */
const LIBRARIES: Readonly<Record<string, NodeLibrary>> = {
  acorn: { license: 'MIT', supplier: 'acornjs', purl: 'pkg:npm/acorn@VERSION' },
  ada: {
    license: 'MIT OR Apache-2.0',
    supplier: 'The Ada authors',
    purl: 'pkg:github/ada-url/ada@vVERSION',
    cpe: ['ada-url:ada'],
  },
  // It holds swc, which is under Apache-2.0.
  amaro: { license: 'MIT AND Apache-2.0', supplier: 'OpenJS Foundation', purl: 'pkg:npm/amaro@VERSION' },
  ares: {
    name: 'c-ares',
    license: 'MIT',
    supplier: 'The c-ares project',
    purl: 'pkg:github/c-ares/c-ares@vVERSION',
    cpe: ['c-ares:c-ares', 'c-ares_project:c-ares'],
  },
  brotli: { license: 'MIT', supplier: 'Google', purl: 'pkg:github/google/brotli@vVERSION', cpe: ['google:brotli'] },
  icu: {
    license: 'Unicode-3.0',
    supplier: 'Unicode, Inc.',
    purl: 'pkg:github/unicode-org/icu@release-VERSION',
    cpe: ['unicode:international_components_for_unicode', 'icu-project:international_components_for_unicode'],
  },
  llhttp: { license: 'MIT', supplier: 'OpenJS Foundation', purl: 'pkg:npm/llhttp@VERSION', cpe: ['llhttp:llhttp'] },
  merve: { license: 'MIT', supplier: 'Yagiz Nizipli', purl: 'pkg:github/nodejs/merve@vVERSION' },
  nbytes: { license: 'MIT', supplier: 'OpenJS Foundation', purl: 'pkg:github/nodejs/nbytes@vVERSION' },
  ncrypto: { license: 'MIT', supplier: 'OpenJS Foundation', purl: 'pkg:github/nodejs/ncrypto@vVERSION' },
  nghttp2: {
    license: 'MIT',
    supplier: 'The nghttp2 authors',
    purl: 'pkg:github/nghttp2/nghttp2@vVERSION',
    cpe: ['nghttp2:nghttp2'],
  },
  nghttp3: { license: 'MIT', supplier: 'The nghttp3 authors', purl: 'pkg:github/ngtcp2/nghttp3@vVERSION' },
  ngtcp2: { license: 'MIT', supplier: 'The ngtcp2 authors', purl: 'pkg:github/ngtcp2/ngtcp2@vVERSION' },
  openssl: {
    license: 'Apache-2.0',
    supplier: 'The OpenSSL Project Authors',
    purl: 'pkg:github/openssl/openssl@openssl-VERSION',
    cpe: ['openssl:openssl'],
  },
  simdjson: {
    license: 'Apache-2.0 OR MIT',
    supplier: 'The simdjson authors',
    purl: 'pkg:github/simdjson/simdjson@vVERSION',
    cpe: ['simdjson:simdjson'],
  },
  simdutf: {
    license: 'Apache-2.0 OR MIT',
    supplier: 'The simdutf authors',
    purl: 'pkg:github/simdutf/simdutf@vVERSION',
    cpe: ['simdutf:simdutf'],
  },
  sqlite: {
    license: 'blessing',
    supplier: 'Hipp, Wyrick & Company, Inc.',
    purl: 'pkg:github/sqlite/sqlite@version-VERSION',
    cpe: ['sqlite:sqlite'],
  },
  undici: { license: 'MIT', supplier: 'OpenJS Foundation', purl: 'pkg:npm/undici@VERSION', cpe: ['nodejs:undici'] },
  uv: {
    name: 'libuv',
    license: 'MIT',
    supplier: 'OpenJS Foundation',
    purl: 'pkg:github/libuv/libuv@vVERSION',
    cpe: ['libuv:libuv', 'libuv_project:libuv'],
  },
  uvwasi: { license: 'MIT', supplier: 'OpenJS Foundation', purl: 'pkg:github/nodejs/uvwasi@vVERSION' },
  v8: { license: 'BSD-3-Clause', supplier: 'Google', purl: 'pkg:github/v8/v8@VERSION', cpe: ['google:v8'] },
  // Chromium's fork: upstream has no tag of its version.
  zlib: { license: 'Zlib', supplier: 'The Chromium Authors', purl: 'pkg:generic/zlib@VERSION', cpe: ['zlib:zlib'] },
  zstd: {
    license: 'BSD-3-Clause OR GPL-2.0-only',
    supplier: 'Meta Platforms, Inc.',
    purl: 'pkg:github/facebook/zstd@vVERSION',
    cpe: ['facebook:zstandard'],
  },
};

/** Names in `process.versions` that are not libraries, but Node itself, interfaces and data tables. */
const NO_LIBRARIES = ['node', 'modules', 'napi', 'unicode', 'cldr', 'tz'];

export interface LinkedLibrary {
  readonly name: string;
  /** As Node reports it, with the suffix of Node's own patches. */
  readonly version: string;
  readonly license: string;
  readonly supplier: string;
  readonly purl: string;
  readonly cpes: readonly string[];
}

/**
 * The libraries that a Node is linked with, from its `process.versions`. A library without a version is not linked: Node 24
 * has no QUIC, and therefore neither nghttp3 nor ngtcp2. Throws for a library that is missing in the table.
 */
export function linkedLibraries(versions: Readonly<Record<string, string>>): readonly LinkedLibrary[] {
  return Object.entries(versions)
    .filter(([name, version]) => !NO_LIBRARIES.includes(name) && version !== '')
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, version]) => {
      const library = LIBRARIES[name];
      if (library === undefined)
        throw new Error(`scripts/build/node-libraries.ts does not describe ${name} ${version}`);
      // `13.6.233.17-node.53`, `1.3.2.1-motley-8002e91`: databases have only the version of the project.
      const upstream = version.replace(/-.*$/, '');
      return {
        name: library.name ?? name,
        version,
        license: library.license,
        supplier: library.supplier,
        purl: library.purl.replace('VERSION', encodeURIComponent(upstream)),
        cpes: (library.cpe ?? []).map((name) => cpeOf(name, upstream)),
      };
    });
}

/**
 * A CPE 2.3 name as a formatted string (NISTIR 7695, 6.2): part, vendor, product, version, and seven attributes with the
 * value ANY (`*`). A backslash escapes all characters except letters, digits, `_`, `-` and `.`.
 *
 * @param name `vendor:product`
 */
export function cpeOf(name: string, version: string): string {
  const quoted = [...name.split(':'), version].map((value) => value.toLowerCase().replace(/[^a-z0-9._-]/g, '\\$&'));
  return ['cpe:2.3:a', ...quoted, ...Array<string>(7).fill('*')].join(':');
}
