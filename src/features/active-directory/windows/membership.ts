import type { Model } from '@machineadm/document/model/index.ts';
import type { Facts } from '../../../host/seam/facts.ts';
import type { UnmetRequirement } from '../../../step/index.ts';
import { type DomainMembership, membershipOf } from '../membership.ts';

/** What a document asks of a Windows machine: here the account has the name of the machine, and the system keeps its keys. */
export interface WindowsMembership extends DomainMembership {
  /** First label of the name that the machine has, or will have by the step hostname. */
  readonly machineName: string;
}

export function windowsMembershipOf(model: Model, facts: Facts): WindowsMembership | undefined {
  if (facts.platform !== 'windows') return undefined;
  const membership = membershipOf(model, facts);
  if (membership === undefined) return undefined;
  const [label = ''] = (model.host.hostname ?? facts.hostname).split('.');
  return { ...membership, machineName: label.toUpperCase() };
}

/** What Windows does not let be chosen, or cannot do. */
export function windowsObstacles(desired: WindowsMembership): readonly UnmetRequirement[] {
  const { computerName, machineName, servicePrincipals, logins, registersAddress, onReset, onBroken, credentials } =
    desired;
  const missing: UnmetRequirement[] = [];
  const unsupported = (what: string, remedy: string): void => {
    missing.push({ reason: 'UnsupportedOnPlatform', what, remedy, scope: 'node' });
  };
  if (machineName.length > 15) {
    missing.push({
      reason: 'ComputerNameInvalid',
      what: `${machineName} has ${machineName.length} characters, and a computer of a domain at most 15`,
      remedy: 'Set host.hostname to a shorter name, a different one for each machine.',
      scope: 'node',
    });
  } else if (computerName.toUpperCase() !== machineName) {
    unsupported(
      `host.activeDirectory.computerName: on Windows the account has the name of the machine, ${machineName}`,
      'Leave it out, and give host.hostname the name.',
    );
  }
  if (servicePrincipals.length > 0) {
    unsupported(
      'host.activeDirectory.servicePrincipals: Windows has no keytab to put their keys into',
      'Leave them out; whoever runs the service registers its principal (setspn).',
    );
  }
  if (logins !== undefined) {
    unsupported(
      'host.activeDirectory.logins: a member that runs Windows lets users of its domain log in by itself',
      'Leave it out.',
    );
  }
  if (registersAddress) {
    unsupported(
      'host.activeDirectory.registerAddress: Windows registers its address in the DNS of its domain by itself',
      'Leave it out.',
    );
  }
  if (onReset === 'Leave') {
    unsupported(
      'host.activeDirectory.onReset: Leave: a reset does not take Windows out of its domain',
      'Leave it out.',
    );
  }
  if (onBroken === 'Rejoin' && credentials.kind !== 'account') {
    unsupported(
      'host.activeDirectory.onBroken: Rejoin: Windows repairs a membership with an account alone',
      'Give credentials with a user that may reset the computer, or leave onBroken out.',
    );
  }
  return missing;
}
