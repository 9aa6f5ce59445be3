/**
 * Everything in an input is written to the document or reported, except the entries of this list, each with the reason
 * why nothing is lost. docs/convert-codes.md contains the list; the conservation tests enforce it.
 */
export const DROPPED = {
  TypeMeta: 'apiVersion and kind: their object becomes a section of the document.',
  ObjectMeta: 'metadata and status of an object stay in the management cluster; name, namespace and uid are taken.',
  ControllerFields: 'Fields of a control plane that its controller uses; the note ControllerField names them.',
  OtherRole: 'A configuration that kubeadm does not read for this role; the note NotForThisRole names it.',
  KubeadmFile: "Owner and mode of kubeadm's configuration: machineadm writes its own, for root alone.",
  DiscoveryFile: 'Owner and mode of the discovery kubeconfig: machineadm writes its own, for root alone.',
  CertificateFile: "Mode of a certificate or key of root's: machineadm writes it as kubeadm does.",
  Placeholder: "The provider's file that only creates the directory of the sentinel.",
  KubeconfigNames: 'Names that tie the parts of a kubeconfig to each other, and its current context.',
  NeverInteractive: 'interactiveMode of a credential plug-in: a machine that boots has no terminal.',
  IgnitionVersion: 'The version of the Ignition config: it is read by it.',
  IgnitionOverwrite: 'Whether Ignition overwrites a path: machineadm writes its files over what is there.',
  IgnitionDigest: 'The digest of content that the document has itself.',
  UnitReplaced: 'The unit that runs kubeadm, and its script: machineadm runs it.',
  TimeService: "The provider's time service and its defaults: host.time takes their place.",
  FilesystemName: 'The name under which the files of an Ignition config refer to a file system.',
  SudoersFile: 'Owner and mode of a file of sudo rules of a user: machineadm writes its own, 0440.',
  MountUnit: 'Owner, mode and description of a unit that became a mount.',
} as const;

export type Dropped = keyof typeof DROPPED;
