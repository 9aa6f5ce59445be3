import { Secret } from '@machineadm/document/secret.ts';
import type { Report } from '../report.ts';
import { commandsIn } from '../shell/scanner.ts';
import type { CommandSpec, FileSpec } from '../spec.ts';
import { kubeadmCalls, namesKubeadm } from './kubeadm-call.ts';
import type { SplitCommands } from './split-commands.ts';

/**
 * Commands that run kubeadm in a way that no field can say: loops, scripts, arguments that the shell completes. They stay
 * commands, but the run fails where they fail, and where no healthy kubelet proves that they succeeded.
 */
export function guardCommands(
  commands: readonly CommandSpec[],
  files: readonly FileSpec[],
  object: string,
  report: Report,
): SplitCommands {
  const scripts = files.filter(({ content, encoding }) => encoding === undefined && namesKubeadm(content));
  let found = false;
  const started = new Set<FileSpec>();
  const guarded = commands.map((one): CommandSpec => {
    const { command, at } = one;
    const calls = kubeadmCalls(command);
    const run = scripts.filter(({ path }) => mentions(command, path));
    for (const script of run) started.add(script);
    if (calls.length === 0 && run.length === 0 && !namesKubeadm(command)) return one;
    for (const token of command.match(TOKEN) ?? []) new Secret(token);
    if (run.some((script) => !isChecked(script.content))) {
      report.add('KubeadmHidden', at, 'the script continues after kubeadm failed: begin it with set -e');
    } else if (calls.length === 0 && run.length === 0) {
      report.add('KubeadmHidden', at, 'it runs kubeadm in a way that is not understood: write it as a command');
    } else if (calls.some(({ isPlain, command: { depth } }) => !isPlain && depth > 0)) {
      report.add('KubeadmHidden', at, 'call kubeadm by its name alone, so that its exit status is known');
    }
    const why = calls.map(({ obstacle }) => obstacle ?? 'it is more than one call, or part of another command')[0];
    report.add('KubeadmInCommand', at, why ?? 'a script runs it');
    if (TOKEN.test(command)) report.add('SecretInDocument', at, 'a token in a command');
    found = true;
    return { command: `{ ${command}\n} || exit 1`, at };
  });
  for (const script of scripts) {
    if (started.has(script)) continue;
    found = true;
    report.add('KubeadmHidden', script.at, 'no command runs this file: run kubeadm by a command');
  }
  if (!found) {
    report.add('UserDataWithoutKubeadm', object, 'no command runs kubeadm init or join');
    return { run: undefined, before: commands, after: [] };
  }
  const [first] = guarded;
  const at = first?.at ?? { place: object };
  return {
    run: undefined,
    before: [{ command: RECORD, at }, ...guarded, { command: PROOF, at }],
    after: [],
  };
}

/** A bootstrap token (k/k cluster-bootstrap/token/api). */
const TOKEN = /\b[a-z0-9]{6}\.[a-z0-9]{16}\b/g;

/** Whether a command names a file by its path. */
function mentions(command: string, path: string): boolean {
  return path.length > 1 && command.includes(path);
}

/** Whether a script ends with a failure where kubeadm fails. */
function isChecked(script: string): boolean {
  const [head = ''] = script.split('\n', 1);
  const commands = commandsIn(script);
  const setsE = commands.some(({ words }) => {
    const [name, ...args] = words.map(({ text }) => text);
    return name === 'set' && args.some((word) => word === 'errexit' || /^-[a-z]{0,9}e/.test(word));
  });
  if (setsE || /^#!.{1,100} -[a-z]{0,9}e/.test(head)) return true;
  const last = commands.at(-1);
  return kubeadmCalls(script).every(
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

const PROOF = `kubelet_healthy() {
  curl -fsS -o /dev/null http://127.0.0.1:10248/healthz 2>/dev/null || wget -q -O /dev/null http://127.0.0.1:10248/healthz
}
[ "\${kubeadm_status:-0}" -eq 0 ] || { echo "kubeadm ended with status $kubeadm_status" >&2; exit 1; }
[ -s /etc/kubernetes/kubelet.conf ] || { echo "kubeadm has written no /etc/kubernetes/kubelet.conf" >&2; exit 1; }
for second in $(seq 120); do
  kubelet_healthy && break
  sleep 1
done
kubelet_healthy || { echo "the kubelet is not healthy at http://127.0.0.1:10248/healthz" >&2; exit 1; }`;
