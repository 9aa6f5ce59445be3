import { fromBase64 } from '../inputs/secrets.ts';
import { baseName, programOf } from '../shell/programs.ts';
import { commandsIn, type SimpleCommand } from '../shell/scanner.ts';
import { namesKubeadm } from './kubeadm-call.ts';
import { unzippedText } from './mime.ts';

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

export interface Text {
  readonly text: string;
  /** True: of a shell, whose comments run nothing. */
  readonly isShell: boolean;
}

/**
 * Whether texts that are one script may run kubeadm to start a node, though no call can be read: an alias, a copy, a
 * variable, another language.
 */
export function mayRunKubeadm(texts: readonly Text[]): boolean {
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
export async function encodedIn(text: string): Promise<readonly string[] | undefined> {
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
