import type { ObservedLine } from './observed-line.ts';

/** How a process of a service begins, and how it shows that it works: k/k pkg/kubelet/kubelet.go, containerd cmd/containerd. */
const SERVICES = [
  { source: 'kubelet', starts: /"Kubelet version"/, works: /kubelet\.go:\d+\] "?Starting kubelet main sync loop/ },
  { source: 'containerd', starts: /msg="starting containerd/, works: /containerd successfully booted/ },
] as const;

/** The last that a kubelet says (klog's F, from 1.24 on component-base cli/run.go). */
const FATAL = /^F\d{4} |"command failed"/;

/**
 * The numbers of the lines that explain nothing, as a later process of the same service works: all that containerd said
 * before it was started again, and the errors with which earlier kubelets ended.
 */
export function overcomeLines(lines: readonly ObservedLine[]): ReadonlySet<number> {
  const overcome = new Set<number>();
  for (const { source, starts, works } of SERVICES) {
    let begun = 0;
    let end = 0;
    for (const [index, line] of lines.entries()) {
      if (line.source !== source) continue;
      if (starts.test(line.text)) begun = index;
      if (works.test(line.text)) end = source === 'kubelet' ? index : begun;
    }
    for (const [index, line] of lines.slice(0, end).entries()) {
      if (line.source === source && (source !== 'kubelet' || FATAL.test(line.text))) overcome.add(index);
    }
  }
  return overcome;
}
