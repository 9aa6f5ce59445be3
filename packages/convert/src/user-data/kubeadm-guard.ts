import { fromBase64 } from '../inputs/secrets.ts';
import type { Placed, Report } from '../report/report.ts';
import { baseName, programOf } from '../shell/programs.ts';
import { commandsIn, type SimpleCommand } from '../shell/scanner.ts';
import type { CommandSpec, FileSpec } from '../spec/spec.ts';
import { type KubeadmCall, kubeadmCalls, namesKubeadm } from './kubeadm-call.ts';
import { unzippedText } from './mime.ts';
import type { SplitCommands } from './split-commands.ts';

/**
 * User data whose call of kubeadm no field can say: loops, scripts, arguments that the shell completes. They stay
 * commands, but the run fails where they fail, and where a machine that became a node has no healthy kubelet.
 * @param early commands before all others, whose failures cloud-init ignores
 */
export async function guardCommands(
  commands: readonly CommandSpec[],
  early: readonly CommandSpec[],
  files: readonly FileSpec[],
  object: string,
  report: Report,
): Promise<SplitCommands> {
  const contents = await Promise.all(files.map(async (file) => ({ file, text: await contentOf(file) })));
  const scripts = contents.filter(({ text }) => mayRunKubeadm([textIn(text)]));
  let found = false;
  const hidden = (at: Placed, remedy: string): void => {
    found = true;
    report.add('KubeadmHidden', at, remedy);
  };
  const started = new Set<FileSpec>();
  const guarded = commands.map((one): CommandSpec => {
    const { command, at } = one;
    const calls = kubeadmCalls(command);
    const run = scripts.filter(({ file }) => mentions(command, file.path));
    for (const { file } of run) started.add(file);
    const isNamed = mayRunKubeadm([{ text: command, isShell: true }]);
    if (calls.length === 0 && run.length === 0 && !isNamed) return one;
    found = true;
    if (run.some(({ text }) => !isChecked(text))) {
      hidden(at, 'the script may continue after kubeadm failed: begin it with set -e');
    } else if (calls.length === 0 && run.length === 0) {
      hidden(at, 'it runs kubeadm in a way that is not understood: write it as a command');
    } else if (calls.some((call) => !call.isPlain && !decides(call, command))) {
      hidden(at, 'call kubeadm by its name alone, so that its exit status is known');
    }
    const why = calls.map(({ obstacle }) => obstacle ?? 'it is more than one call, or part of another command')[0];
    report.add('KubeadmInCommand', at, why ?? 'a script runs it');
    return { command: `{ ${command}\n} || exit 1`, at };
  });
  for (const { file } of scripts) {
    if (!started.has(file)) hidden(file.at, 'no command runs this file: run kubeadm by a command');
  }
  for (const { command, at } of early) {
    if (mayRunKubeadm([{ text: command, isShell: true }])) hidden(at, 'run kubeadm in runcmd');
  }
  const all = [...early, ...commands];
  for (const { at, text } of [
    ...all.map(({ command, at }) => ({ at, text: command })),
    ...contents.map(({ file, text }) => ({ at: file.at, text })),
  ]) {
    const encoded = await encodedIn(text);
    if (encoded === undefined) hidden(at, 'it has more encoded content than can be read');
    else if (encoded.some((inner) => mayRunKubeadm([textIn(inner)]))) {
      hidden(at, 'its encoded content runs kubeadm: write it as a command');
    }
  }
  const together = all.map(({ command }) => ({ text: command, isShell: true }));
  const [first] = commands;
  if (!found && mayRunKubeadm([...together, ...contents.map(({ text }) => textIn(text))])) {
    hidden(first?.at ?? { place: object }, 'kubeadm seems to run by another name: write it as a command');
  }
  if (!found) {
    report.add('UserDataWithoutKubeadm', object, 'no command that can be read runs kubeadm init or join');
  }
  if (first === undefined) return { run: undefined, before: [], after: [] };
  const proof = guarded.some((one, index) => one !== commands[index]) ? `${IS_NODE}\n${PROOF}` : PROOF;
  return {
    run: undefined,
    before: [{ command: RECORD, at: first.at }, ...guarded, { command: proof, at: first.at }],
    after: [],
  };
}

