import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Metafile } from 'esbuild';
import * as z from 'zod';
import { fileDigest } from './inputs.ts';
import { bundledPackages } from './licenses.ts';
import { cpeOf, type LinkedLibrary, linkedLibraries } from './node-libraries.ts';
import { publishedPrograms, signedListDigest, signedListUrl } from './node-release.ts';

const Manifest = z.object({
  name: z.string(),
  version: z.string(),
  description: z.string().optional(),
  license: z.string(),
  author: z.union([z.string(), z.object({ name: z.string() })]).optional(),
  repository: z.union([z.string(), z.object({ url: z.string() })]).optional(),
});
const Lock = z.object({
  packages: z.record(z.string(), z.object({ integrity: z.string().optional() })),
});

/** The fields of a CycloneDX 1.5 component (https://cyclonedx.org/docs/1.5/json/) that this file writes. */
interface Component {
  readonly type: 'application' | 'library' | 'platform';
  readonly 'bom-ref': string;
  readonly supplier: { readonly name: string };
  readonly name: string;
  readonly version: string;
  readonly description?: string;
  readonly hashes?: readonly { readonly alg: 'SHA-256' | 'SHA-512'; readonly content: string }[];
  readonly licenses: readonly ({ readonly license: { readonly id: string } } | { readonly expression: string })[];
  readonly cpe?: string;
  readonly purl: string;
  readonly properties?: readonly { readonly name: string; readonly value: string }[];
}

/** The publisher of the program and of this bill, as in packaging/deb/control and in the spec file. */
const SUPPLIER = { name: 'The machineadm authors' };

/**
 * The bill of materials of one platform's binary, in CycloneDX 1.5: the npm packages in the bundle, Node, and the libraries
 * that are linked into Node. Each has the identifiers (purl, CPE) that vulnerability scanners use. The text is
 * reproducible: its time is that of the commit, and its serial number is derived from its content.
 */
