/** Notices as klog, logrus and zap mark them: of a program that starts, and not of what it ends with. */
const NOTICE =
  /^(?:[ID]\d{4} [\d:.]{8,15} |(?:time="[^"]{1,40}" )?level=(?:trace|debug|info) |\{.{0,200}"level":"(?:debug|info)")/;

/** How many lines of a log are read for a few that tell: containerd 2 logs eighty notices at each start. */
export const LINES_TO_SEARCH = 400;

/**
 * The last lines of a log that are no notices, each once; the last lines of it where it has only notices. A program that
 * the service manager starts again after it ended has logged many notices since its error.
 */
export function lastErrors(lines: readonly string[], most: number): readonly string[] {
  const told = [...new Set(lines.filter((line) => !NOTICE.test(line)).reverse())].reverse();
  return (told.length > 0 ? told : lines).slice(-most);
}
