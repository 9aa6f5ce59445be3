import { isMap } from './map.ts';
/**
 * contentFormat Template (cluster-api v1.14): Go's text/template over `.controlPlane.version`, which is absent when the
 * version of the control plane is unknown. The supported subset is what templates use: the version, and if/else around
 * it.
 */

export const TEMPLATE_HINT =
  'only {{ .controlPlane.version }} and if/else around it are known; give --control-plane-version where it is used';

type Node =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'version' }
  | { readonly kind: 'if'; readonly known: readonly Node[]; readonly otherwise: readonly Node[] };

/**
 *
 * @returns undefined where the template uses more than this
 */
export function renderTemplate(template: string, controlPlaneVersion: string | undefined): string | undefined {
  const pieces = split(template);
  const parsed = parse(pieces, 0, 0);
  if (parsed === undefined || parsed.next !== pieces.length) return undefined;
  return render(parsed.nodes, controlPlaneVersion);
}

/** Texts and actions in turn, without the white space that trim markers remove (text/template, "Text and spaces"). */
function split(template: string): readonly { readonly action: boolean; readonly text: string }[] {
  const pieces: { action: boolean; text: string }[] = [];
  let end = 0;
  let trim = false;
  const literal = (text: string, right: boolean): void => {
    const left = trim ? text.trimStart() : text;
    pieces.push({ action: false, text: right ? left.trimEnd() : left });
  };
  for (;;) {
    const start = template.indexOf('{{', end);
    const close = start < 0 ? -1 : template.indexOf('}}', start + 2);
    if (close < 0) break;
    const inside = template.slice(start + 2, close);
    const trimsLeft = /^- /.test(inside);
    const trimsRight = inside.endsWith(' -');
    literal(template.slice(end, start), trimsLeft);
    pieces.push({ action: true, text: inside.slice(trimsLeft ? 2 : 0, trimsRight ? -2 : undefined).trim() });
    trim = trimsRight;
    end = close + 2;
  }
  literal(template.slice(end), false);
  return pieces;
}

/** A limit for nested conditions: each level uses the stack. */
const DEEPEST = 50;

function parse(
  pieces: ReturnType<typeof split>,
  start: number,
  depth: number,
): { readonly nodes: readonly Node[]; readonly next: number } | undefined {
  if (depth > DEEPEST) return undefined;
  const nodes: Node[] = [];
  const inside = depth > 0;
  let at = start;
  for (; at < pieces.length; at++) {
    const piece = pieces[at];
    if (piece === undefined) break;
    if (!piece.action) nodes.push({ kind: 'text', text: piece.text });
    else if (piece.text === '.controlPlane.version') nodes.push({ kind: 'version' });
    else if (/^if \.controlPlane(?:\.version)?$/.test(piece.text)) {
      const then = parse(pieces, at + 1, depth + 1);
      if (then === undefined) return undefined;
      const hasElse = pieces[then.next]?.text === 'else';
      const otherwise = hasElse ? parse(pieces, then.next + 1, depth + 1) : { nodes: [], next: then.next };
      if (otherwise === undefined || pieces[otherwise.next]?.text !== 'end') return undefined;
      nodes.push({ kind: 'if', known: then.nodes, otherwise: otherwise.nodes });
      at = otherwise.next;
    } else if (inside && (piece.text === 'else' || piece.text === 'end')) return { nodes, next: at };
    else if (!/^\/\*[\s\S]*\*\/$/.test(piece.text)) return undefined;
  }
  return inside ? undefined : { nodes, next: at };
}

function render(nodes: readonly Node[], version: string | undefined): string | undefined {
  let text = '';
  for (const node of nodes) {
    if (node.kind === 'text') text += node.text;
    else if (node.kind === 'version') {
      // Go prints "<no value>", which is never intended.
      if (version === undefined) return undefined;
      text += version;
    } else {
      const inner = render(version === undefined ? node.otherwise : node.known, version);
      if (inner === undefined) return undefined;
      text += inner;
    }
  }
  return text;
}

/** A KubeadmConfigSpec with rendered template files. */
export function renderTemplates(
  spec: unknown,
  controlPlaneVersion: string | undefined,
  rendered: (index: number, text: string | undefined) => void,
): unknown {
  if (!isMap(spec) || !Array.isArray(spec.files)) return spec;
  const files = spec.files.map((file: unknown, index) => {
    if (!isMap(file) || file.contentFormat !== 'Template' || typeof file.content !== 'string') return file;
    const text = renderTemplate(file.content, controlPlaneVersion);
    rendered(index, text);
    return { ...file, content: text ?? '' };
  });
  return { ...spec, files };
}
