import type { Finding } from '../../../diagnostics.ts';
import { writtenValue } from '../secrets.ts';
import type { Sections } from '../sections.ts';

/** A secret that is written down must be one of Standard Webhooks; a reference is known only where it is used. */
export function checkWebhooks({ reporting, secrets }: Sections): Finding[] {
  return (reporting?.sinks ?? []).flatMap((sink, index) => {
    if (sink.type !== 'Webhook') return [];
    const fields = ['secret', 'previousSecret'] as const;
    return fields.flatMap((field) => {
      const value = writtenValue(sink[field], secrets ?? {});
      if (value === undefined || isWebhookSecret(value)) return [];
      return [
        {
          path: ['reporting', 'sinks', index, field],
          message: 'not a secret of Standard Webhooks: whsec_ and 24 to 64 bytes in base64',
          hint: 'make one with: echo "whsec_$(openssl rand -base64 32)"',
        },
      ];
    });
  });
}

/** The prefix may be left out, as the specification's libraries let it be. */
function isWebhookSecret(text: string): boolean {
  const base64 = text
    .trim()
    .replace(/^whsec_/, '')
    .replace(/=+$/, '');
  const bytes = Math.floor((base64.length * 3) / 4);
  return /^[A-Za-z0-9+/]+$/.test(base64) && base64.length % 4 !== 1 && bytes >= 24 && bytes <= 64;
}
