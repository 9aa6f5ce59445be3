import type { Model } from '@machineadm/document/model/index.ts';
import { MachineadmError } from '@machineadm/document/outcomes/errors.ts';
import { dropInPath } from '@machineadm/document/ownership/drop-ins.ts';
import { lastLine } from '@machineadm/document/text/printable.ts';
import type { CommandResult, Host, QueryHost } from '../../host/seam/host.ts';
import type { Resource } from '../../host/seam/resource.ts';
import { absentModules, canonicalModule, isInKernel, moduleOfFile } from '../../kernel/loaded-modules.ts';
import { isAsWritten, type OwnFile, readOwnFile } from '../../owned-files/difference.ts';
import { isInImage, putDropIn, readImageDropIns } from '../../owned-files/image-drop-ins.ts';
import { textDiff } from '../../owned-files/text-diff.ts';
import type { FeatureStep } from '../../step/feature-step.ts';
import type { Change, Execution, UnmetRequirement } from '../../step/index.ts';
import { isAt } from '../../step/wants.ts';

export interface KernelModulesDesired {
  /** The drop-in of the document. */
  readonly path: string;
  /** True for a document that is applied to an image. */
  readonly ofImage: boolean;
  readonly names: readonly string[];
}

export interface KernelModulesActual {
  /** Of the wanted modules, those that are neither loaded nor built in. */
  readonly absent: ReadonlySet<string>;
  readonly file: OwnFile;
  /** Whether the image loads all of them at boot, so that the document needs no drop-in. */
  readonly isInImage: boolean;
}

export type KernelModulesPayload =
  | { readonly kind: 'file'; readonly path: string; readonly content: string | undefined }
  | { readonly kind: 'load'; readonly module: string };

/**
 * Loads kernel modules now and at every boot. The list is a property of the image (`base`); loading them is a property
 * of the running kernel (`node`), so that an image bake never loads a module into the builder's kernel.
 */
export const kernelModules: FeatureStep<KernelModulesDesired, KernelModulesActual, KernelModulesPayload> = {
  id: 'kernel-modules',
  section: 'host.kernelModules',
  stays({ host }, { acted = [], memory }) {
    const loaded = [...acted].flatMap((change) => {
      const [, module] = /^kernel-modules\/load\/(.+)$/.exec(change) ?? [];
      return module === undefined ? [] : [{ change, module }];
    });
    return loaded
      .filter(({ module }) => !host.kernelModules.some((name) => name.replaceAll('-', '_') === module))
      .filter(({ module }) => !memory.others(`module:${module}`, 'kernel-modules'))
      .map(({ change, module }) => [
        change,
        `the kernel module ${module} stays loaded until the next boot: programs may use it unnoticed`,
      ]);
  },
  isRequested: (model, { kind, name }) => kind === 'module' || ownedPaths(model).some((path) => isAt(path, name)),
  owned: ownedPaths,

  desired(model) {
    const names = [...new Set(model.host.kernelModules.map(canonicalModule))];
    if (names.length === 0) return undefined;
    return { path: dropInPath('modules', model), ofImage: model.ofImage === true, names };
  },

  async preflight(host, { names }) {
    const absent = await absentModules(host, names);
    const found: UnmetRequirement[] = [];
    for (const module of absent) {
      const error = await whyNotLoadable(host, module);
      if (error === undefined) continue;
      const { reason, message: what, remedy, evidence } = error;
      found.push({ reason, what, remedy, evidence, change: `kernel-modules/load/${module}`, scope: 'node' });
    }
    return found;
  },

  async inspect(host, { path, ofImage, names }, record) {
    const image = ofImage ? [] : await readImageDropIns(host, 'modules', record);
    return {
      absent: await absentModules(host, names),
      file: await readOwnFile(host, path),
      isInImage: isInImage(modulesFile(names), image),
    };
  },

  plan({ path, names }, actual) {
    const changes: Change<KernelModulesPayload>[] = [];
    const content = actual.isInImage ? undefined : modulesFile(names);
    if (!isAsWritten(actual.file, content)) {
      changes.push({
        id: 'kernel-modules/file',
        summary:
          content === undefined
            ? `remove ${path}: the image loads these modules`
            : `load at every boot: ${names.join(', ')} (${path})`,
        diff: textDiff(actual.file.text ?? '', content ?? ''),
        scope: 'base',
        payload: { kind: 'file', path, content },
      });
    }
    for (const module of names) {
      if (!actual.absent.has(module)) continue;
      changes.push({
        id: `kernel-modules/load/${module}`,
        summary: `load ${module}`,
        action: 'add',
        scope: 'node',
        ineffective: 'ModuleMissing',
        payload: { kind: 'load', module },
      });
    }
    return changes;
  },

  async apply(host, change, execution) {
    const { payload } = change;
    if (payload.kind === 'load') return await load(host, payload.module, execution);
    await putDropIn(host, payload);
  },

  async settled(host, { names }, execution) {
    await host.sync('/etc/modules-load.d');
    if ((await host.which('modprobe')) === undefined) return;
    const configuration = (await host.query({ program: 'modprobe', args: ['-c'] })).stdout;
    for (const module of names) {
      // An explicit modprobe ignores `blacklist`, but systemd-modules-load honours it (src/modules-load/modules-load.c).
      if (!isListed(configuration, 'blacklist', module)) continue;
      execution.warn(`${module} is on modprobe's blacklist: systemd-modules-load will not load it at the next boot`);
    }
  },
};

