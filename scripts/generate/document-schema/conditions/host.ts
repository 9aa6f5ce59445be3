import { PASSWORD_HASH } from '@machineadm/document/host-parts/users.ts';
import type { JsonSchema } from '@machineadm/document/sections/conditions.ts';
import {
  all,
  any,
  atLeastOne,
  atMostOne,
  contains,
  credentialsOverTls,
  exactlyOne,
  given,
  has,
  is,
  must,
  not,
  secretOverTls,
  text,
  textWithout,
  VARIABLE,
  when,
  without,
  writtenSecret,
} from '@machineadm/document/sections/conditions.ts';

/** Of a dotted key each part, of one with slashes each part: neither empty nor "." or "..", as the path below /proc/sys. */
const SYSCTL_KEY =
  /^[\w-]+(?:(?:\.(?:[\w-]|\/[\w-]|\/\/[\w-]|\/\/\/)[\w/-]*)*|(?:\/(?:[\w-]|\.[\w-]|\.\.[\w-]|\.\.\.)[\w.-]*)*)$/;

const PROXY_PART = "[A-Za-z0-9\\-._~\\[\\]!$&'()*+,;=%";
const PROXY_URL = new RegExp(`^https?:\\/\\/(?:${PROXY_PART}:]*@)?${PROXY_PART}]${PROXY_PART}:]*\\/?$`);

const proxyUrl = any({ type: 'object' }, VARIABLE, text(PROXY_URL));
const credentials = text(/^https?:\/\/[^/?#]*@/);
const withoutCredentials = any({ type: 'object' }, VARIABLE, not(credentials));

const LABEL_LIMITS = { ext4: 16, xfs: 12, vfat: 11, swap: 15 };

export const HOST_CONDITIONS: Readonly<Record<string, readonly JsonSchema[]>> = {
  'secrets.*.http': [secretOverTls('url')],
  'secrets.*.awsSecretsManager': [secretOverTls('endpoint')],
  'secrets.*.awsParameter': [secretOverTls('endpoint')],
  host: [
    must('sysctl', { type: 'object', propertyNames: text(SYSCTL_KEY) }),
    when(is('swap', 'Disabled'), must('storage.mounts[]', not(is('type', 'swap')))),
    when(
      all(given('activeDirectory', not(has('computerName'))), has('hostname')),
      must('hostname', any(VARIABLE, text(/^[a-z0-9](?:[a-z0-9-]{0,13}[a-z0-9])?(?:\.|$)/))),
    ),
  ],
  'host.storage.disks[]': [
    without('device.partition'),
    must('partitions', atMostOne(is('size', 'Rest'))),
    when(
      is('table', 'mbr'),
      all(
        must('partitions', { type: 'array', maxItems: 4 }),
        without('partitions[].label'),
        must('partitions[].type', textWithout(/-/)),
      ),
    ),
  ],
  'host.storage.filesystems[]': Object.entries(LABEL_LIMITS).map(([type, maxLength]) =>
    when(is('type', type), must('label', any(VARIABLE, { type: 'string', maxLength }))),
  ),
  'host.storage.mounts[]': [when(is('type', 'swap'), without('path'), given('path', not({ const: '/' })))],
  'host.users[]': [must('passwordHash', writtenSecret(PASSWORD_HASH))],
  'host.files[]': [
    when(
      is('absent', true),
      without('content', 'contentFrom', 'encoding', 'mode', 'owner', 'directoryMode', 'append', 'block', 'expand'),
      exactlyOne('content', 'contentFrom'),
    ),
    when(has('encoding'), has('content')),
    when(is('append', true), without('contentFrom.http', 'block')),
    when(has('block'), without('contentFrom.http')),
  ],
  'host.directories[]': [
    when(
      is('absent', true),
      all(without('mode', 'owner'), must('recursive', { const: true })),
      must('recursive', { type: 'object' }),
    ),
  ],
  'host.links[]': [when(is('absent', true), without('target', 'force'), has('target'))],
  'host.files[].contentFrom.http': [credentialsOverTls('url')],
  'host.time': [when(is('enabled', false), without('servers', 'synchronized'))],
  'host.network': [
    when(is('tool', 'networkd'), must('files[].name', any(VARIABLE, text(/\.(?:network|netdev|link)$/)))),
    when(is('tool', 'netplan'), must('files[].name', any(VARIABLE, text(/\.yaml$/)))),
    when(is('tool', 'NetworkManager'), must('files[].name', any(VARIABLE, text(/\.nmconnection$/)))),
  ],
  'host.proxy': [
    atLeastOne('http', 'https'),
    must('http', proxyUrl),
    must('https', proxyUrl),
    when(
      given('for', contains({ const: 'environment' })),
      all(must('http', withoutCredentials), must('https', withoutCredentials)),
    ),
  ],
  'host.services[]': [
    when(is('masked', true), all(must('enabled', { const: false }), must('state', { const: 'Stopped' }))),
  ],
  'host.activeDirectory': [when(given('credentials', not(has('user'))), without('computerOU', 'accountReuse'))],
  EarlyHookGroup: [when(is('frequency', 'Always'), without('secrets'))],
};
