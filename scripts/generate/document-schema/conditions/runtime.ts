import type { JsonSchema } from '@machineadm/document/sections/conditions.ts';
import {
  all,
  any,
  atLeastOne,
  contains,
  credentialsOverTls,
  exactlyOne,
  given,
  has,
  is,
  must,
  not,
  text,
  textWithout,
  VARIABLE,
  when,
  without,
  writtenSecret,
} from '@machineadm/document/sections/conditions.ts';

const CRI_PLUGINS = ['cri', 'io.containerd.grpc.v1.cri', 'io.containerd.cri.v1.images', 'io.containerd.cri.v1.runtime'];

const OF_THE_SERVER = [
  'server',
  'ca',
  'clientCertificate',
  'skipVerify',
  'overridePath',
  'dialTimeout',
  'headers',
  'credentials',
];

/** What a mirror and a registry have in common. */
const endpoint = (url: string): readonly JsonSchema[] => [
  when(given(url, all(text(/^http:\/\//), not(VARIABLE))), without('ca', 'clientCertificate', 'skipVerify')),
  when(is('skipVerify', true), without('ca')),
  when(
    has('credentials'),
    must('headers', {
      type: 'object',
      propertyNames: textWithout(/^[Aa][Uu][Tt][Hh][Oo][Rr][Ii][Zz][Aa][Tt][Ii][Oo][Nn]$/),
    }),
  ),
  must('clientCertificate.key', writtenSecret(/-----BEGIN [A-Z ]*PRIVATE KEY-----/)),
];

const mirrors = given('mirrors', { type: 'array', minItems: 1 });

const pullsAlone = any(
  not(has('capabilities')),
  given('capabilities', all(contains({ const: 'pull' }), contains({ const: 'resolve' }))),
);

export const RUNTIME_CONDITIONS: Readonly<Record<string, readonly JsonSchema[]>> = {
  'containerRuntime.containerd': [
    without('settings.version'),
    must('settings.disabled_plugins', not(contains({ enum: CRI_PLUGINS }))),
    must('settings.plugins', not({ type: 'object', ...criGroup() })),
  ],
  'containerRuntime.containerd.runtimes.*': [
    when(has('binary'), must('type', { const: 'io.containerd.runc.v2' })),
    without('options.SystemdCgroup', 'options.BinaryName'),
  ],
  'containerRuntime.containerd.registries[]': [
    must('host', textWithout(/^(?:index|registry-1|registry|hub)\.docker\.(?:io|com)$/)),
    when(
      is('fallback', false),
      all(mirrors, must('mirrors', contains({ type: 'object', ...pullsAlone })), without(...OF_THE_SERVER)),
      when(not(mirrors), all(atLeastOne(...OF_THE_SERVER), when(is('host', '_default'), has('server')))),
    ),
    ...endpoint('server'),
  ],
  'containerRuntime.containerd.registries[].mirrors[]': endpoint('url'),
  'images.archives[]': [
    exactlyOne('path', 'url'),
    when(given('url', not(VARIABLE)), has('sha256')),
    when(has('path'), without('headers')),
    credentialsOverTls('url'),
  ],
};

/** The key of containerd 1.2 with which CRI does not load. Its group has dots in its name. */
function criGroup(): JsonSchema {
  const name = 'io.containerd.grpc.v1.cri';
  return { properties: { [name]: { type: 'object', ...is('systemd_cgroup', true) } }, required: [name] };
}