function modulesFile(modules: readonly string[]): string {
  return `# Written by machineadm.\n${modules.map((module) => `${module}\n`).join('')}`;
}

async function load(host: Host, module: string, execution: Execution): Promise<void> {
  if ((await host.which('modprobe')) === undefined) throw noModprobe(module);
  const changes = await loadedWith(host, module);
  const result = await host.run({ program: 'modprobe', args: ['--', module], signal: execution.signal, changes });
  if (result.status === 0 && (await isInKernel(host, module))) return;
  // `install br_netfilter /bin/true` makes modprobe exit 0 without loading anything: so its status proves nothing.
  throw (await denied(host, module)) ?? notLoaded(module, result);
}

/** What loading a module would fail with, as far as modprobe tells without loading it. */
async function whyNotLoadable(host: QueryHost, module: string): Promise<MachineadmError | undefined> {
  if ((await host.which('modprobe')) === undefined) return noModprobe(module);
  const denial = await denied(host, module);
  if (denial !== undefined) return denial;
  const result = await host.query({ program: 'modprobe', args: ['-n', module] });
  return result.status === 0 ? undefined : notLoaded(module, result);
}

function noModprobe(module: string): MachineadmError {
  return new MachineadmError({
    reason: 'ModuleMissing',
    summary: `The kernel module ${module} is neither loaded nor built in, and modprobe is not installed to load it.`,
    remedy: `Install kmod and the module package of this kernel, or remove ${module} from host.kernelModules.`,
  });
}

async function denied(host: QueryHost, module: string): Promise<MachineadmError | undefined> {
  const configuration = (await host.query({ program: 'modprobe', args: ['-c'] })).stdout;
  const line = denyLine(configuration, module);
  if (line === undefined) return undefined;
  return new MachineadmError({
    reason: 'ModuleDenied',
    summary: `The modprobe configuration of this machine denies the kernel module ${module}.`,
    remedy: `Remove the line "install ${module} …" from /etc/modprobe.d (a hardening profile puts it there).`,
    evidence: [{ source: 'modprobe -c', text: line }],
  });
}

function notLoaded(module: string, { status, stderr }: CommandResult): MachineadmError {
  const said = lastLine(stderr);
  return new MachineadmError({
    reason: 'ModuleMissing',
    summary:
      status === 0
        ? `modprobe succeeded, but no kernel module named ${module} is loaded.`
        : `The kernel module ${module} could not be loaded.`,
    remedy:
      status === 0
        ? `${module} is perhaps an alias: name the module that lsmod shows.`
        : 'Install the module package of the running kernel (linux-modules-extra, kernel-modules), or use a kernel with it.',
    evidence: said === '' ? [] : [{ source: `modprobe ${module}`, text: said }],
  });
}

/** A module with those that it depends on, these first: `modprobe -D` prints the paths in the order of loading. */
async function loadedWith(host: QueryHost, module: string): Promise<readonly Resource[]> {
  const { stdout } = await host.query({ program: 'modprobe', args: ['-D', module] });
  const names = [...stdout.matchAll(/^insmod (\S+)/gm)].flatMap(([, path = '']) => moduleOfFile(path) ?? []);
  return [...new Set([...names, module])].map((name) => `module:${name}` as const);
}

/**
 * The line of `modprobe -c` because of which loading a module runs a program that loads nothing: CIS benchmarks deny a module by
 * `install NAME /bin/false` (modprobe.d(5)).
 */
function denyLine(configuration: string, module: string): string | undefined {
  return configuration.split('\n').find((line) => {
    const [word, name = '', program = ''] = line.trim().split(/\s+/);
    return (
      word === 'install' && canonicalModule(name) === module && /^(\/usr)?\/s?bin\/(false|true|nologin)$/.test(program)
    );
  });
}

function isListed(configuration: string, keyword: string, module: string): boolean {
  return configuration.split('\n').some((line) => {
    const [word, name = ''] = line.trim().split(/\s+/);
    return word === keyword && canonicalModule(name) === module;
  });
}

function ownedPaths(model: Model): readonly string[] {
  return model.host.kernelModules.length > 0 ? [dropInPath('modules', model)] : [];
}
