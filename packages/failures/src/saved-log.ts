import type { LineSource } from './catalogue.ts';
import { parseJournalLine } from './journal-entry.ts';
import { CONSOLE_PREFIX, CRI_PREFIX, JOURNAL_PREFIX, type ObservedLine, withoutControls } from './observed-line.ts';

/** Where the lines are from that say nothing of it themselves. */
export interface Section {
  readonly source: LineSource;
  readonly origin: string;
}

const KUBEADM: Section = { source: 'kubeadm', origin: 'kubeadm' };

/**
 * Reads a saved log: a console, cloud-init-output.log, a journal (short, short-iso, short-precise or JSON), a container's
 * log, kubeadm's own output, or all of them in one file. What a line is, is told line by line, as logs come mixed: by
 * the prefix of its carrier, else by kubeadm's own manner of speaking, else by the section it stands in
 * (`-- journal: kubelet.service --`), else by the name of the file. Lines are numbered from 1.
 */
export function readSavedLog(text: string, fileName = ''): readonly ObservedLine[] {
  let section = sectionOfFile(fileName);
  return text.split('\n').flatMap((raw, index): readonly ObservedLine[] => {
    section = sectionAfter(raw, section);
    return observedLines(raw, index + 1, section);
  });
}

/** The section from this line on: a header begins another one. */
export function sectionAfter(raw: string, section: Section): Section {
  const header = raw.startsWith('-') ? SECTION.exec(withoutControls(raw)) : null;
  return header === null ? section : sectionOfHeader(header[1] ?? '', header[2] ?? '');
}

/** What was observed in a line of a section: nothing in a header, several lines in an entry of a journal that holds them. */
export function observedLines(raw: string, number: number, section: Section): readonly ObservedLine[] {
  const line = withoutControls(raw);
  if (line.trim() === '' || SECTION.test(line) || JOURNAL_REMARK.test(line)) return [];
  const seen = recognise(line, section);
  return seen.text.split('\n').map((text) => ({ ...seen, text, line: number }));
}

const SECTION = /^-- (kubeadm|journal|container)(?::? (\S+))? --\s*$/;
/** What journalctl itself says between the entries. */
const JOURNAL_REMARK = /^-- (No entries|Boot [0-9a-f]{32}|Reboot|Logs begin|Journal begins|cursor:).*$/;

/** How kubeadm speaks, and nothing else does: phases in brackets, its checks, its last words. */
const KUBEADM_VOICE =
  /^\s*(?:\[(?:preflight|init|certs|kubeconfig|kubelet-start|kubelet-check|control-plane|control-plane-check|api-check|etcd|wait-control-plane|apiclient|upload-config|upload-certs|mark-control-plane|bootstrap-token|kubelet-finalize|addons|discovery|download-certs|check-etcd|kubelet-wait-bootstrap|kubelet|reset)\] |\[(?:ERROR|WARNING) [\w.-]+\]: |(?:error: )?error execution phase |To see the stack trace of this error)/;

/** klog lines of files that only the kubelet has (k/k pkg/kubelet), for a journal that was saved with `-o cat`. */
const KUBELET_VOICE =
  /^[IWEF]\d{4} [\d:.]+ +\d+ (?:kubelet_node_status|pod_workers|remote_runtime|remote_image|kuberuntime_\w+|reconciler|eviction_manager|container_manager_linux|cpu_manager|plugin_manager|topology_manager|kubelet_volumes|kubelet_getters|pod_container_deletor|cgroup_manager_linux|certificate_manager|node_container_manager_linux|cri_stats_provider|nodelease|desired_state_of_world_populator)\.go:\d+\]|^[IWEF]\d{4} [\d:.]+ +\d+ kubelet\.go:\d{4}\]|^[EF]\d{4} [\d:.]+ +\d+ (?:run|server)\.go:\d+\] .{0,60}[Kk]ubelet /;

