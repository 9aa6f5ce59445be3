import { hash } from 'node:crypto';
import {
  KUBEADM_CONFIG_MODE,
  KUBEADM_PATCHES_DIRECTORY,
  KUBEADM_RUN_DIRECTORY_MODE,
  OWN_PATCH,
} from '@machineadm/document/ownership/kubernetes-paths.ts';
import type { StepId } from '@machineadm/document/ownership/step-ids.ts';
import { redact } from '@machineadm/document/redaction/process-redactor.ts';
import { parseVersion } from '@machineadm/document/text/program-version.ts';
import { formatMode } from '@machineadm/document/text/units.ts';
import { member } from '@machineadm/document/values/untyped.ts';
import type { Host, QueryHost } from '../../host/seam/host.ts';
import type { KubeadmFile } from '../../kubernetes/kubeadm/config.ts';
import {
  type KubeadmConfigInput,
  kubeadmConfigPath,
  kubeadmFiles,
  kubeadmSecrets,
  renderRedacted,
} from '../../kubernetes/kubeadm/config.ts';
import { canValidate, validateConfig } from '../../kubernetes/kubeadm/validate.ts';
import { located } from '../../kubernetes/runtime-socket.ts';
import { textDiff } from '../../owned-files/text-diff.ts';
import { type FeatureStep, STAYS } from '../../step/feature-step.ts';
import type { Change } from '../../step/index.ts';

/** Without kubeadm on the machine, its version is assumed to be the document's: the step kubeadm refuses a run unless hooks bring it. */
export type KubeadmConfigDesired = Omit<KubeadmConfigInput, 'kubeadm'> &
  Partial<Pick<KubeadmConfigInput, 'kubeadm'>> & {
    /**
     * Set if hooks of this document are to install kubeadm: they also edit the configuration, often in the group that
     * installs kubeadm.
     */
    readonly installedBy?: StepId;
  };

export interface KubeadmConfigActual {
  readonly files: readonly {
    readonly wanted: KubeadmFile;
    /** undefined when it does not exist. */
    readonly text: string | undefined;
    readonly mode: number | undefined;
    /** True when it differs, but was as wanted when we wrote it: a hook has edited it since. */
    readonly edited: boolean;
  }[];
  /** Our patches of an earlier, unfinished run that this document does not have: kubeadm would apply them. */
  readonly stale: readonly string[];
  /** Paths of files with secrets whose resolution has side effects, on a read-only host. */
  readonly unknown: readonly string[];
}

export interface KubeadmConfigPayload {
  readonly input: KubeadmConfigInput;
  readonly path: string;
  readonly installedBy?: StepId;
}

/**
 * kubeadm's configuration, in the format of the installed kubeadm, and the patches beside it. Hooks may edit it
 * afterwards: kubeadm reads the file on disk, and a later run of an unfinished bootstrap keeps their edits. It contains
 * tokens, so it is readable by root only and in memory.
 */
