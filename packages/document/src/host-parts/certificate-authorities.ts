import { certificatePem, EXAMPLE_CERTIFICATE } from '../fields/certificates.ts';
import { field, object } from '../fields/field.ts';
import { OWN_FILE_PREFIX, TRUST_STORES } from '../ownership/paths.ts';
import * as z from '../schema/zod.ts';
import { claimsOn, hostPart } from './part.ts';
import { FOLLOW_UPS, type OwedByDocument, owedBy } from './paths-of-host.ts';

export interface CertificateAuthorityModel {
  readonly name: string;
  /** One or more PEM certificates. */
  readonly pem: string;
  /** What must follow a change of it. */
  readonly owes?: readonly OwedByDocument[];
}

/** Names of our files in a trust store. */
const OURS = new RegExp(`^${OWN_FILE_PREFIX}[^/]*\\.(?:crt|pem)$`);

export const certificateAuthorities = hostPart({
  description: 'Certificate authorities that the operating system and the requests of machineadm trust.',
  default: [],
  changes: 'the trust store of the operating system',
  example: [{ name: 'corp', pem: EXAMPLE_CERTIFICATE }],
  entryKeys: { '': ['name'] },
  schema: z.array(
    object({
      name: field(
        z.string().regex(/^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/, 'not a name: lower-case letters, digits, "." and "-"'),
        'The name of the file in the trust store, without its extension.',
        { example: 'corp' },
      ),
      pem: field(certificatePem, 'The certificate in PEM form.', { example: EXAMPLE_CERTIFICATE }),
      ...FOLLOW_UPS,
    }),
  ),
  toModel: (section = []): readonly CertificateAuthorityModel[] =>
    section.map((entry) => ({ name: entry.name, pem: entry.pem, ...owedBy(entry) })),
  claims(authorities) {
    if (authorities.length === 0) return [];
    const stores = Object.values(TRUST_STORES);
    return [
      ...claimsOn('certificate-authorities', [], 'names', ...new Set(stores.map(({ directory }) => directory))).map(
        (claim) => ({ ...claim, names: OURS }),
      ),
      ...claimsOn('certificate-authorities', [], 'file', ...new Set(stores.map(({ bundle }) => bundle))),
    ];
  },
});
