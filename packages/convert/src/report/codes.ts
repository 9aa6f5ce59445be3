/**
 * The messages of a conversion. Codes are stable, like reasons: never renamed or reused (`docs/convert-codes.md` is
 * generated from here). `note`: no difference on the machine. `warning`: a difference, or a remark. `decision`: the
 * document is written only after the user accepts the code. `error`: it cannot be written.
 */
export const CODES = {
  // The input.
  InputInvalid: error('The input does not match its kind.'),
  KeyRepeated: decision('A key is repeated in one map: the last value counts, as for the reader of the input.'),
  InputUnknown: error('The input contains nothing to convert.'),
  NotKubeadm: error('The input is for a distribution or a tool that sets machines up without kubeadm.'),
  ToolFirst: error('Another program must read the input first: convert what it writes.'),
  ObjectIgnored: note('An object of the input has no part in a machine.'),
  ClusterAssumed: warning('The input names no Cluster for it: the only one, in the same namespace, is taken.'),
  TemplateUnrendered: decision(
    'The input has variables of clusterctl, Flux or envsubst without values: they become ordinary text.',
  ),
  RelationAssumed: decision('A relation that the input leaves open was taken, because nothing else is possible.'),
  RelationMissing: decision('An object belongs to one that the input does not have, though it has others of its kind.'),
  RelationUnclear: decision('The input does not say which of several objects belong together: none of them is taken.'),
  UnknownField: decision('A field that the converter does not know is left out.'),
  FieldWithoutCounterpart: decision('A field of kubeadm that the document does not support is left out.'),
  WithoutEffect: note('A field that has no effect beside another one is left out.'),
  NotForThisRole: note('kubeadm does not read this configuration for the role of this machine.'),
  NodeUnknown: decision('The files of a node do not say it, or were not read: it is left out.'),
  ExampleValue: warning('A value that `kubeadm config print` prints as an example.'),
  RoleUnclear: error('The input does not say whether the machine creates the cluster or joins it.'),
  VersionMissing: error('The version of Kubernetes is not in the input.'),
  DocumentRefused: error('The resulting document has mistakes: its schema is stricter than the input.'),

  // What the controllers of Cluster API would add.
  ControllerField: note('Used by the controllers of Cluster API only.'),
  ClusterValue: note('Filled in as the controller would, from the Cluster, the Machine or the options.'),
  ControllerValueMissing: decision(
    'The input lacks a value that the controller would fill in: the machine reads it from a file.',
  ),
  UninitializedTaint: note('The taint that Cluster API gives every worker was added, and is removed by it.'),
  KubeletLocalMode: note('The feature gate that Cluster API sets for this version was added.'),
  ClusterUnknown: decision(
    'No Cluster is in the input: its endpoint, networks and name are left out, and kubeadm uses its defaults.',
  ),
  PatchesApplied: note('Patches of the ClusterClass were applied, with the variables of the Cluster.'),
  PatchesNotApplied: decision('A patch of the ClusterClass may change this template, and was not applied.'),
  CertificatesByKubeadm: warning('No certificate authorities are in the input: kubeadm makes them on the machine.'),
  OwnCertificate: note("A file of the user's takes the place of a certificate of the cluster, as today."),
  DecidedByCluster: note('Cluster API decides it when a machine is made: the object leaves it out.'),
  ReferenceToChange: warning(
    'Machines are made from the object of the kubeadm provider until you change this reference. Then all of them are replaced.',
  ),
  MachineNameUnknown: warning('The name in `metadata` is not that of a Machine.'),
  RetryJoin: warning(
    'useExperimentalRetryJoin has no equivalent: machineadm retries depending on the cause of a failure.',
  ),

  // Secrets.
  SecretReferenced: warning('A secret is read from a file on the machine, which the operator must provide.'),
  SecretInDocument: warning('The document contains secrets: keep it as private as its input.'),
  SecretStays: note('A value stays in its Secret, which the object refers to.'),
  SecretMade: warning('Values in clear text are in a new Secret, which the object refers to: apply both.'),
  SecretNotText: decision('A Secret contains binary data, which the document takes as file content.'),
  FileIsSecret: note('A file that only its owner may read is kept as a secret of the document.'),

  // Templates.
  VariableMade: note('An expression over instance data became a variable.'),
  VariableNotAllowed: error('An expression is used where the document allows no variable.'),
  JinjaUnsupported: error('A jinja construct other than a variable: filters, tests, control flow, comments.'),
  JinjaInSecret: warning('The content of a Secret contains a jinja expression, which is no longer replaced.'),
  TemplateRendered: note('A file with contentFormat Template was rendered.'),
  TemplateUnsupported: error('A Go template uses more than the version of the control plane.'),

  // Files.
  NewlineNormalised: note('The file ends in exactly one line break, as it does today.'),
  IndentationRemoved: note('Blanks before all lines of a file are left out, as in the user data of today.'),
  GzipAlone: error('The encoding gzip cannot be written in YAML, because its bytes are not text.'),
  PermissionsInvalid: decision('The permissions are not an octal number: the default 0644 is used, as in cloud-init.'),
  AppendInIgnition: warning('Ignition drops append and writes the whole file; machineadm appends.'),
  FileBelowMount: note(
    'The file is below a mount point: today the mount hides it; machineadm writes it to the mounted file system.',
  ),
  PrivateFileReadable: warning('Every user can read a file whose name suggests that it is private.'),

  // Accounts and time.
  GroupsInIgnition: warning(
    'Ignition reads groups without a blank after the comma as one group; here they are several.',
  ),
  DefaultUserKept: warning(
    "cloud-init removes the distribution's default user when there are users; machineadm does not.",
  ),
  UserInactive: warning('inactive is left out: cloud-init ignores it on Linux.'),
  PasswordNotHash: error('A password that is not a hash of crypt(5).'),
  PasswordLogin: decision('Ignition opens sshd for passwords with lockPassword false; machineadm does not touch sshd.'),
  TimeServiceNotInstalled: note('A time service is configured, but never installed.'),

  // Storage.
  TableTypeMbr: warning('No table type is named: mbr, which ends at 2 TiB.'),
  LayoutFalse: note('A disk with layout false is left alone.'),
  LastPartitionTakesRest: note('The last partition takes what is left, whatever its percentage.'),
  PartitionTypeCorrected: warning('cloud-init gives a GPT partition of this type a wrong one; it is right here.'),
  PartitionTypeUnsupported: error('A partition type that the table cannot have.'),
  DiskOverwrite: warning('An existing partition table may be destroyed.'),
  UsedDiskRefused: note('A disk with another table is an error; cloud-init silently leaves it unchanged.'),
  PartitionChosen: decision('cloud-init selects the partition on the machine; the conversion chose one.'),
  WholeDisk: warning('The file system is created on the whole device.'),
  FilesystemNotFormatted: warning(
    'cloud-init formats a device regardless of its contents; machineadm refuses unless the document allows it.',
  ),
  FilesystemUnsupported: error('A type of file system that the document does not have.'),
  DeviceAlias: decision("A device by cloud-init's alias: which one it is was taken from the provider."),
  DeviceUnknown: error('A device that the document cannot name.'),
  MountRequired: warning('A mount that fails ends the run, even with nofail.'),
  MountColumns: note('The columns dump and pass of fstab are left to machineadm.'),
  MountRemoved: note('A mount without a mount point only takes away an entry of cloud-init.'),
  MountUnitKept: warning(
    'A mount unit says more than a mount of the document: it stays a unit, which systemd mounts later.',
  ),
  MountUnsupported: decision(
    'A mount of a type that the document does not have is left out. Write a mount unit with host.files, or another mount.',
  ),

  // Commands.
  HookContinues: warning(
    'A failing command does not end the run, as today, unless the commands set -e. onError: Fail instead of singleScript is advised.',
  ),
  ShellStateLost: decision(
    'A part of the shell ends with the commands before kubeadm; today kubeadm and the commands after it have it, too.',
  ),
  ShellFunctionLost: error('A function of sh is called after kubeadm: sh cannot hand it over to another shell.'),
  AfterFailure: warning('Commands after kubeadm do not run when it failed; today they do.'),
  HookTimeout: warning('The commands of a group are killed after ten minutes; today they may run forever.'),
  EveryBoot: note('Commands of bootCommands run at every boot, as today.'),
  CommandOnce: note('cloud-init-per once is the frequency of the group.'),
  InstallsKubernetes: warning(
    'Commands install Kubernetes or the container runtime: the steps that need them wait for the commands, and their versions are checked only then.',
  ),
  KubeadmInCommand: decision(
    'kubeadm stays in a command, because no field can say it. The run fails where kubeadm fails, or without a healthy kubelet.',
  ),
  KubeadmHidden: error('The input runs kubeadm where its exit status would be lost, so success could not be proven.'),
  KubeadmOutput: warning('The output of kubeadm is not in the file that the command names.'),
  CommandRunsKubeadm: warning('A command runs kubeadm itself.'),
  CommandUsesKubeadmFile: warning("A command names the file of the other carrier, which isn't there."),
  NameByCommand: note('A command writes the name of the node into the file of kubeadm, as today.'),
  CommandMovedFile: note("Commands name Ignition's /etc/kubeadm.yml; they now name machineadm's."),

  // Kubernetes.
  VerbosityLowered: warning('Above 5, kubeadm prints Secrets: 5 is used.'),
  NotInThisKubeadm: decision('A field that this version of kubeadm cannot express is left out, as the provider does.'),
  ValueFromUnusable: error('A static pod can take no environment from a ConfigMap, Secret or file.'),
  AuthProviderRefused: error('Credentials by authProvider were removed from client-go in 1.26.'),
  TokenExpires: decision('A bootstrap token with an expiry, which kubeadm refuses: it gets the default time to live.'),
  TokenForEver: warning('A bootstrap token that never expires.'),
  TokenUsages: decision('A bootstrap token without the usage authentication, which kubeadm refuses: it is added.'),
  TaintTimeDropped: note('The time of a taint is set by the API server.'),
  RuntimeSocket: note('The socket of the container runtime is that of the argument of the kubelet.'),
  EndpointPort: note('The endpoint has no port: 6443.'),
  LabelRefused: warning('The kubelet may not give itself a label of this name.'),

  // Carriers.
  UserDataKey: decision('A key of the user data has no counterpart in the document: left out.'),
  UserDataPart: decision('A part of the user data has no counterpart in the document: left out.'),
  UserDataWithoutKubeadm: decision('The user data does not run kubeadm: the document prepares a host only.'),
  ContainerLinuxConfigDropped: decision('A part of additionalConfig, or of the Ignition config, is left out.'),
  ServiceEnabled: note('A service that the machine needs is enabled, although the input disables it.'),
  ProviderFileNamed: warning('A text names a file or data of the provider or of cloud-init, which differ here.'),
  UnitReplaced: note('The unit that runs kubeadm is not needed: machineadm runs it.'),
  StrictDropped: note('ignition.containerLinuxConfig.strict: machineadm is always strict.'),
  WindowsHost: decision('Accounts and disks of a Windows machine belong into its image: left out.'),
  WindowsPermissions: note(
    'cloudbase-init ignores owners and permissions; here a file that only its owner may read is for administrators.',
  ),

  // --structure
  Structured: note('A file or command became a structured part of the document.'),
} as const satisfies Readonly<Record<string, CodeEntry>>;

export type Severity = 'note' | 'warning' | 'decision' | 'error';
export type Code = keyof typeof CODES;

interface CodeEntry {
  readonly severity: Severity;
  readonly meaning: string;
}

function note(meaning: string): CodeEntry {
  return { severity: 'note', meaning };
}
function warning(meaning: string): CodeEntry {
  return { severity: 'warning', meaning };
}
function decision(meaning: string): CodeEntry {
  return { severity: 'decision', meaning };
}
function error(meaning: string): CodeEntry {
  return { severity: 'error', meaning };
}