export const kubeadmConfig: FeatureStep<KubeadmConfigDesired, KubeadmConfigActual, KubeadmConfigPayload> = {
  id: 'kubeadm-config',
  section: 'kubernetes',
  isRequested: STAYS,

  desired(model, facts) {
    const { containerd } = model;
    if (model.kubernetes === undefined || model.kubernetes.exec !== undefined) return undefined;
    const kubernetes = located(model.kubernetes, model, facts);
    const cgroupDriver = containerd?.cgroupDriver;
    if (facts.kubeadm !== undefined) return { kubernetes, cgroupDriver, kubeadm: facts.kubeadm };
    const assumed = parseVersion(kubernetes.version);
    if (assumed === undefined) return { kubernetes, cgroupDriver };
    const { early, beforeBootstrap } = model.host.hooks;
    const hook =
      early !== undefined ? 'hooks-early' : beforeBootstrap !== undefined ? 'hooks-before-bootstrap' : undefined;
    return { kubernetes, cgroupDriver, kubeadm: assumed, ...(hook === undefined ? {} : { installedBy: hook }) };
  },

  secrets(desired) {
    const input = complete(desired);
    return input === undefined ? [] : kubeadmSecrets(input);
  },

  async inspect(host, desired, record) {
    const input = complete(desired);
    if (input === undefined || record.bootstrap === 'done') return { files: [], stale: [], unknown: [] };
    const files: KubeadmConfigActual['files'][number][] = [];
    const rendered = await kubeadmFiles(host, input);
    const redacted = renderRedacted(input);
    const stale = await stalePatches(host, new Set(redacted.files.map(({ path }) => path)));
    if (rendered === undefined) return { files: [], stale, unknown: [kubeadmConfigPath(redacted.command)] };
    for (const wanted of rendered) {
      const { path, content } = wanted.file;
      const text = await host.readText(path);
      const written = member(record.notes.get(changeId(path)), 'sha256');
      const edited = text !== undefined && text !== content && written === hash('sha256', content);
      files.push({ wanted, text, mode: (await host.stat(path))?.mode, edited });
    }
    return { files, stale, unknown: [] };
  },

  plan(desired, { files, stale, unknown }) {
    const input = complete(desired);
    if (input === undefined) return [];
    const changes: Change<KubeadmConfigPayload>[] = [];
    const { installedBy } = desired;
    const knownAfter = installedBy ?? (input.kubernetes.node.addresses === undefined ? undefined : 'node-addresses');
    for (const { wanted, text, mode, edited } of files) {
      const { path, content, mode: wantedMode } = wanted.file;
      if (edited || (text === content && mode === wantedMode)) continue;
      // The existing file may contain tokens of an earlier document, which are not known by value: they are detected by
      // their form.
      changes.push({
        id: changeId(path),
        summary: `${path}: ${text === undefined ? 'create' : text === content ? 'mode' : 'content'}, ${formatMode(wantedMode)}`,
        diff: text === content ? undefined : textDiff(redact(text ?? ''), redact(wanted.shown)) || undefined,
        scope: 'node',
        // A rewritten file lacks the edits of hooks in an earlier, unfinished run: they run again.
        repeatable: false,
        undoes: ['hooks-before-bootstrap'],
        ineffective: 'FileNotWritten',
        ...(knownAfter === undefined ? {} : { knownAfter }),
        payload: { input, path, ...(installedBy === undefined ? {} : { installedBy }) },
      });
    }
    for (const path of stale) {
      const summary = `${path}: remove, the document no longer requests it`;
      changes.push({ id: changeId(path), summary, action: 'remove', scope: 'node', payload: { input, path } });
    }
    for (const path of unknown) {
      const action = 'change';
      const summary = `${path}: compare and write, ${formatMode(KUBEADM_CONFIG_MODE)}`;
      const payload = { input, path };
      changes.push({ id: changeId(path), summary, action, scope: 'node', knownAfter: 'secrets', payload });
    }
    return changes;
  },

  async apply(host, { payload }, execution) {
    const { input, path, installedBy } = payload;
    const found = (await kubeadmFiles(host, input)).find(({ file }) => file.path === path);
    if (found === undefined) return await host.removeFile(path);
    const file = { ...found.file, directoryMode: KUBEADM_RUN_DIRECTORY_MODE };
    const isConfig = path === kubeadmConfigPath('init') || path === kubeadmConfigPath('join');
    if (isConfig && installedBy === undefined && canValidate(input.kubeadm))
      await validateConfig(host, file, execution.signal);
    await host.writeFile(file);
    // After the write: a note about a file that was never written would make an old file look edited.
    execution.remember({ sha256: hash('sha256', file.content) });
  },

  afterHooks: {
    async renew(host, desired, record, execution) {
      const notes = new Map<string, unknown>();
      const input = complete(desired);
      if (input === undefined || record.bootstrap === 'done') return notes;
      for (const { file } of await kubeadmFiles(host, input)) {
        const { path, content } = file;
        const text = await host.readText(path);
        const written = member(record.notes.get(changeId(path)), 'sha256');
        if (written === hash('sha256', content)) continue;
        if (text === undefined || written === hash('sha256', text)) {
          await host.writeFile({ ...file, directoryMode: KUBEADM_RUN_DIRECTORY_MODE });
        } else {
          // Their edits cannot be applied to other content, and a later kubeadm reads the same file as the earlier one.
          execution.warn(
            `${path} stays as the hooks edited it; without them it would be written for kubeadm ${input.kubeadm.text}`,
          );
        }
        notes.set(changeId(path), { sha256: hash('sha256', content) });
      }
      if (canValidate(input.kubeadm)) await validateWritten(host, input, execution.signal);
      return notes;
    },
  },
};

/** kubeadm was not installed when its configuration was written. */
async function validateWritten(host: Host, input: KubeadmConfigInput, signal: AbortSignal): Promise<void> {
  const path = kubeadmConfigPath(renderRedacted(input).command);
  const content = await host.readText(path);
  if (content !== undefined) await validateConfig(host, { path, content, mode: KUBEADM_CONFIG_MODE }, signal);
}

async function stalePatches(host: QueryHost, wanted: ReadonlySet<string>): Promise<readonly string[]> {
  const names = (await host.list(KUBEADM_PATCHES_DIRECTORY)) ?? [];
  // A hook may have put patches there.
  const ours = names.filter((name) => OWN_PATCH.test(name));
  return ours.map((name) => `${KUBEADM_PATCHES_DIRECTORY}/${name}`).filter((path) => !wanted.has(path));
}

function changeId(path: string): string {
  return `kubeadm-config/${path}`;
}

function complete(desired: KubeadmConfigDesired): KubeadmConfigInput | undefined {
  const { kubeadm } = desired;
  return kubeadm === undefined ? undefined : { ...desired, kubeadm };
}
