import { beyond, invalid, type Source, valid } from './source.ts';

const HEADER = 'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: node-1}\n';

/** The text, the header and the sections of a document. */
export const TEXT_VECTORS: readonly Source[] = [
  valid(
    'the smallest document',
    'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata:\n  name: node-1',
  ),
  valid(
    'the same as JSON',
    '{"apiVersion": "machineadm.dev/v1alpha1", "kind": "MachineBootstrap", "metadata": {"name": "node-1"}}',
  ),
  valid(
    'an alias of an anchor',
    `${HEADER}host:\n  certificateAuthorities: []\n  kernelModules: &list [overlay]\n  time: {servers: *list}`,
  ),
  valid('a condition on the agent', `${HEADER}requires: {agentVersion: ">=0.1.0 <2"}`),
  valid('no features', `${HEADER}requires: {features: []}`),
  beyond('a key that is given twice', 'SyntaxError', `${HEADER}host: {}\n¦host: {}`),
  beyond('a list without its end', 'SyntaxError', `${HEADER}host: {kernelModules: [overlay¦}`),
  beyond('an alias without its anchor', 'SyntaxError', `${HEADER}host: ¦*nothing`),
  beyond('a key that JavaScript loses', 'UnknownField', `${HEADER}host: {sysctl: {¦__proto__: "1"}}`),
  beyond('a list as the document', 'InvalidType', '¦- a'),
  beyond('a feature that this version has not', 'RequiresNewerAgent', `${HEADER}requires: {features: [¦Teleport]}`),
  beyond('a newer agent', 'RequiresNewerAgent', `${HEADER}requires: {agentVersion: ¦">=99"}`),
  invalid('no kind', 'MissingField', '¦apiVersion: machineadm.dev/v1alpha1\nmetadata: {name: node-1}'),
  invalid('no apiVersion', 'MissingField', '¦kind: MachineBootstrap\nmetadata: {name: node-1}'),
  invalid('no metadata', 'MissingField', '¦apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap'),
  invalid(
    'another version',
    'InvalidValue',
    'apiVersion: ¦machineadm.dev/v9\nkind: MachineBootstrap\nmetadata: {name: node-1}',
  ),
  invalid(
    'another kind',
    'InvalidValue',
    'apiVersion: machineadm.dev/v1alpha1\nkind: ¦Machines\nmetadata: {name: node-1}',
  ),
  invalid('an unknown section', 'UnknownField', `${HEADER}¦hosts: {}`),
  invalid('an invalid condition', 'InvalidValue', `${HEADER}requires: {agentVersion: ¦newest}`),
  invalid('features that are no list', 'InvalidType', `${HEADER}requires: {features: ¦a}`),
  invalid('an unknown requirement', 'UnknownField', `${HEADER}requires: {¦agent: ">=0.1"}`),
  invalid(
    'metadata without a name',
    'MissingField',
    'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: ¦{cluster: a}',
  ),
  invalid(
    'an empty name',
    'InvalidValue',
    'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: ¦""}',
  ),
  invalid(
    'a name that is a number',
    'InvalidType',
    'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: ¦1}',
  ),
  invalid(
    'a label that is a number',
    'InvalidType',
    'apiVersion: machineadm.dev/v1alpha1\nkind: MachineBootstrap\nmetadata: {name: a, labels: {b: ¦1}}',
  ),
  invalid('an unknown word for apply', 'InvalidValue', `${HEADER}apply: ¦Always`),
  valid('applied at every boot', `${HEADER}apply: EveryBoot`),
];
