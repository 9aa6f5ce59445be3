import * as z from 'zod';
import type { Finding } from '../../diagnostics.ts';
import { absolutePath, allowInsecure, headers, httpUrl, sha256 } from './fields.ts';

const archive = z.strictObject({
  path: absolutePath.optional(),
  url: httpUrl.optional(),
  sha256: sha256.optional(),
  headers: headers.optional(),
  allowInsecure,
});

export const images = z.strictObject({
  archives: z.array(archive).optional(),
  required: z
    .array(
      z
        .string()
        .regex(
          /^[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?::\d+)?(?:\/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*(?::[\w.-]{1,128})?(?:@sha256:[0-9a-f]{64})?$/,
          'not an image reference',
        ),
    )
    .optional(),
});

export type ImagesSection = z.infer<typeof images>;

/** What an archive needs and what excludes what; the same archive twice. */
export function checkImages({ images: section }: { readonly images?: ImagesSection }): Finding[] {
  const findings: Finding[] = [];
  const first = new Map<string, number>();
  section?.archives?.forEach((entry, index) => {
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
    return [{ path, message: 'path and url exclude each other', hint: 'keep one of them', about: [...path, 'url'] }];
  }
  if (entry.path === undefined && entry.url === undefined) {
    const hint = 'path: a file on this machine; url and sha256: one that is downloaded';
    return [{ path, message: 'neither path nor url is given', hint }];
  }
  if (entry.url !== undefined && entry.sha256 === undefined) {
    const hint = 'what comes over the network is checked: sha256sum FILE tells it';
    return [{ path, message: 'an archive from a url needs its sha256', hint, about: [...path, 'sha256'] }];
  }
  if (entry.path !== undefined && entry.headers !== undefined) {
    return [{ path: [...path, 'headers'], message: 'headers are sent with the request for url, which is not given' }];
  }
  return [];
}
