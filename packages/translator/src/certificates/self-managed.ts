import { createPrivateKey, X509Certificate } from 'node:crypto';
import * as z from 'zod';
import { type Api, isStatus } from '../cluster/api.ts';
import { newServingCertificate } from './x509.ts';

/** A certificate with its key, for the server, and the authorities that clients must trust. PEM. */
export interface Identity {
  readonly certificate: string;
  readonly key: string;
  readonly authorities: string;
}

export interface SelfManagedOptions {
  readonly namespace: string;
  /** The Secret that all replicas share. */
  readonly secretName: string;
  /** The MutatingWebhookConfiguration whose `caBundle` is kept up to date. */
  readonly webhookConfiguration: string;
  readonly dnsNames: readonly string[];
  readonly lifetimeMs: number;
  /** How long the API servers get to learn a new authority before a certificate of it is used. */
  readonly overlapMs: number;
}

const DAY_MS = 86_400_000;
export const DEFAULT_LIFETIME_MS = 90 * DAY_MS;
/** The certificate is renewed after this share of its lifetime. */
const RENEW_AFTER = 2 / 3;

const StoredSecret = z.looseObject({
  metadata: z.looseObject({ resourceVersion: z.string() }),
  data: z.looseObject({ 'tls.crt': z.string(), 'tls.key': z.string(), 'ca.crt': z.string() }).optional(),
});
const WebhookConfiguration = z.looseObject({
  webhooks: z
    .array(z.looseObject({ name: z.string(), clientConfig: z.looseObject({ caBundle: z.string().nullish() }) }))
    .nullish(),
});

/**
 * The certificate of the webhook without cert-manager: the replicas share it in a Secret. The leader renews it, and puts its
 * authority into the webhook configuration first, beside the previous one.
 */
export class SelfManagedCertificate {
  readonly #api: Api;
  readonly #options: SelfManagedOptions;

  constructor(api: Api, options: SelfManagedOptions) {
    this.#api = api;
    this.#options = options;
  }

  /**
   * The certificate to serve with. Makes the first one, or replaces one that cannot be served with: expired, damaged, or for
   * other names. Where two replicas do it at once, both use that of the first.
   */
  async current(now = new Date()): Promise<Identity> {
    for (;;) {
      const stored = await this.#read();
      if (stored?.identity !== undefined && isUsable(stored.identity, this.#options.dnsNames, now))
        return stored.identity;
      const identity = this.#generate(now, undefined);
      if (await this.#write(identity, stored?.resourceVersion)) return identity;
    }
  }

  /**
   * For the leader, regularly: puts the authorities into the webhook configuration, and renews the certificate when two
   * thirds of its lifetime are over. `pause` waits between the two; it may end early by throwing.
   * Returns whether a new certificate was stored.
   */
  async maintain(pause: (milliseconds: number) => Promise<void>, now = new Date()): Promise<boolean> {
    const identity = await this.current(now);
    if (!isDue(identity, now)) {
      await this.#publish(identity.authorities);
      return false;
    }
    const stored = await this.#read();
    if (stored === undefined) return false;
    const next = this.#generate(now, identity.authorities);
    await this.#publish(next.authorities);
    await pause(this.#options.overlapMs);
    return await this.#write(next, stored.resourceVersion);
  }

  #generate(now: Date, previous: string | undefined): Identity {
    const { dnsNames, lifetimeMs } = this.#options;
    const made = newServingCertificate({
      dnsNames,
      // Clocks of control planes differ by seconds.
      notBefore: new Date(now.getTime() - 300_000),
      notAfter: new Date(now.getTime() + lifetimeMs),
    });
    // Only the authority that is in use: a bundle does not grow.
    const kept = previous === undefined ? '' : `${previous.slice(0, previous.indexOf(END) + END.length)}\n`;
    return { certificate: made.certificate, key: made.key, authorities: `${made.authority}${kept}` };
  }

  get #path(): string {
    return `/api/v1/namespaces/${this.#options.namespace}/secrets`;
  }

  async #read(): Promise<{ readonly identity: Identity | undefined; readonly resourceVersion: string } | undefined> {
    try {
      const answer = await this.#api.request({ path: `${this.#path}/${this.#options.secretName}` });
      const { metadata, data } = StoredSecret.parse(answer);
      const text = (base64: string) => Buffer.from(base64, 'base64').toString('utf8');
      const identity = data && {
        certificate: text(data['tls.crt']),
        key: text(data['tls.key']),
        authorities: text(data['ca.crt']),
      };
      return { identity, resourceVersion: metadata.resourceVersion };
    } catch (error) {
      if (isStatus(error, 404)) return undefined;
      throw error;
    }
  }

  /** Writes the Secret; false where another replica wrote it since it was read. */
  async #write({ certificate, key, authorities }: Identity, resourceVersion: string | undefined): Promise<boolean> {
    const { namespace, secretName: name } = this.#options;
    const base64 = (text: string) => Buffer.from(text).toString('base64');
    const body = {
      metadata: {
        name,
        namespace,
        labels: { 'app.kubernetes.io/name': 'machineadm-translator' },
        ...(resourceVersion === undefined ? {} : { resourceVersion }),
      },
      type: 'kubernetes.io/tls',
      data: { 'tls.crt': base64(certificate), 'tls.key': base64(key), 'ca.crt': base64(authorities) },
    };
    try {
      if (resourceVersion === undefined) await this.#api.request({ method: 'POST', path: this.#path, body });
      else await this.#api.request({ method: 'PUT', path: `${this.#path}/${name}`, body });
      return true;
    } catch (error) {
      if (isStatus(error, 409)) return false;
      throw error;
    }
  }

