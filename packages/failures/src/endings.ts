import { NOISE, ORDINARY_ERRORS } from './catalogue.ts';
import { lastWords } from './last-words.ts';
import type { ObservedLine } from './observed-line.ts';

/** A component whose end makes others fail, and how its log shows that it works. */
interface Component {
  readonly name: string;
  /** Its process starts: what an earlier one said does not explain its end. */
  readonly starts?: RegExp;
  /** It works: whatever ended it before was overcome. */
  readonly works: RegExp;
}

const KUBELET: Component = {
  name: 'kubelet',
  starts: /"Kubelet version"|^Started kubelet\.service|^Started kubelet: /,
  works: /Starting kubelet main sync loop/,
};
const CONTAINERD: Component = {
  name: 'containerd',
  starts: /msg="starting containerd/,
  works: /containerd successfully booted/,
};
const CONTAINERS: readonly Component[] = [
  { name: 'etcd', works: /ready to serve client requests|serving client traffic/ },
  { name: 'kube-apiserver', works: /Serving securely on / },
  { name: 'kube-controller-manager', works: /successfully acquired lease/ },
  { name: 'kube-scheduler', works: /successfully acquired lease/ },
];

/** A log that does not say whose it is. */
const SOME_CONTAINER: Component = {
  name: 'container',
  works: /ready to serve client requests|serving client traffic|Serving securely on |successfully acquired lease/,
};

/** The API server accepted the Node, so that the kubelet, etcd and the API server work. */
const REGISTERED = /Successfully registered node/;

/**
 * The last line of a process: klog's F (up to 1.23), component-base cli/run.go (from 1.23 on), the errors after which the
 * kubelet exits by itself (k/k pkg/kubelet/kubelet.go and kuberuntime_manager.go, read in 1.34 and 1.36), Go's panic,
 * cobra and flag, zap, logrus, and the log of etcd before 3.5.
 */
const FATAL =
  /^F\d{4} |"command failed"|"(?:Failed to start (?:ContainerManager|cAdvisor)|Kubelet failed to get node info|Failed to initialize internal modules|Failed to register CRI auth plugins|Failed to create a new kubelet configuration)"|^panic: |^fatal error: |^Error: |^error: |^flag provided but not defined|"level":"fatal"|level=fatal |^containerd: |^[\d-]{10} [\d:.]{8,15} [CF] \| /;
const ERROR =
  /^E\d{4} |level=error |"level":"error"|level=warning msg="failed to load plugin".{0,800} id=io\.containerd\.(?:grpc|cri|podsandbox|sandbox|runtime|service)\./;
/** Files of the kubelet whose errors do not end it: it tries again. */
const GOES_ON =
  /^E\d{4} [\d:. ]{8,32} (?:pod_workers|kubelet_node_status|certificate_manager|remote_\w+|kuberuntime_\w+|container_manager_linux)\.go:/;
/** The end of a component that waited for another one explains less than that of the other. */
const WAITED = /context deadline exceeded"?$/;
/** systemd, src/core/service.c service_sigchld_event. */
const EXIT = /^(kubelet|containerd)\.service: Main process exited, code=(exited|killed|dumped), status=(\d+)\/(\S+)/;
/** k/k pkg/kubelet/kuberuntime: a container that ended and is started again later. */
const CRASH_LOOP =
  /failed to \\*"StartContainer\\*" for \\*"(etcd|kube-apiserver|kube-controller-manager|kube-scheduler)\\*" with CrashLoopBackOff/;
/** Without its kubeconfig or its configuration the kubelet ends until kubeadm has written them. */
const WAITS = /unable to load bootstrap kubeconfig: /;

