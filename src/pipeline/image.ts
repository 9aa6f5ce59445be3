import type { LoadedDocument } from '@machineadm/document/loading/load.ts';
import type { Model } from '@machineadm/document/model/index.ts';
import { type Evidence, MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import type { Secret, SecretValue } from '@machineadm/document/secrets/secret.ts';
import type { Host } from '../host/seam/host.ts';
import { scopeOf } from '../owned-files/content.ts';
import { belongsToInstance } from './instance-paths.ts';

/** The part of a document that can go into an image: its model without what depends on the machine. */
export type ImagePart = Pick<LoadedDocument, 'model' | 'unresolved'>;

/** Parts that `prepare` leaves to `provision` anyway: unknown values do no harm there. */
const OF_THE_NODE = /^(metadata|secrets|kubernetes|reporting)\b|^host\.(hostname|storage|proxy|hooks)\b/;

/**
 * The parts of a document, loaded without resolving variables on this machine, that can be put into an image. Files and
 * time servers that depend on a variable are left out. Throws `InstanceInImage` where another value depends on one, or
 * where a file identifies a machine, and `SecretInImage` where a baked value is a secret or looks like one: an image is
 * on every machine, and readable by everyone who has it.
 */
export function imagePart({ model, unresolved }: Pick<LoadedDocument, 'model' | 'unresolved'>): ImagePart {
  const files = new Set<number>();
  const left: string[] = [];
  const ofInstance: string[] = [];
  let { time } = model.host;
  for (const path of new Set(unresolved)) {
    if (OF_THE_NODE.test(path)) continue;
    const file = /^host\.files\[(\d+)\]/.exec(path)?.[1];
    if (file !== undefined) files.add(Number(file));
    else if (path.startsWith('host.time.')) time = undefined;
    else {
      ofInstance.push(path);
      continue;
    }
    left.push(path);
  }
  if (ofInstance.length > 0) throw dependsOnMachine(ofInstance);
  const kept = model.host.files.filter(({ at }, index) => !files.has(at ?? index));
  const archives = model.host.archives.filter(({ at }) => !files.has(at));
  // The proxy is configured on each machine; the bake itself also uses it.
  const part: Model = {
    ...model,
    ofImage: true,
    host: { ...model.host, time, files: kept, archives, proxy: undefined },
  };
  refuseIdentity(part);
  refuseSecrets(part);
  return { model: part, unresolved: left };
}

/**
 * The host of an image bake: it resolves no secret, so no step can put one into the image. Steps treat a missing secret
 * as a pending change, which is left to the node. Nor does it encrypt what only the bake keeps.
 */
export function bakingHost(host: Host): Host {
  return Object.freeze({
    ...host,
    // The key of systemd would become a part of the image, the same on every machine.
    keepsPlain: 'an image is prepared, and the key of its machine would be that of every machine',
    async secret({ name }: SecretValue): Promise<Secret> {
      throw new MachineadmError({
        reason: 'SecretUnavailable',
        summary: `the secret ${name} is not resolved for an image`,
        remedy: 'machineadm provision resolves it on each machine.',
      });
    },
  });
}

function refuseIdentity({ host }: Model): void {
  const paths = host.files
    .filter((file) => scopeOf(file) === 'base' && belongsToInstance(file.path))
    .map(({ path }) => path);
  if (paths.length === 0) return;
  throw new MachineadmError({
    reason: 'InstanceInImage',
    summary: `the document would store files of a single machine in the image: ${paths.join(', ')}`,
    remedy: 'Move them from the document of the image to the document of the machines (machineadm provision).',
    evidence: paths.map((path) => ({ source: 'host.files', text: path })),
  });
}

function dependsOnMachine(paths: readonly string[]): MachineadmError {
  return new MachineadmError({
    reason: 'InstanceInImage',
    summary: `values for the image depend on variables of a single machine: ${paths.join(', ')}`,
    remedy: 'Write the values out, give the variables a literal value, or move them into the document of the machines.',
    evidence: paths.map((path) => ({ source: 'document', text: path })),
  });
}

/** Base values as text, by their name. References to secrets are left to the node. */
function* bakedTexts({ host, containerd }: Model): Generator<readonly [name: string, text: string]> {
  for (const file of host.files) {
    if (file.content.kind !== 'inline' || scopeOf(file) !== 'base') continue;
    yield [`the file ${file.path}`, Buffer.from(file.content.bytes).toString('utf8')];
  }
  for (const { name, dropIns } of host.services) {
    for (const dropIn of dropIns) yield [`the drop-in ${dropIn.name} of ${name}`, dropIn.content];
  }
  for (const { name, pem } of host.certificateAuthorities) yield [`the certificate authority ${name}`, pem];
  if (containerd !== undefined) yield ["containerd's settings", JSON.stringify(containerd.settings)];
}

function refuseSecrets(model: Model): void {
  const found: Evidence[] = [];
  for (const [name, text] of bakedTexts(model)) {
    if (redact(text) !== text)
      found.push({ source: 'document', text: `${name} holds a secret, or what looks like one` });
  }
  if (found.length === 0) return;
  throw new MachineadmError({
    reason: 'SecretInImage',
    summary: `the image would contain a secret: ${found.map(({ text }) => text).join('; ')}`,
    remedy:
      'Remove it from the document of the image. In the document of the machines, define it under secrets and refer to it, such as ' +
      'with contentFrom: {secret: name}: machineadm provision resolves it then.',
    evidence: found,
  });
}
