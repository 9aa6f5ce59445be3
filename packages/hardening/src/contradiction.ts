import type { Finding, PathSegment } from '@machineadm/document/diagnostics/index.ts';
import type { Control } from './controls/control.ts';

/** The document contradicts one of its profiles. */
export function contradiction(path: readonly PathSegment[], control: Pick<Control, 'id'>, must: string): Finding {
  return {
    path,
    message: `contradicts ${control.id}: it must ${must}`,
    hint: `change it, or add {id: ${control.id}, reason: …} to hardening.exceptions`,
  };
}