/** Texts of the lines that show how a process began, worked and ended. */
export const ENDING_TEXTS: readonly string[] = [
  ...['"Kubelet version"', 'Started kubelet', 'Starting kubelet main sync loop', 'Successfully registered node'],
  ...['msg="starting containerd', 'containerd successfully booted', 'ready to serve client requests'],
  ...['serving client traffic', 'Serving securely on ', 'successfully acquired lease', ': Main process exited, '],
  ...['"command failed"', 'Failed to start ContainerManager', 'Failed to start cAdvisor', 'failed to get node info"'],
  ...['initialize internal modules"', 'register CRI auth plugins"', 'a new kubelet configuration"', 'panic: '],
  ...['fatal error: ', '"level":"fatal"', 'level=fatal ', 'containerd: ', 'flag provided but not defined'],
  ...['"failed to load plugin"', 'with CrashLoopBackOff'],
];

/** After one kill a service may have recovered; this many are no accident. */
const LEAST_KILLS = 2;
/** An error that more lines follow was not the end. */
const MOST_AFTER_ERROR = 2;
const LONGEST_MESSAGE = 1500;
/** A message over several lines: klog ends it with ` >`. */
const MOST_LINES_OF_MESSAGE = 12;

/**
 * What ended, and its last error: `kubelet exits: MESSAGE`. A line for each component that ended and did not come up again,
 * and one for each service that was killed repeatedly. `lines` are cleaned.
 */
export function endings(lines: readonly ObservedLine[]): readonly ObservedLine[] {
  const watches = new Map<string, Watch>();
  const watchOf = (component: Component): Watch => {
    const watch = watches.get(component.name) ?? new Watch(component);
    watches.set(component.name, watch);
    return watch;
  };
  const loops = new Map<string, ObservedLine>();
  for (const line of lines) {
    const component = componentOf(line);
    if (component === undefined) continue;
    watchOf(component).observe(line);
    if (line.source !== 'kubelet') continue;
    const loop = CRASH_LOOP.exec(line.text)?.[1];
    if (loop !== undefined) loops.set(loop, line);
    if (REGISTERED.test(line.text)) for (const name of ['etcd', 'kube-apiserver']) loops.delete(name);
  }
  const found = [...watches.values()].flatMap((watch) => watch.found());
  const explained = new Set(found.map(({ text }) => text.slice(0, text.indexOf(' '))));
  const looping = [...loops].filter(([name]) => !explained.has(name));
  return [
    ...found,
    ...looping.map(([name, line]) => derived(line, `${name} exits again and again (CrashLoopBackOff)`)),
  ];
}

function componentOf({ source, origin, text }: ObservedLine): Component | undefined {
  if (source === 'kubelet') return KUBELET;
  if (source === 'containerd') return CONTAINERD;
  if (source === 'systemd') {
    const name = /^(?:Started )?(kubelet|containerd)(?:\.service)?: /.exec(text)?.[1] ?? EXIT.exec(text)?.[1];
    if (name !== undefined) return name === 'kubelet' ? KUBELET : CONTAINERD;
    return /^Started kubelet\.service/.test(text) ? KUBELET : undefined;
  }
  if (source !== 'container') return undefined;
  if (origin.startsWith('log of a container')) return SOME_CONTAINER;
  const name = /^log of container ([\w-]+)/.exec(origin)?.[1];
  return CONTAINERS.find((component) => component.name === name);
}

function derived(line: ObservedLine, text: string): ObservedLine {
  return { ...line, source: 'end', text, original: line.original ?? line.text };
}

/** Follows the processes of one component, one after the other. */
class Watch {
  readonly #component: Component;
  /** The line that ended the present process, or else its last error. */
  #fatal: ObservedLine | undefined;
  #error: ObservedLine | undefined;
  /** Lines since the last error. */
  #since = 0;
  #works = false;
  /** It ends because kubeadm has not written its files yet. */
  #waits = false;
  #ended: { readonly line: ObservedLine; readonly worked: boolean } | undefined;
  #kills = 0;
  #lastKill: ObservedLine | undefined;
  #signal = '';
  /** The lines of a message that continues. */
  #open: { readonly first: ObservedLine; readonly lines: string[] } | undefined;

  constructor(component: Component) {
    this.#component = component;
  }

