/** Colours of a terminal: text, background, and the eight of SGR 30 to 37. */
interface Palette {
  readonly text: string;
  readonly background: string;
  readonly colors: readonly string[];
}

/** Both palettes have the contrast that WCAG 2.2 AA requires. */
export const PALETTES: Readonly<Record<'light' | 'dark', Palette>> = {
  light: {
    text: '#1b1f24',
    background: '#ffffff',
    colors: ['#1b1f24', '#a3111c', '#136229', '#7a4a00', '#0a539c', '#7a2d8f', '#0b6470', '#525b66'],
  },
  dark: {
    text: '#e8ebee',
    background: '#14171a',
    colors: ['#79838e', '#ff8d87', '#6fd48a', '#edb55c', '#7fb9f5', '#d6a1ea', '#63cdd8', '#e8ebee'],
  },
};

interface Style {
  readonly color?: number;
  readonly isBold?: true;
  readonly isDim?: true;
  readonly isUnderlined?: true;
}

interface Run {
  readonly text: string;
  readonly style: Style;
}

const CELL = { width: 8.4, height: 18 };
const MARGIN = 12;

/**
 * Renders the screen of a terminal as SVG.
 * @param screen output of `tmux capture-pane -e`: lines with SGR sequences
 */
export function terminalSvg(
  screen: string,
  columns: number,
  { text, background, colors }: Palette,
  title: string,
): string {
  const lines = runsOf(screen.trimEnd().split('\n'));
  const [width, height] = [columns * CELL.width + 2 * MARGIN, lines.length * CELL.height + 2 * MARGIN];
  const rows = lines.map((runs, row) => {
    let column = 0;
    const spans = runs.map(({ text: part, style }) => {
      const x = MARGIN + column * CELL.width;
      const length = [...part].length;
      column += length;
      const look = [
        ...(style.color === undefined ? [] : [`fill="${colors[style.color]}"`]),
        ...(style.isBold ? ['font-weight="bold"'] : []),
        ...(style.isDim ? ['opacity="0.75"'] : []),
        ...(style.isUnderlined ? ['text-decoration="underline"'] : []),
      ];
      // textLength keeps the columns aligned in every font.
      const place = `x="${round(x)}" textLength="${round(length * CELL.width)}"`;
      return `<tspan ${[place, ...look].join(' ')}>${escaped(part)}</tspan>`;
    });
    return `<text y="${MARGIN + row * CELL.height + 13}" xml:space="preserve">${spans.join('')}</text>\n`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${round(width)} ${height}" width="${round(width)}" height="${height}" role="img" aria-label="${escaped(title)}">
<rect width="100%" height="100%" rx="6" fill="${background}"/>
<g fill="${text}" font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="14">
${rows.join('')}</g>
</svg>
`;
}

/** Splits lines into runs of one style. A style continues on the next line. */
function runsOf(lines: readonly string[]): readonly (readonly Run[])[] {
  let style: Style = {};
  return lines.map((line) => {
    const runs: Run[] = [];
    // biome-ignore lint/suspicious/noControlCharactersInRegex: sequences of a terminal
    for (const [, sequence, text] of line.matchAll(/\u001b\[([\d;]*)m|([^\u001b]+)/g)) {
      if (sequence !== undefined) style = sequence.split(';').map(Number).reduce(next, style);
      else if (text !== undefined) runs.push({ text, style });
    }
    return runs;
  });
}

/** The style after one SGR parameter (ECMA-48 8.3.117). Other parameters are ignored. */
function next(style: Style, parameter: number): Style {
  if (parameter === 0) return {};
  if (parameter === 1) return { ...style, isBold: true };
  if (parameter === 2) return { ...style, isDim: true };
  if (parameter === 4) return { ...style, isUnderlined: true };
  if (parameter === 39) {
    const { color: _, ...rest } = style;
    return rest;
  }
  if (parameter >= 30 && parameter <= 37) return { ...style, color: parameter - 30 };
  if (parameter >= 90 && parameter <= 97) return { ...style, color: parameter - 90 };
  return style;
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