/** The text of a file, as it will be on the machine; '' where it is none. */
async function contentOf({ content, encoding }: FileSpec): Promise<string> {
  if (encoding === undefined || encoding === '' || encoding === 'text/plain') return content;
  const bytes = fromBase64(content);
  return (bytes === undefined ? undefined : await unzippedText(bytes)) ?? '';
}

/** A text with the language that its first line names; another one has no comments that could be told from it. */
function textIn(text: string): Text {
  const [head = ''] = text.split('\n', 1);
  return { text, isShell: /^#!.{0,100}\b(?:ba|da|k|z)?sh\b/.test(head) };
}

/** Whether a command ends with the exit status of a call in it. */
function decides({ command }: KubeadmCall, text: string): boolean {
  return command.depth === 0 && command.after === '' && text.slice(command.end).trim() === '';
}

/** Whether a command names a file by its path. */
function mentions(command: string, path: string): boolean {
  return path.length > 1 && command.includes(path);
}

/** Whether a script ends with a failure where kubeadm fails. */
function isChecked(script: string): boolean {
  const [head = ''] = script.split('\n', 1);
  if (head.startsWith('#!') && !textIn(script).isShell) return false;
  const commands = commandsIn(script);
  const setsE = commands.some(({ words }) => {
    const [name, ...args] = words.map(({ text }) => text);
    return name === 'set' && args.some((word) => word === 'errexit' || /^-[a-z]{0,9}e/.test(word));
  });
  if (setsE || /^#!.{1,100} -[a-z]{0,9}e/.test(head)) return true;
  const last = commands.at(-1);
  const calls = kubeadmCalls(script);
  if (calls.length === 0) return false;
  return calls.every(
    ({ command, isPlain }) =>
      isPlain && command.depth === 0 && (command.after === '||' || command.start === last?.start),
  );
}

/** A function takes the place of the program, and keeps the status of its last call. */
const RECORD = `kubeadm() {
  command kubeadm "$@" && kubeadm_result=0 || kubeadm_result=$?
  case " $* " in *" init "* | *" join "*) kubeadm_status=$kubeadm_result ;; esac
  return "$kubeadm_result"
}`;

const IS_NODE =
  '[ -s /etc/kubernetes/kubelet.conf ] || { echo "kubeadm has written no /etc/kubernetes/kubelet.conf" >&2; exit 1; }';

/** A machine that is a node, whatever made it one, has a healthy kubelet. */
const PROOF = `kubelet_healthy() {
  if command -v curl > /dev/null; then curl -fsS -o /dev/null http://127.0.0.1:10248/healthz 2> /dev/null
  elif command -v wget > /dev/null; then wget -q -O /dev/null http://127.0.0.1:10248/healthz
  else systemctl is-active --quiet kubelet
  fi
}
[ "\${kubeadm_status:-0}" -eq 0 ] || { echo "kubeadm ended with status $kubeadm_status" >&2; exit 1; }
if [ -s /etc/kubernetes/kubelet.conf ]; then
  for second in $(seq 120); do
    kubelet_healthy && break
    sleep 1
  done
  kubelet_healthy || { echo "the kubelet is not healthy at http://127.0.0.1:10248/healthz" >&2; exit 1; }
fi`;

/** The program itself, not a file, a package of another name, or a directory that is named after it. */
const PROGRAM = /(?<![-\w.])kubeadm(?:\.exe)?(?![-\w/]|\.\w)/;
/** Words that are an action of kubeadm, in any language. */
const ACTION = /(?<![-\w./])(?:init|join)(?![-\w./])/;
/** A bootstrap token (k/k staging/src/k8s.io/cluster-bootstrap/token/api/types.go). */
const TOKEN = /(?<![a-z0-9.])[a-z0-9]{6}\.[a-z0-9]{16}(?![a-z0-9.])/;

/** Commands that name kubeadm without running it, or a copy of it by another name. */
const ONLY_NAME = new Set(
  'apt apt-get apt-mark apt-cache yum dnf tdnf microdnf zypper rpm dpkg snap curl wget chmod chown rm which type hash test [ [[ echo printf logger stat ls command'.split(
    ' ',
  ),
);
const FINDERS = new Set(['command', 'type', 'which']);
const COPIES = new Set(['cp', 'mv', 'ln', 'install']);
/** Programs whose own action is called init or join. */
const OTHERS = new Set('adcli cloud-init consul docker git helm nomad net podman realm terraform vault'.split(' '));
/** Actions that start no node (k/k cmd/kubeadm/app/cmd/cmd.go). */
const HARMLESS = new Set('alpha certs completion config help kubeconfig reset token upgrade version'.split(' '));

/** Base64 that is worth a look, also over several lines: `kubeadm` alone has 12 characters. */
const ENCODED = /[A-Za-z0-9+/_-]{12,}(?:\n[A-Za-z0-9+/_-]{4,})*={0,2}/g;
const DEEPEST = 3;
/** Bytes that are decompressed for one input. */
const MOST_BYTES = 16 * 1024 * 1024;

interface Text {
  readonly text: string;
  /** True: of a shell, whose comments run nothing. */
  readonly isShell: boolean;
}

/**
 * Whether texts that are one script may run kubeadm to start a node, though no call can be read: an alias, a copy, a
 * variable, another language.
 */
function mayRunKubeadm(texts: readonly Text[]): boolean {
  if (texts.some(({ text, isShell }) => namesKubeadm(isShell ? withoutComments(text) : text))) return true;
  let [isNamed, acts] = [false, false];
  for (const { text, isShell } of texts) {
    if (!isShell) {
      isNamed ||= PROGRAM.test(text);
      acts ||= ACTION.test(text);
      continue;
    }
    for (const command of commandsIn(text)) {
      isNamed ||= names(command);
      acts ||= actsOn(command);
    }
  }
  return acts && (isNamed || texts.some(({ text }) => TOKEN.test(text)));
}

/** Without the lines that are comments, also in here-documents. */
function withoutComments(text: string): string {
  const lines = text.split('\n');
  return lines.filter((line) => !line.trimStart().startsWith('#')).join('\n');
}

function names(command: SimpleCommand): boolean {
  const named = command.words.filter(({ text }) => PROGRAM.test(text));
  const program = programOf(command);
  if (named.length === 0 || program === undefined) return named.length > 0;
  const { name, args } = program;
  // Its path takes the place of a program: $(command -v kubeadm) join
  if (command.before === '(' && FINDERS.has(baseName(command.words[0]?.text ?? ''))) return true;
  if (ONLY_NAME.has(name)) return false;
  if (name === 'kubeadm') return !HARMLESS.has(args.find(({ text }) => !text.startsWith('-'))?.text ?? 'help');
  return !(COPIES.has(name) && baseName(args.at(-1)?.text ?? '').startsWith('kubeadm'));
}

function actsOn(command: SimpleCommand): boolean {
  const program = programOf(command);
  if (program === undefined) return command.words.some(({ text }) => ACTION.test(text));
  return (
    !OTHERS.has(program.name) && !ONLY_NAME.has(program.name) && command.words.some(({ text }) => ACTION.test(text))
  );
}

/**
 * What the base64 in a text says, also where it is compressed or encoded again; undefined where that is more than can be
 * read.
 */
async function encodedIn(text: string): Promise<readonly string[] | undefined> {
  const found: string[] = [];
  let level: readonly string[] = [text];
  let left = MOST_BYTES;
  for (let depth = 0; depth < DEEPEST; depth++) {
    const next: string[] = [];
    for (const word of level.flatMap(wordsIn)) {
      const bytes = fromBase64(word.replaceAll('-', '+').replaceAll('_', '/'));
      const inner = bytes === undefined ? undefined : await unzippedText(bytes);
      if (inner === undefined) continue;
      left -= inner.length;
      if (left < 0) return undefined;
      next.push(inner);
    }
    found.push(...next);
    level = next;
  }
  return found;
}

function wordsIn(text: string): readonly string[] {
  return [...text.matchAll(ENCODED)].flatMap(([word]) => (word.includes('\n') ? [word, ...word.split('\n')] : [word]));
}
