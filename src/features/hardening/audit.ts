import type { HardeningModel } from '@machineadm/document/model/index.ts';
import { type Evidence, errorMessage } from '@machineadm/document/outcomes/errors.ts';
import { evaluateControl } from '@machineadm/hardening/evaluate.ts';
import { select } from '@machineadm/hardening/select.ts';
import { titleOf } from '@machineadm/hardening/title.ts';
import type { QueryHost } from '../../host/seam/host.ts';
import { runChecks } from '../../host/time/checks.ts';
import { observe } from '../../kubernetes/hardening/observe.ts';

/** One control of a benchmark on this machine. */
export interface AuditedControl {
  readonly id: string;
  readonly state: 'pass' | 'fail' | 'exception' | 'not-applicable';
  readonly level: string;
  readonly title: string;
  readonly evidence: readonly Evidence[];
  /** Why it is excepted or does not apply. */
  readonly reason?: string;
}

/**
 * Evaluates every selected control. An exception counts only where the control is not satisfied. `machine` is the
 * recorded hardening of the machine: without it, a profile's own exceptions fail as well.
 */
export async function auditControls(
  host: QueryHost,
  chosen: Pick<HardeningModel, 'profiles'>,
  machine: HardeningModel | undefined,
  minor: number | undefined,
): Promise<{ readonly controls: readonly AuditedControl[]; readonly role: 'control-plane' | 'worker' | undefined }> {
  const { include = [], exceptions = [] } = machine ?? {};
  const selected = select({ profiles: chosen.profiles, include, exceptions });
  const seen = await observe(
    host,
    selected.map(({ control }) => control),
    minor,
  );
  const controls = await runChecks<(typeof selected)[number], AuditedControl>(
    selected.map((one) => [one, () => [auditControl(one, seen, machine !== undefined)]]),
    ({ control }, error) => {
      const evidence = [{ source: 'the check itself', text: errorMessage(error) }];
      return { id: control.id, level: String(control.level), title: titleOf(control), state: 'fail', evidence };
    },
  );
  return { controls, role: !seen.isNode ? undefined : seen.isControlPlane ? 'control-plane' : 'worker' };
}

function auditControl(
  { control, exception }: ReturnType<typeof select>[number],
  seen: Awaited<ReturnType<typeof observe>>,
  isHardened: boolean,
): AuditedControl {
  const verdict = evaluateControl(control, seen);
  const common = { id: control.id, level: String(control.level), title: titleOf(control) };
  if (verdict.state === 'not-applicable') {
    return { ...common, state: 'not-applicable', evidence: [], reason: verdict.why };
  }
  const { evidence } = verdict;
  if (verdict.state === 'holds') return { ...common, state: 'pass', evidence };
  const counts = isHardened || control.check.kind === 'impossible';
  return exception === undefined || !counts
    ? { ...common, state: 'fail', evidence }
    : { ...common, state: 'exception', evidence, reason: exception };
}
