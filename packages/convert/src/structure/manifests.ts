import type { FileSection } from '@machineadm/document/host-parts/files.ts';
import { acceptsPatches, PATCH_TARGETS } from '@machineadm/document/kubernetes-releases/kubeadm.ts';
import { isMap } from '../values/map.ts';
import type { Lifting } from './lifting.ts';

const MANIFEST = /^\/etc\/kubernetes\/manifests\/([^/]+)\.yaml$/;

/**
 * Scripts that mount super-admin.conf into a static pod on the machine that starts the cluster, because admin.conf has
 * no permissions there yet (kube-vip issue 684; cluster-api-provider-vsphere templates): `adminKubeconfig: Auto` has
 * the same effect.
 */
const PREPARES = /\bsed\s[^\n]{0,300}super-admin\.conf[^\n]{0,300}(?:\\\n[^\n]{0,300})?\/etc\/kubernetes\/manifests\//;

/** Converts pods in the manifests directory to static pods of the control plane. */
export async function liftStaticPods(lifting: Lifting): Promise<void> {
  const { kubernetes } = lifting;
  if (kubernetes === undefined || kubernetes.role === 'Worker') return;
  const pods: { readonly file: FileSection; readonly name: string; readonly manifest: string }[] = [];
  for (const file of lifting.files) {
    const name = MANIFEST.exec(file.path)?.[1];
    const manifest = lifting.textOf(file, { isPrivate: true });
    const pod = name === undefined ? undefined : await lifting.yamlOf(file);
    if (name === undefined || manifest === undefined || !isMap(pod)) continue;
    if (pod.kind === 'Pod' && pod.apiVersion === 'v1') pods.push({ file, name, manifest });
  }
  if (pods.length === 0) return;
  const scripts = lifting.files.filter((file) => PREPARES.test(lifting.textOf(file, { isPrivate: true }) ?? ''));
  const auto = scripts.length > 0 || lifting.commands.some((command) => PREPARES.test(command));
  for (const { file } of pods) lifting.takeFile(file, 'kubernetes.controlPlane.staticPods');
  lifting.kubernetes = {
    ...kubernetes,
    controlPlane: {
      ...kubernetes.controlPlane,
      staticPods: pods.map(({ name, manifest }) => ({
        name,
        manifest,
        adminKubeconfig:
          auto && manifest.includes('/etc/kubernetes/admin.conf') ? ('Auto' as const) : ('AsWritten' as const),
      })),
    },
  };
  const field = 'adminKubeconfig: Auto';
  for (const script of scripts) takeScript(lifting, script, field);
  // As a command: only if it does nothing else.
  lifting.takeCommands(
    /^sed\s{1,9}-i\s{1,9}'s#[^'#]{0,200}admin\.conf#[^'#]{0,200}super-admin\.conf#'\s{1,9}\\?\s{0,9}\/etc\/kubernetes\/manifests\/[\w.-]+$/,
    field,
  );
}

/** The commands that would run the script are removed with it, once its directory is empty. */
function takeScript(lifting: Lifting, script: FileSection, field: string): void {
  lifting.takeFile(script, field);
  const quoted = escaped(script.path);
  lifting.takeCommands(new RegExp(`^(?:(?:sh|bash)\\s+)?${quoted}$`), field);
  const directory = script.path.slice(0, script.path.lastIndexOf('/'));
  if (lifting.files.some(({ path }) => path.startsWith(`${directory}/`))) return;
  lifting.takeCommands(new RegExp(`^mkdir\\s+-p\\s+${escaped(directory)}/?$`), field);
  lifting.takeCommands(
    new RegExp(
      `^for (\\w+) in \\$\\(find ${escaped(directory)}/? -name '\\*\\.sh' -type f \\| sort\\);? ?do (?:echo "[^"\`]*"; )?"?\\$\\1"?; done$`,
    ),
    field,
  );
}

type Kubeadm = NonNullable<NonNullable<NonNullable<Lifting['kubernetes']>['bootstrapper']>['kubeadm']>;
type Patch = Exclude<NonNullable<Kubeadm['patches']>, { directory: string }>[number];

const PATCH_NAME = new RegExp(
  `^(${Object.keys(PATCH_TARGETS).join('|')})([^+]*)(?:\\+(strategic|merge|json))?\\.(?:ya?ml|json)$`,
);

/** If all files of kubeadm's patches directory are known, they become patches (k/k cmd/kubeadm/app/util/patches). */
export async function liftPatches(lifting: Lifting): Promise<void> {
  const { kubernetes } = lifting;
  const kubeadm = kubernetes?.bootstrapper?.kubeadm;
  const given = kubeadm?.patches;
  if (kubernetes === undefined || given === undefined || Array.isArray(given)) return;
  const directory = given.directory.replace(/\/$/, '');
  const files = lifting.files
    .filter(({ path }) => path.startsWith(`${directory}/`))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1));
  const patches = await Promise.all(files.map(async (file) => patchOf(file, directory, await lifting.yamlOf(file))));
  if (files.length === 0 || patches.some((patch) => patch === undefined)) return;
  // kubeadm ignores the other targets there; the document refuses them.
  const useful = patches.flatMap((patch) =>
    patch === undefined || !acceptsPatches(patch.target, kubernetes.role) ? [] : [patch],
  );
  for (const file of files) lifting.takeFile(file, 'kubernetes.bootstrapper.kubeadm.patches');
  lifting.kubernetes = {
    ...kubernetes,
    bootstrapper: { kubeadm: { ...kubeadm, patches: useful.length === 0 ? undefined : useful } },
  };
}

function patchOf({ path }: FileSection, directory: string, content: unknown): Patch | undefined {
  const [, target, , type = 'strategic'] = PATCH_NAME.exec(path.slice(directory.length + 1)) ?? [];
  const fits = type === 'json' ? Array.isArray(content) : isMap(content);
  if (target === undefined || !fits) return undefined;
  return { target, type, patch: content } as Patch;
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