  /** Writes the bundle into each webhook of the configuration, where it differs. Without a configuration it does nothing. */
  async #publish(authorities: string): Promise<void> {
    const path = `/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/${this.#options.webhookConfiguration}`;
    const bundle = Buffer.from(authorities).toString('base64');
    let answer: unknown;
    try {
      answer = await this.#api.request({ path });
    } catch (error) {
      if (isStatus(error, 404)) return;
      throw error;
    }
    const { webhooks } = WebhookConfiguration.parse(answer);
    const patch = (webhooks ?? []).flatMap(({ name, clientConfig }, index) =>
      clientConfig.caBundle === bundle
        ? []
        : [
            // Fails where the list was changed since it was read; the next round patches then.
            { op: 'test', path: `/webhooks/${index}/name`, value: name },
            { op: 'add', path: `/webhooks/${index}/clientConfig/caBundle`, value: bundle },
          ],
    );
    if (patch.length === 0) return;
    await this.#api.request({ method: 'PATCH', path, contentType: 'application/json-patch+json', body: patch });
  }
}

const END = '-----END CERTIFICATE-----';

function parsed(certificate: string): X509Certificate | undefined {
  try {
    return new X509Certificate(certificate);
  } catch {
    return undefined;
  }
}

function isUsable({ certificate, key, authorities }: Identity, dnsNames: readonly string[], now: Date): boolean {
  const own = parsed(certificate);
  const authority = parsed(authorities);
  if (own === undefined || authority === undefined || own.validToDate <= now) return false;
  if (!own.verify(authority.publicKey)) return false;
  try {
    if (!own.checkPrivateKey(createPrivateKey(key))) return false;
  } catch {
    return false;
  }
  return dnsNames.every((name) => own.checkHost(name) !== undefined);
}

function isDue({ certificate }: Identity, now: Date): boolean {
  const { validFromDate, validToDate } = new X509Certificate(certificate);
  const lifetime = validToDate.getTime() - validFromDate.getTime();
  return now.getTime() >= validFromDate.getTime() + lifetime * RENEW_AFTER;
}

/** When a certificate expires. */
export function expiryOf(certificate: string): Date {
  return new X509Certificate(certificate).validToDate;
}
