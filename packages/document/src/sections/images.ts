import type { Finding } from '../diagnostics/index.ts';
import { credentialsOverTls, exactlyOne, given, has, not, VARIABLE, when, without } from '../fields/conditions.ts';
import { headersOf, type ResolveSecret } from '../fields/convert-values.ts';
import { field, object } from '../fields/field.ts';
import { absolutePath, allowInsecure, headers, httpUrl, sha256 } from '../fields/types.ts';
import * as z from '../schema/zod.ts';
import type { SecretValue } from '../secrets/secret.ts';

export interface ImagesModel {
  readonly archives: readonly ImageArchive[];
  readonly required: readonly string[];
}

/** An archive of images; digests are the lower-case hex SHA-256 of the file as it is stored. */
export type ImageArchive =
  | { readonly kind: 'file'; readonly path: string; readonly sha256: string | undefined }
  | {
      readonly kind: 'http';
      readonly url: string;
      readonly sha256: string;
      readonly headers: Readonly<Record<string, SecretValue>>;
    };

const archive = object(
  {
    path: field(absolutePath, 'A file on this machine. Excludes url.', {
      absent: 'url names the archive',
      example: '/opt/images/kubernetes.tar.zst',
    }),
    url: field(
      httpUrl,
      'The URL of an archive, which is downloaded, imported and deleted. Needs sha256. Excludes path.',
      { absent: 'path names the archive', example: 'https://mirror.example/kubernetes-v1.35.2.tar.zst' },
    ),
    sha256: field(sha256, 'The SHA-256 digest of the archive as it is stored, compressed or not. Required with url.', {
      absent: 'a local file is not compared',
      example: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    }),
    headers,
    allowInsecure,
  },
  () => [
    exactlyOne('path', 'url'),
    when(given('url', not(VARIABLE)), has('sha256')),
    when(has('path'), without('headers')),
    credentialsOverTls('url'),
  ],
);

export const images = object({
  archives: field(
    z.array(archive),
    'Archives that are imported into containerd, in OCI or docker layout, as plain tar, gzip or zstd. With archives and without kubernetes.node.imagePullPolicy the machine counts as air-gapped.',
    { default: [], example: [{ path: '/opt/images/kubernetes.tar.zst' }] },
  ),
  required: field(
    z.array(
      z
        .string()
        .regex(
          /^[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?::\d+)?(?:\/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*(?::[\w.-]{1,128})?(?:@sha256:[0-9a-f]{64})?$/,
          'not an image reference',
        ),
    ),
    'Images that must be present before the bootstrapper runs. Of a name with tag and digest, the digest counts.',
    { default: [], example: ['registry.k8s.io/kube-apiserver:v1.35.2'] },
  ),
});

export type ImagesSection = z.infer<typeof images>;

/** Archives that lack a field or have two that exclude each other, and archives that are listed twice. */
export function checkImages(section: ImagesSection): Finding[] {
  const findings: Finding[] = [];
  const first = new Map<string, number>();
  section.archives?.forEach((entry, index) => {
    const path = ['images', 'archives', index];
    findings.push(...checkArchive(entry, path));
    // One file from two servers is one archive.
    const name = entry.url === undefined ? entry.path : (entry.sha256 ?? entry.url);
    const earlier = name === undefined ? undefined : first.get(name);
    if (name !== undefined && earlier === undefined) first.set(name, index);
    if (earlier !== undefined) {
      const message = 'the same archive as';
      findings.push({
        code: 'Duplicate',
        path,
        message,
        other: ['images', 'archives', earlier],
        hint: 'keep one of them',
      });
    }
  });
  return findings;
}

function checkArchive(
  entry: NonNullable<ImagesSection['archives']>[number],
  path: readonly (string | number)[],
): Finding[] {
  if (entry.path !== undefined && entry.url !== undefined) {
    return [{ path, message: 'path and url exclude each other', hint: 'keep one of them', about: [[...path, 'url']] }];
  }
  if (entry.path === undefined && entry.url === undefined) {
    const hint = 'path: a file on this machine; url and sha256: one that is downloaded';
    return [{ path, message: 'neither path nor url is given', hint }];
  }
  if (entry.url !== undefined && entry.sha256 === undefined) {
    const hint = 'downloads are verified: sha256sum FILE prints the digest';
    return [{ path, message: 'an archive from a url needs its sha256', hint, about: [[...path, 'sha256']] }];
  }
  if (entry.path !== undefined && entry.headers !== undefined) {
    return [{ path: [...path, 'headers'], message: 'headers are sent with the request for url, which is not given' }];
  }
  return [];
}

/** The model of a section that was checked. */
export function toImages(section: ImagesSection | undefined, resolve: ResolveSecret): ImagesModel {
  return {
    archives: (section?.archives ?? []).map((entry, index) => toArchive(entry, resolve, `images.archives[${index}]`)),
    required: section?.required ?? [],
  };
}

function toArchive(
  { path, url, sha256: digest, headers }: NonNullable<ImagesSection['archives']>[number],
  resolve: ResolveSecret,
  owner: string,
): ImageArchive {
  if (path !== undefined) return { kind: 'file', path, sha256: digest };
  if (url === undefined || digest === undefined) throw new TypeError(`${owner} was not checked`);
  return { kind: 'http', url, sha256: digest, headers: headersOf(headers, resolve, owner) };
}
