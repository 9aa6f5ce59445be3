import type { JsonSchema } from '@machineadm/document/sections/conditions.ts';
import {
  all,
  any,
  exactlyOne,
  exclusive,
  given,
  has,
  is,
  must,
  not,
  text,
  when,
  without,
  writtenSecret,
} from '@machineadm/document/sections/conditions.ts';
import { PORT } from '@machineadm/document/versions/v1alpha1/fields.ts';
import { credentialsOverTls } from './transport.ts';

/** Standard Webhooks: 24 to 64 bytes in base64. */
const WEBHOOK_SECRET =
  /^\s*(?:whsec_)?(?:(?:[A-Za-z0-9+/]{4}){8,20}(?:[A-Za-z0-9+/]{2,3})?|(?:[A-Za-z0-9+/]{4}){21}(?:[A-Za-z0-9+/]{2})?)=*\s*$/;

export const REPORTING_CONDITIONS: Readonly<Record<string, readonly JsonSchema[]>> = {
  hardening: [
    must('profiles', { type: 'array', uniqueItems: true }),
    must('include', { type: 'array', uniqueItems: true }),
  ],
  AWSSink: [exactlyOne('topicARN', 'queueURL'), exclusive('endpoint', 'queueURL')],
  AzureSink: [exactlyOne('queueURL', 'topicEndpoint')],
  KubernetesSink: [
    when(
      has('kubeconfig'),
      without('server', 'tlsServerName', 'certificateAuthority', 'token', 'clientCertificate'),
      all(has('server', 'certificateAuthority'), exactlyOne('token', 'clientCertificate')),
    ),
  ],
  NATSSink: [
    must('servers[]', text(new RegExp(`^(?:nats|tls):\\/\\/(?:\\[[0-9A-Fa-f:.]+\\]|[A-Za-z0-9.-]+)(?::${PORT})?$`))),
    when(
      all(given('credentials', any(has('token'), has('password'))), not(is('allowInsecure', true))),
      must('servers[]', text(/^tls:|^nats:\/\/(?:localhost|127\.[A-Za-z0-9.-]*|\[::1\])(?::\d+)?$/)),
    ),
  ],
  OTLPSink: [credentialsOverTls('url')],
  WebhookSink: [
    credentialsOverTls('url'),
    must('secret', writtenSecret(WEBHOOK_SECRET)),
    must('previousSecret', writtenSecret(WEBHOOK_SECRET)),
  ],
};