  observe(line: ObservedLine): void {
    const { text } = line;
    if (this.#open !== undefined && line.source !== 'systemd' && this.#continue(text)) return;
    if (this.#component.starts?.test(text) === true) this.#begin();
    if (this.#component.works.test(text)) {
      this.#works = true;
      if (this.#ended?.worked === false) this.#ended = undefined;
    }
    if (REGISTERED.test(text)) this.#ended = undefined;
    const exit = line.source === 'systemd' ? EXIT.exec(text) : null;
    if (exit !== null) this.#exit(line, exit[2] ?? '', exit[4] ?? '');
    else if (FATAL.test(text)) this.#end(line);
    else if (isSevere(text) && !GOES_ON.test(text)) {
      this.#error = line;
      this.#since = 0;
    } else if (line.source !== 'systemd') this.#since += 1;
  }

  found(): readonly ObservedLine[] {
    if (this.#open !== undefined) this.#close();
    const { name } = this.#component;
    if (this.#lastKill !== undefined && this.#kills >= LEAST_KILLS) {
      const text = `${name}.service: killed by SIG${this.#signal} ${this.#kills} times since the run began`;
      return [{ ...this.#lastKill, source: 'unit', origin: 'service manager', text, original: text }];
    }
    if (this.#ended === undefined) return [];
    const message = lastWords(this.#ended.line.text).slice(0, LONGEST_MESSAGE);
    return [derived(this.#ended.line, `${name} exits: ${message}`)];
  }

  #begin(): void {
    this.#fatal = undefined;
    this.#error = undefined;
    this.#works = false;
    this.#waits = false;
  }

  #end(line: ObservedLine): void {
    if (isNoise(line.text) || WAITS.test(line.text)) {
      this.#waits = true;
      return;
    }
    // A panic comes first, and what follows explains less.
    if (this.#fatal === undefined || WAITED.test(this.#fatal.text)) this.#fatal = line;
    this.#ended = { line: this.#fatal, worked: this.#works };
    if (/err=<$/.test(line.text)) this.#open = { first: line, lines: [] };
  }

  #exit(line: ObservedLine, how: string, signal: string): void {
    if (how === 'exited') {
      const last = this.#fatal ?? (this.#since <= MOST_AFTER_ERROR ? this.#error : undefined);
      if (last !== undefined && !this.#waits) {
        this.#ended = { line: last, worked: this.#works };
        this.#kills = 0;
      }
    } else {
      this.#kills += 1;
      this.#lastKill = line;
      this.#signal = signal;
    }
    this.#begin();
  }

  #continue(text: string): boolean {
    const open = this.#open;
    if (open === undefined) return false;
    if (!text.startsWith('>') && open.lines.length < MOST_LINES_OF_MESSAGE) {
      open.lines.push(text);
      return true;
    }
    this.#close();
    return text.startsWith('>');
  }

  #close(): void {
    const open = this.#open;
    this.#open = undefined;
    if (open === undefined || open.lines.length === 0) return;
    const message = open.lines.join(' ');
    const whole = { ...open.first, text: open.first.text.replace(/<$/, JSON.stringify(message)), original: message };
    if (this.#fatal === open.first) this.#fatal = whole;
    if (this.#ended?.line === open.first) this.#ended = { ...this.#ended, line: whole };
  }
}

/** The last line of a process. */
export function isFatal(text: string): boolean {
  return FATAL.test(text);
}

/** The last errors of components that go on: what they complain of is not what healthy ones complain of. */
export function severeLines(lines: readonly ObservedLine[]): readonly ObservedLine[] {
  const last = new Map<string, ObservedLine>();
  for (const line of lines) {
    const component = componentOf(line);
    if (component === undefined || line.source === 'systemd' || !isSevere(line.text)) continue;
    last.set(component.name, line);
  }
  return ORDER.flatMap((name) => last.get(name) ?? []);
}

const ORDER = [
  'containerd',
  'kubelet',
  'container',
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
];

/** An error that no successful run logs. */
function isSevere(text: string): boolean {
  return ERROR.test(text) && !isNoise(text) && !ORDINARY_ERRORS.some((pattern) => pattern.test(text));
}

function isNoise(text: string): boolean {
  return NOISE.some(({ pattern }) => pattern.test(text));
}