export async function billOfMaterials(inputs: {
  readonly root: string;
  /** Default: `machineadm`, whose binary contains Node. Another program runs on an unmodified Node. */
  readonly program?: string;
  readonly metafile: Metafile;
  readonly binary: string;
  /** The npm package that contains Node, and the path of its executable. */
  readonly runtime: { readonly package: string; readonly executable: string };
  /** A Node of the same version for this machine: it reports its linked libraries. */
  readonly nativeNode: string;
  readonly commit: string;
  /** In seconds since 1970; undefined without git and SOURCE_DATE_EPOCH. */
  readonly epoch: number | undefined;
}): Promise<string> {
  const { root, program = 'machineadm', metafile, binary, runtime, commit, epoch } = inputs;
  const json = async (...path: readonly string[]): Promise<unknown> =>
    JSON.parse(await readFile(join(root, ...path), 'utf8'));
  const lock = Lock.parse(await json('package-lock.json'));
  const own = Manifest.parse(await json('package.json'));
  const packageNamed = async (name: string, manifest: unknown) =>
    npmComponent(Manifest.parse(manifest), lock.packages[`node_modules/${name}`]?.integrity);

  const packages = await Promise.all(
    bundledPackages(metafile).map(async (name) => packageNamed(name, await json('node_modules', name, 'package.json'))),
  );
  const versions = versionsOf(inputs.nativeNode);
  const distribution = await packageNamed(runtime.package, {
    // npm installs only the package for its own platform. The others have the same version and license.
    ...own,
    name: runtime.package,
    version: versions.node,
    description: 'Node.js, built by its maintainers, as a package of npm',
    license: 'MIT',
    author: 'Aria Stewart',
  });
  const node = nodeComponent(
    versions.node,
    await sha256(runtime.executable),
    program === 'machineadm',
    runtime.package,
  );
  await checkVersions(runtime.executable, versions);
  const libraries = linkedLibraries(versions).map(libraryComponent);
  const self: Component = {
    type: 'application',
    'bom-ref': `pkg:generic/${program}@${own.version}`,
    supplier: SUPPLIER,
    name: program,
    version: own.version,
    hashes: [{ alg: 'SHA-256', content: await sha256(binary) }],
    licenses: [{ license: { id: 'Apache-2.0' } }],
    purl: `pkg:generic/${program}@${own.version}?vcs_revision=${encodeURIComponent(commit)}`,
  };
  const refs = (components: readonly Component[]): readonly string[] => components.map((one) => one['bom-ref']);
  const content = {
    metadata: {
      ...(epoch === undefined ? {} : { timestamp: new Date(epoch * 1000).toISOString().replace('.000Z', 'Z') }),
      lifecycles: [{ phase: 'build' }],
      authors: [SUPPLIER],
      component: self,
      supplier: SUPPLIER,
    },
    components: [distribution, node, ...libraries, ...packages],
    dependencies: [
      { ref: self['bom-ref'], dependsOn: refs([distribution, ...packages]) },
      { ref: distribution['bom-ref'], dependsOn: refs([node]) },
      { ref: node['bom-ref'], dependsOn: refs(libraries) },
    ],
    // Not stated: which of the libraries and packages depend on each other.
    compositions: [
      { aggregate: 'complete', dependencies: [self['bom-ref'], distribution['bom-ref'], node['bom-ref']] },
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
  if (!integrity?.startsWith('sha512-')) throw new Error(`package-lock.json pins no sha512 for ${name}`);
  const digest = Buffer.from(integrity.slice('sha512-'.length), 'base64').toString('hex');
  return {
    type: 'library',
    'bom-ref': purl,
    supplier: { name: supplierOf(manifest) },
    name,
    version,
    ...(description === undefined ? {} : { description }),
    hashes: [{ alg: 'SHA-512', content: digest }],
    licenses: [licenseOf(license)],
    purl,
  };
}

/** The author of a package without an address, or else the owner of its repository. */
function supplierOf({ name, author, repository }: z.infer<typeof Manifest>): string {
  const written = (typeof author === 'string' ? author : author?.name)?.replace(/\s*[<(].*$/, '').trim();
  if (written) return written;
  const url = typeof repository === 'string' ? repository : repository?.url;
  const owner = /([^/:]+)\/[^/]+$/.exec(url ?? '')?.[1];
  if (owner === undefined) throw new Error(`the package ${name} names neither an author nor a repository`);
  return owner;
}

function nodeComponent(version: string, digest: string, isInside: boolean, npmPackage: string): Component {
  // The purl that Syft's cataloger for Node binaries uses. Scanners match such a package by its CPE.
  const purl = `pkg:generic/node@${version}`;
  return {
    type: 'platform',
    'bom-ref': purl,
    supplier: { name: 'OpenJS Foundation' },
    name: 'node',
    version,
    description: isInside ? 'The runtime inside: the symbols are stripped, the program is added' : 'The runtime',
    hashes: [{ alg: 'SHA-256', content: digest }],
    licenses: [licenseOf('MIT')],
    cpe: cpeOf('nodejs:node.js', version),
    purl,
    // The build refuses any other program.
    properties: [
      { name: 'machineadm:publishedIn', value: publishedPrograms().programs[npmPackage]?.file ?? '' },
      { name: 'machineadm:signedList', value: `${signedListUrl(version)}#sha256=${signedListDigest()}` },
    ],
  };
}

function libraryComponent({ name, version, supplier, license, purl, cpes }: LinkedLibrary): Component {
  const [cpe, ...others] = cpes;
  return {
    type: 'library',
    'bom-ref': `node:${name}@${version}`,
    supplier: { name: supplier },
    name,
    version,
    licenses: [licenseOf(license)],
    ...(cpe === undefined ? {} : { cpe }),
    purl,
    // CycloneDX has room for one CPE; Syft and Grype read the others here.
    ...(others.length === 0 ? {} : { properties: others.map((value) => ({ name: 'syft:cpe23', value })) }),
  };
}

function licenseOf(license: string): Component['licenses'][number] {
  return /[ ()]/.test(license) ? { expression: license } : { license: { id: license } };
}

function versionsOf(node: string): Readonly<Record<string, string>> & { readonly node: string } {
  const output = execFileSync(node, ['-p', 'JSON.stringify(process.versions)'], { encoding: 'utf8', env: {} });
  return z.object({ node: z.string() }).catchall(z.string()).parse(JSON.parse(output));
}

/** Throws unless an executable, perhaps for another platform, contains the version strings that another one reported. */
async function checkVersions(executable: string, versions: Readonly<Record<string, string>>): Promise<void> {
  const bytes = await readFile(executable);
  for (const [name, version] of Object.entries(versions)) {
    if (!bytes.includes(version)) throw new Error(`${executable} does not hold ${name} ${version}`);
  }
}

async function sha256(path: string): Promise<string> {
  const digest = await fileDigest(path);
  if (digest === undefined) throw new Error(`${path} cannot be read`);
  return digest;
}

/** A UUID of version 8 (RFC 9562), whose format is vendor-specific. Here its bits are those of a digest. */
function uuidOf(text: string): string {
  const bytes = createHash('sha256').update(text).digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
