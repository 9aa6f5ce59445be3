import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Metafile } from 'esbuild';
import * as z from 'zod';
import { bundledPackages } from './licenses.ts';

const Manifest = z.object({
  name: z.string(),
  version: z.string(),
  description: z.string().optional(),
  license: z.string().optional(),
});
const Lock = z.object({
  packages: z.record(z.string(), z.object({ integrity: z.string().optional() })),
});

/** A component of CycloneDX 1.5 (https://cyclonedx.org/docs/1.5/json/), as far as it is filled in here. */
interface Component {
  readonly type: 'application' | 'library' | 'platform';
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly description?: string;
  readonly purl?: string;
  readonly licenses?: readonly ({ readonly license: { readonly id: string } } | { readonly expression: string })[];
  readonly hashes?: readonly { readonly alg: 'SHA-512'; readonly content: string }[];
}

/** Names of `process.versions` that say which interface there is, and not which library is inside. */
const NO_LIBRARIES = ['node', 'modules', 'napi', 'unicode', 'cldr', 'tz'];

/**
 * The bill of materials of the binary, in CycloneDX 1.5: the packages of npm that the bundle really holds, Node, and the
 * libraries that are linked into Node. The same inputs make the same text: it has no time, and its serial number
 * follows from its content.
 *
 * @param node the Node executable that is inside; it tells the libraries it was linked with
 */
export async function billOfMaterials(
  root: string,
  metafile: Metafile,
  node: { readonly package: string; readonly executable: string },
  commit: string,
): Promise<string> {
  const lock = Lock.parse(JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')));
  const own = Manifest.parse(JSON.parse(await readFile(join(root, 'package.json'), 'utf8')));
  const manifestOf = async (name: string) =>
    Manifest.parse(JSON.parse(await readFile(join(root, 'node_modules', name, 'package.json'), 'utf8')));

  const packages = await Promise.all(
    bundledPackages(metafile).map(async (name) =>
      npmComponent(await manifestOf(name), lock.packages[`node_modules/${name}`]?.integrity),
    ),
  );
  const runtime: Component = {
    ...npmComponent(await manifestOf(node.package), lock.packages[`node_modules/${node.package}`]?.integrity),
    type: 'platform',
  };
  const libraries = linkedLibraries(node.executable);
  const self: Component = {
    type: 'application',
    'bom-ref': `pkg:generic/machineadm@${own.version}`,
    name: 'machineadm',
    version: own.version,
    purl: `pkg:generic/machineadm@${own.version}?vcs_revision=${encodeURIComponent(commit)}`,
    licenses: [{ license: { id: 'Apache-2.0' } }],
  };
  const refs = (components: readonly Component[]): readonly string[] => components.map((one) => one['bom-ref']);
  const content = {
    metadata: { component: self },
    components: [runtime, ...libraries, ...packages],
    dependencies: [
      { ref: self['bom-ref'], dependsOn: refs([runtime, ...packages]) },
      { ref: runtime['bom-ref'], dependsOn: refs(libraries) },
    ],
  };
  const header = {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    serialNumber: `urn:uuid:${uuidOf(JSON.stringify(content))}`,
    version: 1,
  };
  return `${JSON.stringify({ ...header, ...content }, undefined, 2)}\n`;
}

function npmComponent(manifest: z.infer<typeof Manifest>, integrity: string | undefined): Component {
  const { name, version, description, license } = manifest;
  // https://github.com/package-url/purl-spec, type npm: the @ of a scope is encoded
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
  const digest = integrity?.startsWith('sha512-')
    ? Buffer.from(integrity.slice('sha512-'.length), 'base64').toString('hex')
    : undefined;
  return {
    type: 'library',
    'bom-ref': purl,
    name,
    version,
    ...(description === undefined ? {} : { description }),
    purl,
    ...(license === undefined ? {} : { licenses: [licenseOf(license)] }),
    ...(digest === undefined ? {} : { hashes: [{ alg: 'SHA-512' as const, content: digest }] }),
  };
}

function licenseOf(license: string): { license: { id: string } } | { expression: string } {
  return /[ ()]/.test(license) ? { expression: license } : { license: { id: license } };
}

/** OpenSSL, V8, zlib and the rest, as this Node itself tells them. */
function linkedLibraries(node: string): readonly Component[] {
  const output = execFileSync(node, ['-p', 'JSON.stringify(process.versions)'], { encoding: 'utf8', env: {} });
  const versions = z.record(z.string(), z.string()).parse(JSON.parse(output));
  return Object.entries(versions)
    .filter(([name]) => !NO_LIBRARIES.includes(name))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, version]) => ({
      type: 'library',
      'bom-ref': `node:${name}@${version}`,
      name,
      version,
      purl: `pkg:generic/${name}@${encodeURIComponent(version)}`,
    }));
}

/** RFC 9562, version 8: a UUID whose bits are its maker's business, here those of a digest. */
function uuidOf(text: string): string {
  const bytes = createHash('sha256').update(text).digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
