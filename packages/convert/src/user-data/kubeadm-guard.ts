import { fromBase64 } from '../inputs/secrets.ts';
import type { Placed, Report } from '../report/report.ts';
import { commandsIn } from '../shell/scanner.ts';
import type { CommandSpec, FileSpec } from '../spec/spec.ts';
import { type KubeadmCall, kubeadmCalls } from './kubeadm-call.ts';
import { encodedIn, mayRunKubeadm, type Text } from './kubeadm-traces.ts';
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
