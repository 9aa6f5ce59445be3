const BEGIN = '# --- rendered\n';
const END = '# --- end of what is rendered\n';

/** A script with other lines between its two marks. */
export function withRendered(script: string, rendered: string): string {
  return script.slice(0, script.indexOf(BEGIN)) + rendered + script.slice(script.lastIndexOf(END) + END.length);
}
