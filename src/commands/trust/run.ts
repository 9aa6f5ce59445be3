import type { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { exitCode } from '@machineadm/document/outcomes/exit-codes.ts';
import { publish } from '@machineadm/document/redaction/process-redactor.ts';
import { omitUndefined } from '@machineadm/document/values/defined.ts';
import { durationOf } from '../../cli/duration.ts';
import { type OutputFormat, printData, printNotice, printText } from '../../cli/output.ts';
import { usageError } from '../../cli/usage-error.ts';
import { writeOutputFile } from '../../host/local-files/output-file.ts';
import { defaultMemoryPath } from '../../trust/memory.ts';
import { bytesToSign, verifyNext, verifyRoot } from '../../trust/root.ts';
import { expiryOfRoot } from '../../trust/root-expiry.ts';
import { installRoots, makeRoot, readRoot, signWithFile, withSignatureIn, writeRoot } from '../../trust/root-files.ts';
import type { Signers, TrustRoot, TrustStore } from '../../trust/store.ts';
import { loadTrust } from '../../trust/trust-directory.ts';

export interface TrustCreateOptions {
  readonly name?: string;
  readonly follows?: string;
  readonly key?: readonly string[];
  readonly threshold?: string;
  readonly rootKey?: readonly string[];
  readonly rootThreshold?: string;
  readonly expires?: string;
}

/** `machineadm trust create`: writes a root without signatures. */
export async function trustCreate(path: string, options: TrustCreateOptions): Promise<number> {
  const { follows, expires } = options;
  const wish = {
    name: options.name,
    before: follows === undefined ? undefined : await readRoot(follows),
    keys: options.key,
    threshold: numberOf('--threshold', options.threshold),
    rootKeys: options.rootKey,
    rootThreshold: numberOf('--root-threshold', options.rootThreshold),
    validMs: expires === undefined ? undefined : durationOf('--expires', expires, 1000),
  };
  const root = await makeRoot(wish, new Date());
  await writeRoot(path, root);
  printText([...describe(root), `wrote ${path}, without signatures`].join('\n'));
  return exitCode('Success');
}

export interface TrustSignOptions {
  readonly privateKey?: string;
  readonly signature?: string;
  readonly key?: readonly string[];
  readonly bytes?: string;
}

/** `machineadm trust sign`: adds one signature to a root, or writes what a KMS signs. */
export async function trustSign(path: string, options: TrustSignOptions): Promise<number> {
  const { privateKey, signature, key = [], bytes } = options;
  if ([privateKey, signature, bytes].filter((one) => one !== undefined).length !== 1) {
    throw usage('give one of --private-key, --signature and --bytes');
  }
  const root = await readRoot(path);
  if (bytes !== undefined) {
    writeOutputFile(bytes, bytesToSign(root), '--bytes');
    printText(`wrote ${bytes}: sign it with ECDSA P-256 over SHA-256, and give the signature with --signature`);
    return exitCode('Success');
  }
  const signed =
    privateKey === undefined ? await withSignatureIn(root, signature ?? '', key) : await signWithFile(root, privateKey);
  await writeRoot(path, signed.root);
  const isOwn = root.root.keys.some(({ id }) => id === signed.keyId);
  printText(`signed ${path} with ${signed.keyId}`);
  if (!isOwn)
    printNotice(
      'machineadm: this key is not among the root keys in it: it counts only if it is one of the root before',
    );
  return exitCode('Success');
}

export interface TrustCheckOptions {
  readonly follows?: string;
  readonly trustDirectory: string;
  readonly memory?: string;
  readonly output: OutputFormat;
}

/** `machineadm trust check`: verifies a root, or shows what this machine trusts. */
export async function trustCheck(path: string | undefined, options: TrustCheckOptions): Promise<number> {
  const { follows, trustDirectory, memory, output } = options;
  if (path === undefined) {
    if (follows !== undefined) throw usage('--follows is for a file');
    const trust = await loadTrust([], trustDirectory, memory);
    await printTrust(trust, trust.roots?.chain.at(-1), describeStore(trust), output);
    return exitCode('Success');
  }
  const root = await readRoot(path);
  if (follows !== undefined) await verifyNext(await readRoot(follows), root, new Set(), path);
  const { keys } = await verifyRoot(root, new Set(), path);
  const by = keys.map(({ id }) => id).join(' and ');
  const verified = `verified ${path}${follows === undefined ? '' : `, follows ${follows}`}, signed by ${by}`;
  const trust = { ...root.lists, revoked: new Set<string>(), minimumVersion: undefined };
  await printTrust(trust, root, [...describe(root), verified], output);
  return exitCode('Success');
}

async function printTrust(
  trust: TrustStore,
  root: TrustRoot | undefined,
  lines: readonly string[],
  output: OutputFormat,
): Promise<void> {
  const warnings = root === undefined ? [] : expiryOfRoot(root, new Date());
  // Ids of keys look like secrets. Those of trusted keys are known to be public.
  for (const id of trust.revoked) publish(id);
  warn(warnings);
  if (output === 'text') {
    printText(lines.join('\n'));
    return;
  }
  const signers = ({ keys, threshold }: Signers) => ({ threshold, keys: keys.map(({ id }) => id) });
  const ofRoot =
    root === undefined
      ? {}
      : {
          name: root.name,
          version: root.version,
          createdAt: root.createdAt.toISOString(),
          ...omitUndefined({ expiresAt: root.expiresAt?.toISOString() }),
          root: signers(root.root),
        };
  await printData(output, 'TrustedKeys', {
    ...ofRoot,
    lists: signers(trust),
    revokedKeys: [...trust.revoked],
    ...omitUndefined({ minimumVersion: trust.minimumVersion }),
    warnings,
  });
}

/** `machineadm trust install`: trusts a root from then on, or the one that follows. */
export async function trustInstall(
  paths: readonly string[],
  options: { readonly trustDirectory: string; readonly memory?: string },
): Promise<number> {
  const { trustDirectory, memory = defaultMemoryPath() } = options;
  const { root, changed, warnings } = await installRoots(paths, trustDirectory, memory, new Date());
  warn(warnings);
  const done = changed ? 'installed' : 'is already installed:';
  printText(
    [...describe(root), `${changed ? '' : 'it '}${done} version ${root.version} in ${trustDirectory}`].join('\n'),
  );
  return exitCode('Success');
}

function describe({ name, version, expiresAt, root, lists }: TrustRoot): readonly string[] {
  const until = expiresAt === undefined ? 'does not expire' : `expires at ${expiresAt.toISOString()}`;
  return [
    `root "${name}", version ${version}, ${until}`,
    ...describeSigners('the next root needs', root),
    ...describeSigners('lists need', lists),
  ];
}

function describeStore({ roots, keys, threshold, revoked, minimumVersion }: TrustStore): readonly string[] {
  const root = roots?.chain.at(-1);
  return [
    ...(root === undefined ? describeSigners('lists need', { keys, threshold }) : describe(root)),
    ...[...revoked].map((id) => `revoked ${id}`),
    ...(minimumVersion === undefined ? [] : [`releases before ${minimumVersion} are refused`]),
  ];
}

function describeSigners(what: string, { keys, threshold }: Signers): readonly string[] {
  return [`${what} ${threshold} of ${keys.length} keys`, ...keys.map(({ id }) => `  ${id}`)];
}

function warn(warnings: readonly string[]): void {
  for (const warning of warnings) printNotice(`machineadm: warning: ${warning}`);
}

function numberOf(option: string, text: string | undefined): number | undefined {
  if (text === undefined || /^[1-9]$/.test(text)) return text === undefined ? undefined : Number(text);
  throw usage(`${option}: "${text}" is not a number from 1 to 9`);
}

function usage(summary: string): MachineadmError {
  return usageError(summary, 'Correct the options.');
}