/** etcd's log before 3.5 (capnslog), and both formats' own JSON. */
const ETCD_VOICE = /^(?:\d{4}-\d{2}-\d{2} [\d:.]+ [IWECND] \| [\w/]+: |\{"level":"\w+","ts":)/;

function recognise(line: string, section: Section): ObservedLine {
  if (line.startsWith('{')) {
    const entry = parseJournalLine(line);
    if (entry !== undefined) return { ...byIdentifier(entry.identifier, section), text: entry.message };
    const message = dockerMessage(line);
    if (message !== undefined) return { ...containerOf(section), text: message };
  }
  if (CRI_PREFIX.test(line)) return { ...containerOf(section), text: line };
  const journal = JOURNAL_PREFIX.exec(line);
  if (journal !== null) return { ...byIdentifier(journal[1] ?? '', section), text: line };
  const console = CONSOLE_PREFIX.exec(line);
  if (console !== null) {
    const identifier = console[1];
    return { ...(identifier === undefined ? KERNEL : byIdentifier(identifier, section)), text: line };
  }
  if (KUBEADM_VOICE.test(line)) return { ...KUBEADM, text: line };
  if (KUBELET_VOICE.test(line)) return { ...KUBELET, text: line };
  if (section.source === 'kubeadm' && ETCD_VOICE.test(line)) return { ...containerNamed('etcd'), text: line };
  return { ...section, text: line };
}

const KUBELET: Section = { source: 'kubelet', origin: 'journal of kubelet' };
const CONTAINERD: Section = { source: 'containerd', origin: 'journal of containerd' };
const SYSTEMD: Section = { source: 'systemd', origin: 'service manager' };
const KERNEL: Section = { source: 'kernel', origin: 'kernel' };

const IDENTIFIERS: Readonly<Record<string, Section>> = {
  kubelet: KUBELET,
  containerd: CONTAINERD,
  systemd: SYSTEMD,
  kernel: KERNEL,
};

/** Who said it, by the journal's identifier. Whatever ran kubeadm (cloud-init, a unit, a shell) speaks for kubeadm. */
function byIdentifier(identifier: string, section: Section): Section {
  const known = IDENTIFIERS[identifier];
  if (known !== undefined) return known;
  // A line of another program within a unit's journal: containerd-shim, a plug-in.
  return section.source === 'containerd' || section.source === 'kubelet' ? section : KUBEADM;
}

function sectionOfHeader(kind: string, name: string): Section {
  if (kind === 'kubeadm') return KUBEADM;
  if (kind === 'container') return containerNamed(name);
  return IDENTIFIERS[name.replace(/\.service$/, '')] ?? KUBEADM;
}

/** By the name of a file, or the directory of a pod's logs: `/var/log/pods/kube-system_etcd-cp-1_UID/etcd/0.log`. */
export function sectionOfFile(path: string): Section {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase();
  if (/^(kernel|dmesg)\b/.test(name)) return KERNEL;
  const component = COMPONENT.exec(name)?.[1] ?? /\/(\w[\w-]{1,40})\/\d{1,4}\.log$/.exec(path)?.[1];
  if (component !== undefined) return containerNamed(component);
  return IDENTIFIERS[/^(?:journal(?:ctl)?[-_.])?(kubelet|containerd)\b/.exec(name)?.[1] ?? ''] ?? KUBEADM;
}

const COMPONENT =
  /^(?:(?:container|crictl|log|logs|pod)[-_.])?(etcd|kube-apiserver|kube-controller-manager|kube-scheduler)\b/;

function containerNamed(name: string): Section {
  return { source: 'container', origin: `log of container ${name}` };
}

function containerOf(section: Section): Section {
  return section.source === 'container' ? section : { source: 'container', origin: 'log of a container' };
}

/** Docker's json-file driver: `{"log":"…\n","stream":"stderr","time":"…"}`. */
function dockerMessage(line: string): string | undefined {
  try {
    const entry: unknown = JSON.parse(line);
    if (typeof entry !== 'object' || entry === null || !('log' in entry) || !('stream' in entry)) return undefined;
    return typeof entry.log === 'string' ? entry.log.trimEnd() : undefined;
  } catch {
    return undefined;
  }
}
